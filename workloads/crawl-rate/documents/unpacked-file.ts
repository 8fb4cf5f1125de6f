/**
 * The bytes of a WARC file, unpacked if they are gzipped, up to the first damage from a place on.
 *
 * A gzip member that is damaged ends the reading with `FileDamage`, which says where to read on.
 * What lies between members is passed over if it is a line end, and otherwise damage, too: zeros
 * may be a download whose space was allocated and not filled. But it costs no member.
 */
import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { UsageError } from '#results';
import { GzipFile, MemberDamage, type MemberPiece } from './gzip-members.ts';

const CHUNK_BYTES = 2 ** 18;
const WARC_START = 'WARC/';
/** Where a file that begins with damage may have its first whole member. Less: it is refused. */
const START_BYTES_MAX: number = 2 ** 23;

export interface UnpackedPiece extends MemberPiece {
  /** Whether a gzip member ends after these bytes, and its checksum is right. */
  readonly endsMember: boolean;
}

/** A part of a file that cannot be unpacked. */
export class FileDamage extends Error {
  /** How many bytes were read before the damaged member; those that came after are uncertain. */
  readonly bytesBefore: number;
  /** Where in the file to read on; undefined if nothing is left. */
  readonly next: number | undefined;

  constructor(message: string, { bytesBefore, next }: Pick<FileDamage, 'bytesBefore' | 'next'>) {
    super(message);
    this.bytesBefore = bytesBefore;
    this.next = next;
  }
}

/**
 * Reads from a place in the file on, which is 0 or was told by `FileDamage`.
 * @throws UsageError if the file cannot be read, is empty or does not begin like a WARC; FileDamage
 */
export async function* readUnpacked(file: string, from = 0): AsyncGenerator<UnpackedPiece> {
  if (from === 0 && !(await isGzipped(file))) {
    for await (const bytes of createReadStream(file, { highWaterMark: CHUNK_BYTES })) {
      yield { bytes: bytes as Buffer, endsMember: false, isDamaged: false };
    }
    return;
  }
  await using packed = await GzipFile.open(file);
  if (from === 0) await assertRecords(file, packed);
  let bytesBefore = 0;
  for (let at = from; at < packed.size;) {
    const byte = (await packed.view(at, 1))[0];
    if (byte === 0x0a || byte === 0x0d) {
      at++;
      continue;
    }
    try {
      const { end, bytes } = yield* piecesOf(packed, at);
      bytesBefore += bytes;
      at = end;
    } catch (error) {
      if (!(error instanceof MemberDamage)) throw error;
      const next = await packed.findRecord(at + 1);
      throw new FileDamage(reasonOf(error, byte, (next ?? packed.size) - at), {
        bytesBefore,
        next,
      });
    }
  }
}

async function* piecesOf(
  packed: GzipFile,
  start: number,
): AsyncGenerator<UnpackedPiece, { end: number; bytes: number }> {
  const member = packed.readMember(start);
  for (;;) {
    const { done, value } = await member.next();
    if (done === true) {
      yield { bytes: Buffer.alloc(0), endsMember: true, isDamaged: false };
      return value;
    }
    yield { ...value, endsMember: false };
  }
}

function reasonOf({ message }: MemberDamage, firstByte: number | undefined, bytes: number): string {
  return firstByte === 0x1f ? message : `${bytes} bytes of the file are no gzip member`;
}

async function isGzipped(file: string): Promise<boolean> {
  const start = await startOf(file);
  if (start.length === 0) throw notWarc(file, 'is empty');
  if (start.toString('latin1') === WARC_START) return false;
  if (start[0] === 0x1f && start[1] === 0x8b) return true;
  await using packed = await GzipFile.open(file);
  const first = await packed.findRecord(0, Math.min(START_BYTES_MAX, packed.size));
  if (first !== undefined) return true; // Its beginning is damaged.
  throw beginsOtherwise(file, start);
}

/** @throws UsageError if the file's first member is whole, and is no record */
async function assertRecords(file: string, packed: GzipFile): Promise<void> {
  if (await packed.beginsRecord(0)) return;
  let start = Buffer.alloc(0);
  try {
    for await (const { bytes } of packed.readMember(0)) {
      if (start.length < WARC_START.length) start = Buffer.concat([start, bytes]);
    }
  } catch (error) {
    if (error instanceof MemberDamage) return; // It may be a record.
    throw error;
  }
  throw beginsOtherwise(file, start.subarray(0, WARC_START.length));
}

async function startOf(file: string): Promise<Buffer> {
  await using handle = await openFile(file);
  const start = Buffer.alloc(WARC_START.length);
  try {
    const { bytesRead } = await handle.read(start, 0, start.length, 0);
    return start.subarray(0, bytesRead);
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

function beginsOtherwise(file: string, start: Buffer): UsageError {
  const begins = `begins with ${JSON.stringify(start.toString('latin1'))}`;
  return notWarc(file, `${begins} instead of "WARC/"`);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder',
  EACCES: 'is not permitted to this user',
};
