/**
 * Writes a file so that a reader sees either the old content or the new one, complete.
 *
 * Steps: temporary file next to the target, fsync, rename. So a run killed at any moment keeps its
 * last record.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

/** Creates the folder if need be; replaces the file if it exists. */
export function writeFileAtomically(file: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    writeDurably(temporary, typeof content === 'string' ? Buffer.from(content) : content);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeDurably(file: string, bytes: Uint8Array): void {
  const descriptor = openSync(file, 'w');
  try {
    // The system may write less than it was given.
    for (let written = 0; written < bytes.length;) {
      written += writeSync(descriptor, bytes, written);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
