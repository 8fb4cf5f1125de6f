/**
 * What counts as input, the same with every engine. For files of this machine, the rules are:
 *
 * 1. A folder stands for its files in the order of their names, also for those to which its links
 *    lead. Names that begin with `_` or `.`, such as _SUCCESS and .part-00000.crc, are hidden: what
 *    writes a folder notes there what is no record. A folder in it is refused.
 * 2. A file whose name ends in .gz is unpacked before the run. Hadoop and Spark would unpack others
 *    by their names, too, and our own runner would take the packed bytes for lines: they are refused.
 *
 * A file that is named, and not found in a folder, is never hidden. A URI is the engine's own.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { MapReduceError } from './errors.ts';
import type { Input } from './input-splits.ts';

const HIDDEN = /^[_.]/;
const PACKED = /\.(?:bz2|deflate|lz4|snappy|zst)$/;

/** Whether the path names a file of a file system other than this machine's. */
export function isUri(path: string): boolean {
  return path.includes('://');
}

/**
 * The files of a folder.
 * @throws INVALID_ARGUMENT if it has none, or has a folder or a link that leads nowhere: without
 *   their lines the result would be wrong
 */
export async function filesOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !HIDDEN.test(name)).toSorted();
  const files = names.map((name) => join(folder, name));
  if (files.length === 0) throw unusable(`${folder} is a folder without files`);
  for (const file of files) {
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) {
      throw unusable(`${file} is a link to ${await readlink(file)}, which does not exist`);
    }
    if (found.isDirectory()) {
      throw unusable(`${file} is a folder in a folder: name the files instead`);
    }
    if (!found.isFile()) throw unusable(`${file} is not a regular file`);
  }
  return files;
}

/**
 * The inputs with packed files replaced by unpacked ones, which are in `folder` and end with it.
 * @throws INVALID_ARGUMENT
 */
export async function unpackedInputs(
  inputs: readonly Input[],
  folder: string,
  signal?: AbortSignal,
): Promise<Input[]> {
  const unpacked: Input[] = [];
  for (const [i, input] of inputs.entries()) {
    const to = join(folder, `unpacked-${i}`);
    unpacked.push(isPacked(input) ? { path: await unpack(input.path, to, signal) } : input);
  }
  return unpacked;
}

/** Whether an input must be unpacked. @throws INVALID_ARGUMENT if it cannot be */
function isPacked({ path, start = 0, end }: Input): boolean {
  if (isUri(path)) return false;
  if (PACKED.test(path)) throw unusable(`${path} is packed, and only .gz is unpacked: unpack it`);
  if (!path.endsWith('.gz')) return false;
  if (start === 0 && end === undefined) return true;
  throw unusable(`${path} is packed, so a part of it cannot be an input`);
}

async function unpack(from: string, to: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    await pipeline(createReadStream(from), createGunzip(), createWriteStream(to), { signal });
    return to;
  } catch (cause) {
    signal?.throwIfAborted();
    const { message, code = '' } = cause as NodeJS.ErrnoException;
    if (!code.startsWith('Z_')) throw cause;
    throw unusable(`${from} cannot be unpacked: ${message}`, cause);
  }
}

function unusable(reason: string, cause?: unknown): MapReduceError {
  return new MapReduceError('INVALID_ARGUMENT', reason, { cause });
}
