/** Inputs and outputs of engines that read and write whole files. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtempDisposable, readdir, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Split } from '../input-splits.ts';
import { isUri, wholeFile } from './engine.ts';

const NEWLINE = 0x0a;

/**
 * The paths of whole files. An input that names its end is copied into the folder, also if its file
 * ends there: the file may grow.
 */
export async function wholeFiles(
  inputs: readonly Split[],
  folder: string,
  engine: string,
): Promise<string[]> {
  return Promise.all(
    inputs.map(async (input, i) => {
      const path = wholeFile(input, engine);
      if (input.end === Infinity) return path;
      const end = await endOfRecords(input);
      const copy = join(folder, `input-${i}`);
      // `end` of a stream is its last byte, so an empty range needs a file without any.
      const bytes = end === 0 ? [] : createReadStream(path, { end: end - 1 });
      await pipeline(bytes, createWriteStream(copy));
      return copy;
    }),
  );
}

/** The end of the last record that begins in the input; all of that record belongs to the input. */
export async function endOfRecords({ path, end }: Split): Promise<number> {
  if (end === 0) return 0;
  let position = end - 1;
  for await (const bytes of createReadStream(path, { start: position })) {
    const newline = (bytes as Buffer).indexOf(NEWLINE);
    if (newline >= 0) return position + newline + 1;
    position += (bytes as Buffer).length;
  }
  return position;
}

/** For Hadoop's file systems and Spark, which read each character of a URI as it is. */
export function uriOf(path: string): string {
  return isUri(path) ? path : `file://${resolve(path)}`;
}

/** An input of Hadoop or Spark. A URI is left as it is: it may be a pattern. */
export function inputOf(path: string): string {
  return isUri(path) ? path : literalInput(uriOf(path));
}

/**
 * An input that is this file or folder, and no pattern. Commas are in braces, because Hadoop divides
 * an input at all others, also at those after a backslash.
 */
export function literalInput(uri: string): string {
  return uri.replaceAll(/[\\{}[\]*?,]/g, (special) =>
    special === ',' ? String.raw`{\,}` : `\\${special}`,
  );
}

/**
 * A folder for what Hadoop or Spark writes meanwhile: next to the output, or in the system's folder
 * for temporary files if the path has a character that they do not take as it is. Both take a comma
 * for the end of a path, and Hadoop's shuffle in one process encodes spaces.
 */
export async function scratchFolder(work: string): Promise<AsyncDisposable & { path: string }> {
  if (/^[-\w./]+$/.test(work)) return { path: work, [Symbol.asyncDispose]: async () => {} };
  return mkdtempDisposable(join(tmpdir(), 'mapreduce-'));
}

/** The parts alone, without the sums and the mark of success that Hadoop's writers add. */
export async function moveParts(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    if (name.startsWith('part-')) await rename(join(from, name), join(to, name));
  }
}
