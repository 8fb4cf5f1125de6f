/**
 * The bytes of a WARC file, unpacked if they are gzipped, up to the first damage from a place on.
 *
 * A gzip member that is damaged ends the reading with `FileDamage`, which says where to read on.
 * What lies between members is passed over if it is a line end, and otherwise damage, too: zeros
 * may be a download whose space was allocated and not filled. But it costs no member.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { constants, crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { UsageError } from '#results';

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

/*
 * The members of a gzipped file. A `.warc.gz` usually has one for each record (wget, Heritrix,
 * Common Crawl), so damage should cost one record. Node's own reader of gzip stops at the first
 * damage, keeps back what it unpacked just before it, and says nothing about members.
 *
 *     header | deflated bytes | CRC-32 | size        header | deflated bytes | ...
 *
 *  - A member is unpacked in one go if it is small, which is fast, and else as a stream. If that
 *    fails, it is unpacked once more in tiny steps, for all that lies before the damage.
 *  - After damage, the next member is looked for: the next place that begins like a gzip header,
 *    and unpacks to something that begins like a record. The search begins in the damaged member
 *    itself, because it cannot be known where that ends: what is wrong may unpack for a while, even
 *    to the end of the next member.
 */

/** Bytes of the file that are held. A member that is longer is unpacked as a stream. */
const WINDOW_BYTES: number = 2 ** 20;
/** A member that does not fit in so many bytes is tried again with the whole window. */
const FIRST_TRY_BYTES: number = 2 ** 16;
/** A member that unpacks to more is unpacked as a stream. */
const WHOLE_BYTES_MAX: number = 2 ** 23;
/** Steps of a stream. What it unpacked in the step that fails is lost. */
const STEP_BYTES = { large: 2 ** 12, afterDamage: 64 } as const;
/** Of a packed record, this much begins it surely. */
const RECORD_START_BYTES = [64, 256, 1_024, 4_096] as const;
const TRAILER_BYTES = 8;
const RECORD_START = /^[\r\n]*WARC\//u;
const MAGIC = Buffer.from([0x1f, 0x8b, 0x08]);
const FLAG = { check: 0x02, extra: 0x04, name: 0x08, comment: 0x10, reserved: 0xe0 } as const;

interface MemberPiece {
  readonly bytes: Buffer;
  /** Whether the member is known to be damaged, here or elsewhere. */
  readonly isDamaged: boolean;
}

interface Inflated {
  readonly bytes: Buffer;
  readonly packedBytes: number;
}

