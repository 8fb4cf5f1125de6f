/** Inputs and outputs of engines that read and write whole files. */
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import type { Split } from '../input-splits.ts';
import { isUri, wholeFile } from './engine.ts';

/** The paths of whole files; an input that ends before its file does is copied into the folder. */
export async function wholeFiles(
  inputs: readonly Split[],
  folder: string,
  engine: string,
): Promise<string[]> {
  return Promise.all(
    inputs.map(async (input, i) => {
      const path = wholeFile(input, engine);
      if (isUri(path) || (await stat(path)).size === input.end) return path;
      const copy = join(folder, `input-${i}`);
      // `end` of a stream is its last byte, so an empty range needs a file without any.
      const bytes = input.end === 0 ? [] : createReadStream(path, { end: input.end - 1 });
      await pipeline(bytes, createWriteStream(copy));
      return copy;
    }),
  );
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
