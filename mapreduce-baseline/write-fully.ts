/** Writes everything: one `write` may take only a part, and a full pipe may take nothing. */
import { writeSync } from 'node:fs';

const PIPE_WAIT_MS = 1;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Writes the first `length` bytes to the file or pipe, waiting while a pipe is full. */
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
