/**
 * Bytes in place, which the hot path uses instead of strings.
 *
 * A batch over a million documents touches each record a handful of times. One string per record
 * would cost more than all the work done on it, so records are pointed at (`Slice`), hashed,
 * compared and copied where they lie. A `Slice` is moved rather than created again: a function that
 * receives one may use it until it returns, and copies bytes that must live longer.
 *
 * `writeFully` brings them into a file or a pipe.
 */
import { writeSync } from 'node:fs';

/** Up to this length a loop beats the call into native code that copies a block. */
const LOOP_COPY_BYTES_MAX = 48;

const NOTHING: Buffer = Buffer.alloc(0);

/** A window on bytes that another object owns, from `start` up to but not including `end`. */
export class Slice {
  bytes: Buffer;
  start: number;
  end: number;

  constructor(bytes: Buffer = NOTHING, start = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }

  get length(): number {
    return this.end - this.start;
  }

  /** Moves the window. */
  point(bytes: Buffer, start: number, end: number): this {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    return this;
  }

  /** The window as text; for messages and tests, not for the hot path. */
  toString(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }
}

/** Bytes that grow at the end; emptied and used again rather than thrown away. */
export class ByteBuilder {
  bytes: Buffer;
  length = 0;

  constructor(capacityBytes = 1024) {
    this.bytes = Buffer.allocUnsafeSlow(capacityBytes);
  }

  clear(): void {
    this.length = 0;
  }

  appendByte(byte: number): void {
    this.#reserve(1);
    this.bytes[this.length++] = byte;
  }

  append(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    copyBytes(new Slice(source, start, end), this.bytes, this.length);
    this.length += end - start;
  }

  appendSlice(slice: Slice): void {
    this.#reserve(slice.end - slice.start);
    copyBytes(slice, this.bytes, this.length);
    this.length += slice.end - slice.start;
  }

  #reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.length + more));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** Copies the slice to `target` from position `at` on; the caller has made sure that it fits. */
export function copyBytes(source: Slice, target: Buffer, at: number): void {
  const { bytes, start, end } = source;
  if (end - start > LOOP_COPY_BYTES_MAX) {
    // Not Buffer.copy, which takes the position in its source modulo 2^32.
    target.set(bytes.subarray(start, end), at);
    return;
  }
  for (let from = start, to = at; from < end; from++, to++) target[to] = bytes[from] as number;
}

/** A 32-bit hash: FNV-1a over the bytes, then mixed so that high and low bits are both usable. */
export function hashBytes(slice: Slice): number {
  const { bytes, start, end } = slice;
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Byte order, as `LC_ALL=C sort` has it: negative, zero or positive. A prefix comes first. */
export function compareBytes(a: Slice, b: Slice): number {
  const shared = Math.min(a.end - a.start, b.end - b.start);
  for (let i = 0; i < shared; i++) {
    const difference = (a.bytes[a.start + i] as number) - (b.bytes[b.start + i] as number);
    if (difference !== 0) return difference;
  }
  return a.end - a.start - (b.end - b.start);
}

const PIPE_WAIT_MS = 1;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes the first `length` bytes to the file or pipe: one `write` may take only a part of them,
 * and a full pipe nothing, for which this waits.
 */
export function writeFully(file: number, bytes: Buffer, length: number): void {
  for (let written = 0; written < length;) {
    try {
      written += writeSync(file, bytes, written, length - written);
    } catch (error) {
      if (!isTryAgain(error)) throw error;
      waitForPipe();
    }
  }
}

/** Whether a non-blocking pipe had nothing to give or no room to take. */
export function isTryAgain(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}

/** A moment for the process at the other end of a pipe. */
export function waitForPipe(): void {
  Atomics.wait(pause, 0, 0, PIPE_WAIT_MS);
}