class GzipFile implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly size: number;
  #held: Buffer = Buffer.alloc(0);
  #heldFrom = 0;

  private constructor(handle: FileHandle, size: number) {
    this.#handle = handle;
    this.size = size;
  }

  static async open(file: string): Promise<GzipFile> {
    const handle = await open(file);
    return new GzipFile(handle, (await handle.stat()).size);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }

  /** The bytes from a place on: at least `bytesMin`, if the file has so many. */
  async view(at: number, bytesMin: number): Promise<Buffer> {
    const end = this.#heldFrom + this.#held.length;
    const isHeld =
      at >= this.#heldFrom && (end - at >= bytesMin || (end === this.size && at < end));
    if (!isHeld) {
      const bytes = Buffer.alloc(Math.min(Math.max(bytesMin, WINDOW_BYTES), this.size - at));
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await this.#handle.read(bytes, {
          offset: length,
          position: at + length,
        });
        if (bytesRead === 0) break; // Another program has made the file shorter.
        length += bytesRead;
      }
      this.#held = bytes.subarray(0, length);
      this.#heldFrom = at;
    }
    return this.#held.subarray(at - this.#heldFrom);
  }

  /**
   * The unpacked bytes of the member at `start`. Returns where the member ends, and how many bytes
   * it has unpacked to.
   * @throws `MemberDamage`, after all bytes before it
   */
  async *readMember(start: number): AsyncGenerator<MemberPiece, { end: number; bytes: number }> {
    const headerBytes = headerLength(await this.view(start, FIRST_TRY_BYTES));
    if (headerBytes === undefined) throw new MemberDamage('it does not begin like a gzip member');
    const body = start + headerBytes;
    const whole = await this.#inflateWhole(body);
    if (whole === 'too large' || whole === 'damaged') {
      const isDamaged = whole === 'damaged';
      return yield* this.#readInSteps(body, { isDamaged });
    }
    const { bytes, packedBytes } = whole;
    const trailer = body + packedBytes;
    const damage = await this.#check(trailer, bytes.length, crc32(bytes));
    yield { bytes, isDamaged: damage !== undefined };
    if (damage !== undefined) throw damage;
    return { end: trailer + TRAILER_BYTES, bytes: bytes.length };
  }

  /** The next place from `from` on, before `to`, at which a member begins that begins a record. */
  async findRecord(from: number, to: number = this.size): Promise<number | undefined> {
    for (let at = from; at < to;) {
      const view = await this.view(at, FIRST_TRY_BYTES);
      const found = view.indexOf(MAGIC);
      at += found >= 0 ? found : Math.max(1, view.length - MAGIC.length + 1);
      if (found < 0) continue;
      if (await this.beginsRecord(at)) return at;
      at++;
    }
    return undefined;
  }

  /** Whether a member begins here, and it begins a record. */
  async beginsRecord(at: number): Promise<boolean> {
    const view = await this.view(at, FIRST_TRY_BYTES);
    const data = view.subarray(headerLength(view) ?? view.length);
    for (const length of RECORD_START_BYTES) {
      try {
        const finishFlush = constants.Z_SYNC_FLUSH;
        const start = inflateRawSync(data.subarray(0, length), { finishFlush });
        const isEnough = start.length >= 16;
        if (isEnough) return RECORD_START.test(start.toString('latin1', 0, 16));
      } catch {
        return false;
      }
    }
    return false;
  }

  async #inflateWhole(from: number): Promise<Inflated | 'too large' | 'damaged'> {
    for (const bytesMin of [FIRST_TRY_BYTES, WINDOW_BYTES]) {
      const packed = await this.view(from, bytesMin);
      const inflated = inflateWhole(packed);
      const isCutOff = inflated === 'cut off' && from + packed.length < this.size;
      if (!isCutOff) return inflated === 'cut off' ? 'damaged' : inflated;
    }
    return 'too large';
  }

  async *#readInSteps(
    body: number,
    { isDamaged }: { readonly isDamaged: boolean },
  ): AsyncGenerator<MemberPiece, { end: number; bytes: number }> {
    const steps = this.#inflateSteps(body, isDamaged ? STEP_BYTES.afterDamage : STEP_BYTES.large);
    let [length, checksum] = [0, 0];
    for (;;) {
      const { done, value } = await steps.next();
      if (done === true) {
        const damage = await this.#check(value, length, checksum);
        if (damage !== undefined) throw damage;
        return { end: value + TRAILER_BYTES, bytes: length };
      }
      length += value.length;
      checksum = crc32(value, checksum);
      yield { bytes: value, isDamaged };
    }
  }

  async #check(at: number, length: number, checksum: number): Promise<MemberDamage | undefined> {
    const trailer = await this.view(at, TRAILER_BYTES);
    if (trailer.length < TRAILER_BYTES) return new MemberDamage('unexpected end of file');
    if (trailer.readUInt32LE(0) !== checksum) return new MemberDamage('wrong checksum');
    const isSize = trailer.readUInt32LE(4) === length % 2 ** 32;
    return isSize ? undefined : new MemberDamage('wrong size');
  }

  /** Returns where the deflated bytes end. */
  async *#inflateSteps(from: number, chunkSize: number): AsyncGenerator<Buffer, number> {
    const packed = Readable.from(this.#packedFrom(from));
    const unpacked = createInflateRaw({ chunkSize });
    packed.once('error', (error) => unpacked.destroy(error)); // `pipe` does not pass errors on.
    try {
      yield* packed.pipe(unpacked) as AsyncIterable<Buffer>;
    } catch (error) {
      throw new MemberDamage(error instanceof Error ? error.message : String(error));
    } finally {
      packed.destroy();
    }
    return from + unpacked.bytesWritten;
  }

  async *#packedFrom(from: number): AsyncGenerator<Buffer> {
    for (let at = from; at < this.size;) {
      const view = await this.view(at, 1);
      if (view.length === 0) return;
      yield view;
      at += view.length;
    }
  }
}

/** A member is damaged. */
class MemberDamage extends Error {}

/** Bytes of the gzip header that begins `bytes`; undefined if there is none. */
export function headerLength(bytes: Buffer): number | undefined {
  if (bytes.length < 10 || bytes.indexOf(MAGIC) !== 0) return undefined;
  const flags = bytes.readUInt8(3);
  if ((flags & FLAG.reserved) !== 0) return undefined;
  let length = 10;
  if ((flags & FLAG.extra) !== 0) {
    if (bytes.length < length + 2) return undefined;
    length += 2 + bytes.readUInt16LE(length);
  }
  for (const text of [FLAG.name, FLAG.comment]) {
    if ((flags & text) === 0) continue;
    const end = bytes.indexOf(0, length);
    if (end < 0) return undefined;
    length = end + 1;
  }
  if ((flags & FLAG.check) !== 0) length += 2;
  return length < bytes.length ? length : undefined;
}

function inflateWhole(packed: Buffer): Inflated | 'cut off' | 'too large' | 'damaged' {
  try {
    // With `info`, Node returns the stream, too; its types do not say so.
    const { buffer, engine } = inflateRawSync(packed, {
      info: true,
      maxOutputLength: WHOLE_BYTES_MAX,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    return { bytes: buffer, packedBytes: engine.bytesWritten };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code === 'ERR_BUFFER_TOO_LARGE') return 'too large';
    return code === 'Z_BUF_ERROR' ? 'cut off' : 'damaged';
  }
}
