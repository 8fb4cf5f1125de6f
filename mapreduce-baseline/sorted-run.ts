/**
 * A sorted run: a file of records in byte order of their keys, written once and read once, in
 * blocks.
 *
 * It has the layout of record-buffer.ts and is not synced: it does not outlive the task.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { Slice } from './bytes.ts';
import { RecordBuffer } from './record-buffer.ts';
import { writeFully } from './write-fully.ts';

/** Writes records in the order given; the caller must sort them. */
export class RunWriter implements Disposable {
  readonly path: string;
  bytesWritten = 0;
  readonly #file: number;
  readonly #block: RecordBuffer;

  constructor(path: string, blockBytes: number) {
    this.path = path;
    this.#file = openSync(path, 'wx');
    this.#block = new RecordBuffer(blockBytes);
  }

  append(records: RecordBuffer, at: number): void {
    if (this.#block.appendFrom(records, at)) return;
    this.finish();
    this.#block.grow(Math.max(this.#block.words.byteLength, records.byteLengthAt(at)));
    this.#block.appendFrom(records, at);
  }

  finish(): void {
    writeFully(this.#file, this.#block.bytes, this.#block.byteLength);
    this.bytesWritten += this.#block.byteLength;
    this.#block.clear();
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** Reads a run record by record, a block at a time. */
export class RunReader implements Disposable {
  readonly key: Slice = new Slice();
  readonly order: number;
  readonly block: RecordBuffer;
  /** Where in the block the current record lies. */
  at = 0;
  readonly #file: number;
  #position = 0;

  constructor(path: string, order: number, blockBytes: number) {
    this.order = order;
    this.#file = openSync(path, 'r');
    this.block = new RecordBuffer(blockBytes);
  }

  /** Moves to the next record, or to the first one if `first`; false at the end of the run. */
  next(first: boolean): boolean {
    if (!first) this.at = this.block.after(this.at);
    if (!this.block.isWhole(this.at) && !this.#refill()) return false;
    this.block.keyAt(this.at, this.key);
    return true;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  /** Moves what is left of the block to its front and fills it up; grows it for a longer record. */
  #refill(): boolean {
    const { block } = this;
    block.dropBefore(this.at);
    this.at = 0;
    for (;;) {
      const start = block.byteLength;
      const read = readSync(
        this.#file,
        block.bytes,
        start,
        block.bytes.length - start,
        this.#position,
      );
      this.#position += read;
      block.reserve(read, 0); // No caller asks a block for its record count.
      if (block.isWhole(0)) return true;
      if (read === 0 && start < block.bytes.length) return false;
      if (block.byteLength === block.bytes.length) block.grow(block.bytes.length * 2);
    }
  }
}
