/**
 * The bytes of a WARC file, unpacked if they are gzipped, in large chunks.
 *
 * Chunks are large because the WARC parser looks for the end of a header in at most two chunks, and
 * would miss one that small chunks cut in three. Unpacking may end a chunk at any byte.
 */
import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { UsageError } from '#results';

const CHUNK_BYTES = 2 ** 18;
const WARC_START = 'WARC/';

/** Throws a `UsageError` if the file cannot be read, is empty or does not begin like a WARC. */
export async function* readUnpacked(file: string): AsyncGenerator<Buffer> {
  const { gzipped, bytes } = await inspect(file);
  let first = true;
  for await (const chunk of inLargeChunks(gzipped ? gunzip(file, bytes) : plain(file))) {
    if (first) checkStart(file, chunk);
    first = false;
    yield chunk;
  }
  if (first) throw notWarc(file, 'is empty');
}

function plain(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: CHUNK_BYTES });
}

/** All members of a gzip file of `bytes` bytes. */
async function* gunzip(file: string, bytes: number): AsyncGenerator<Buffer> {
  const packed = createReadStream(file, { highWaterMark: CHUNK_BYTES });
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
  packed.once('error', (error) => unpacked.destroy(error)); // `pipe` does not pass errors on.
  try {
    yield* packed.pipe(unpacked) as AsyncIterable<Buffer>;
  } finally {
    packed.destroy();
  }
  // Zeros after a member end a gzip file. A download whose space was allocated but not filled has
  // zeros in the middle, and all the data after them would be lost silently.
  if (unpacked.bytesWritten < bytes) {
    throw new Error(`zeros from packed byte ${unpacked.bytesWritten} on`);
  }
}

/**
 * The same bytes in chunks of at least `CHUNK_BYTES`, except for the last before the end or an
 * error.
 */
async function* inLargeChunks(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let size = 0;
  let failure: { readonly error: unknown } | undefined;
  try {
    for await (const chunk of source) {
      held.push(chunk);
      size += chunk.length;
      if (size < CHUNK_BYTES) continue;
      yield Buffer.concat(held);
      held = [];
      size = 0;
    }
  } catch (error) {
    failure = { error }; // Whole buffered records are read before the damage is reported.
  }
  if (size > 0) yield Buffer.concat(held);
  if (failure !== undefined) throw failure.error;
}

async function inspect(file: string): Promise<{ gzipped: boolean; bytes: number }> {
  await using handle = await openFile(file);
  const start = Buffer.alloc(2);
  try {
    await handle.read(start, 0, 2, 0);
    return { gzipped: start[0] === 0x1f && start[1] === 0x8b, bytes: (await handle.stat()).size };
  } catch (error) {
    throw cannotRead(file, error);
  }
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (error) {
    throw cannotRead(file, error);
  }
}

function cannotRead(file: string, cause: unknown): UsageError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = REASONS[code] ?? `cannot be read (${String(cause)})`;
  return notWarc(file, reason, { cause });
}

/** @param reason continues "but <file>" */
function notWarc(file: string, reason: string, options?: ErrorOptions): UsageError {
  return new UsageError(
    `--input must be a WARC file, but ${JSON.stringify(file)} ${reason}.`,
    options,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder',
  EACCES: 'is not permitted to this user',
};

function checkStart(file: string, chunk: Buffer): void {
  const start = chunk.toString('latin1', 0, WARC_START.length);
  if (start === WARC_START) return;
  throw notWarc(file, `begins with ${JSON.stringify(start)} instead of "WARC/"`);
}
