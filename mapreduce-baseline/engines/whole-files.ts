/** Inputs and outputs of engines that read and write whole files. */
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
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

export function uriOf(path: string): string {
  return isUri(path) ? path : pathToFileURL(path).href;
}

/** The parts alone, without the sums and the mark of success that Hadoop's writers add. */
export async function moveParts(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    if (name.startsWith('part-')) await rename(join(from, name), join(to, name));
  }
}
