/** Inputs and outputs of engines that read and write whole files. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtempDisposable, readdir, rename, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isUri, type Split } from '../input.ts';
import { wholeFile } from './engine.ts';

const NEWLINE = 0x0a;

/**
 * The paths of whole files. An input that names its end is copied into the folder, even if its file
 * ends there: the file may grow. An input that Hadoop and Spark would not find has a link there.
 */
export async function wholeFiles(
  inputs: readonly Split[],
  folder: string,
  engine: string,
): Promise<string[]> {
  return Promise.all(
    inputs.map(async (input, i) => {
      const path = wholeFile(input, engine);
      const named = join(folder, `input-${i}`);
      if (input.end !== Infinity) await copyRecords(input, named);
      else if (isFindable(path)) return path;
      else await symlink(resolve(path), named);
      return named;
    }),
  );
}

async function copyRecords(input: Split, to: string): Promise<void> {
  const end = await endOfRecords(input);
  // `end` of a stream is its last byte, so an empty range needs a file without any.
  const bytes = end === 0 ? [] : createReadStream(input.path, { end: end - 1 });
  await pipeline(bytes, createWriteStream(to));
}

/**
 * Hadoop and Spark do not see names that begin with `_` or `.`, and take a path for a pattern,
 * which may not have a colon.
 */
function isFindable(path: string): boolean {
  return isUri(path) || !(/^[_.]/.test(basename(path)) || resolve(path).includes(':'));
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
 * An input that is this file or folder, and no pattern. Commas are in braces, because Hadoop
 * divides an input at all others, also at those after a backslash.
 */
export function literalInput(uri: string): string {
  return uri.replaceAll(/[\\{}[\]*?,]/g, (special) =>
    special === ',' ? String.raw`{\,}` : `\\${special}`,
  );
}

/**
 * A path of the folder that Hadoop in one process takes as it is: the folder's own, or that of a
 * link to it. Hadoop takes a comma for the end of a path, its shuffle encodes spaces and other
 * characters, and its patterns may not have a colon.
 */
export async function plainPath(folder: string): Promise<AsyncDisposable & { path: string }> {
  if (/^[-\w./]+$/.test(folder)) return { path: folder, [Symbol.asyncDispose]: async () => {} };
  const plain = await mkdtempDisposable(join(tmpdir(), 'mapreduce-'));
  const path = join(plain.path, 'work');
  await symlink(folder, path);
  return { path, [Symbol.asyncDispose]: () => plain.remove() };
}

/** Moves only the parts, not the checksums and the success marker that Hadoop's writers add. */
export async function moveParts(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    if (name.startsWith('part-')) await rename(join(from, name), join(to, name));
  }
}
