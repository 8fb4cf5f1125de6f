/**
 * The index on the disk, so that opening a store need not read its whole log.
 *
 *     file `index`    header: where the log was synced │ leaves │ ... │ no leaves │ end: what it shows
 *
 * It is written now and then, while the store goes on; each leaf shows the index at a moment after
 * the one in the header. That does no harm (P71), because the log is read again from where it was
 * synced when the writing began, and the end says up to which group the log must then be there. It
 * is only a hint: one with a wrong checksum is not used, and the whole log is read instead.
 */
import { crc32 } from 'node:zlib';
import type { Disk, DiskFile } from './disk.ts';
import { Leaf, LEAF_BYTES } from './leaf.ts';
import type { HintHeader } from './log.ts';
import type { Stored } from './row-pages.ts';
import { SortedIndex } from './sorted-index.ts';

export const HINT_FILE = 'index';
/** The number of this format: a hint of another one is not used. */
const HINT_FORMAT = 4;
const NEW_HINT_FILE = 'index.new';
const END_FILE = 'end';
const NEW_END_FILE = 'end.new';
const PIECE_HEADER_BYTES = 8;

export interface Hint extends HintHeader {
  /** The number of the last group that a leaf may show. */
  readonly shown: number;
  readonly index: SortedIndex;
}

/**
 * Replaces the hint.
 * @param log.header what the hint says of the log
 * @param log.leaves how many leaves are written at a time
 * @param log.flush makes the log durable and returns the number of its last group: a hint must not
 *   be on the disk without a group that one of its leaves shows
 */
async function writeHint(
  disk: Disk,
  index: SortedIndex,
  {
    header,
    leaves: atATime,
    flush,
  }: {
    readonly header: HintHeader;
    readonly leaves: number;
    readonly flush: () => Promise<number>;
  },
): Promise<void> {
  if (disk.names().includes(NEW_HINT_FILE)) disk.remove(NEW_HINT_FILE);
  const file = disk.create(NEW_HINT_FILE);
  let end = 0;
  try {
    const add = async (piece: Buffer): Promise<void> => {
      await file.write(piece, end);
      end += piece.length;
    };
    await add(withChecksum(Buffer.from(JSON.stringify({ format: HINT_FORMAT, ...header }))));
    let after: Buffer | undefined;
    do {
      const leaves = leavesAfter(index, after, atATime);
      after = leaves.at(-1)?.last;
      await add(withChecksum(Buffer.concat(leaves.map(({ bytes }) => bytes))));
      await file.sync(); // Piece by piece, so that no group waits for all of it.
    } while (after !== undefined);
    await add(withChecksum(Buffer.from(JSON.stringify({ shown: await flush() }))));
    await file.sync();
  } catch (error) {
    disk.remove(NEW_HINT_FILE); // On a full disk, groups need the space.
    throw error;
  } finally {
    file.close();
  }
  disk.rename(NEW_HINT_FILE, HINT_FILE);
  await disk.sync();
}

/** Where the log ended when the store was closed: what is there of it was synced by then. */
export interface LogEnd {
  readonly store: number;
  readonly file: number;
  /** The number of the last group. */
  readonly sequence: number;
}

/**
 * Says at closing what the last group is, where a hint would be too large to be written: without
 * either, a group that is lost later looks like one that was never finished.
 */
async function writeEnd(disk: Disk, { store, mark, sequence }: HintHeader): Promise<void> {
  if (disk.names().includes(NEW_END_FILE)) disk.remove(NEW_END_FILE);
  const end: LogEnd = { store, file: mark.file, sequence };
  const file = disk.create(NEW_END_FILE);
  try {
    await file.write(withChecksum(Buffer.from(JSON.stringify(end))), 0);
    await file.sync();
  } finally {
    file.close();
  }
  disk.rename(NEW_END_FILE, END_FILE);
  await disk.sync();
}

/** Undefined if it is not there, or damaged. */
export function readEnd(disk: Disk): LogEnd | undefined {
  if (!disk.names().includes(END_FILE)) return undefined;
  let file: DiskFile | undefined;
  try {
    file = disk.open(END_FILE);
    const bytes = new PieceReader(file).next();
    return bytes && (JSON.parse(bytes.toString()) as LogEnd);
  } catch {
    return undefined;
  } finally {
    file?.close();
  }
}

/**
 * The number of the last group that must be there, as far as the end says so. A later file is of a
 * later opening, which has found it, or has begun before it.
 */
export function shownByEnd(disk: Disk, store: number, newestFile: number): number {
  const end = readEnd(disk);
  return end !== undefined && end.store === store && newestFile <= end.file ? end.sequence : 0;
}

/** The hint; undefined if there is none that can be used. */
export function readHint(disk: Disk): Hint | undefined {
  if (!disk.names().includes(HINT_FILE)) return undefined;
  let file: DiskFile | undefined;
  try {
    file = disk.open(HINT_FILE);
    const reader = new PieceReader(file);
    const header = reader.next();
    if (header === undefined) return undefined;
    const { format, ...rest } = JSON.parse(header.toString()) as HintHeader & { format: number };
    if (format !== HINT_FORMAT) return undefined;
    const index = new SortedIndex();
    for (;;) {
      const piece = reader.next();
      if (piece === undefined) return undefined;
      if (piece.length === 0) break;
      for (let at = 0; at < piece.length; at += LEAF_BYTES) {
        index.addLeaf(new Leaf(piece.subarray(at, at + LEAF_BYTES)));
      }
    }
    const end = reader.next();
    if (end === undefined) return undefined;
    return { ...rest, index, ...(JSON.parse(end.toString()) as Pick<Hint, 'shown'>) };
  } catch {
    return undefined;
  } finally {
    file?.close();
  }
}

/**
 * Removes the hint, if there is one, durably. A hint that could not be read once may be legible the
 * next time, when the last groups have been written again elsewhere: then it does not fit the log.
 */
export async function removeHint(disk: Disk): Promise<void> {
  if (!disk.names().includes(HINT_FILE)) return;
  disk.remove(HINT_FILE);
  await disk.sync();
}

function leavesAfter(
  index: SortedIndex,
  after: Buffer | undefined,
  most: number,
): { readonly bytes: Uint8Array; readonly last: Buffer }[] {
  const found: { readonly bytes: Uint8Array; readonly last: Buffer }[] = [];
  let last = after;
  while (found.length < most) {
    const leaf = index.leafAfter(last);
    if (leaf === undefined) break;
    last = leaf.key(leaf.count - 1);
    found.push({ bytes: leaf.write(), last });
  }
  return found;
}

function withChecksum(bytes: Buffer): Buffer {
  const header = Buffer.alloc(PIECE_HEADER_BYTES);
  header.writeUInt32LE(bytes.length, 4);
  const piece = Buffer.concat([header, bytes]);
  piece.writeUInt32LE(crc32(piece.subarray(4)), 0);
  return piece;
}

class PieceReader {
  readonly #file: DiskFile;
  readonly #size: number;
  #offset = 0;

  constructor(file: DiskFile) {
    this.#file = file;
    this.#size = file.size();
  }

  /** The bytes of the next piece, in memory of their own; undefined if it is damaged. */
  next(): Buffer | undefined {
    const header = Buffer.alloc(PIECE_HEADER_BYTES);
    if (this.#file.read(header, this.#offset) < header.length) return undefined;
    const length = header.readUInt32LE(4);
    if (length > this.#size) return undefined;
    const bytes = Buffer.allocUnsafeSlow(length);
    if (this.#file.read(bytes, this.#offset + header.length) < length) return undefined;
    if (crc32(bytes, crc32(header.subarray(4))) !== header.readUInt32LE(0)) return undefined;
    this.#offset += header.length + length;
    return bytes;
  }
}

/* Decides when the hint and the end (hint.ts) are written; the hint in the background. */

/**
 * A store that is closed writes a hint if the log has grown by more than this part of the hint's
 * size.
 */
const PART_AT_CLOSE = 1 / 8;
/** About what a key takes in a hint. */
const KEY_BYTES = 80;

interface HintedStore extends Stored {
  /** Makes durable what is visible, and returns the number of the last group. */
  readonly flush: () => Promise<number>;
}

export class HintWriter {
  readonly #disk: Disk;
  readonly #stored: HintedStore;
  /** Bytes by which the log has grown since the writing of a hint last began. */
  #grown: number;
  /**
   * Bytes by which the log had grown since the last hint that was written, when the writing of a
   * hint last began; 0 once that hint is written. If it cannot be written, only closing counts
   * these bytes: an attempt after each group would take the space that groups need.
   */
  #missed = 0;
  #writing: Promise<void> | undefined;

  constructor(disk: Disk, stored: HintedStore, grown: number) {
    this.#disk = disk;
    this.#stored = stored;
    this.#grown = grown;
  }

  /** Called when the log has grown. */
  added(bytes: number): void {
    this.#grown += bytes;
    const { hintBytes } = this.#stored.log.sizes;
    if (this.#writing !== undefined || this.#grown <= Math.max(hintBytes, this.#size())) return;
    this.#writing = this.#write();
  }

  /** Resolves when no hint is being written. */
  async idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#missed + this.#grown > this.#size() * PART_AT_CLOSE) {
      this.#writing = this.#write();
      await this.#writing;
    }
    // A hint that was written says it, too.
    if (this.#missed + this.#grown > 0) await this.#writeEnd();
  }

  async #writeEnd(): Promise<void> {
    const { log } = this.#stored;
    if (log.written === 0) return; // The one that is there says it.
    try {
      await writeEnd(this.#disk, log.hint());
    } catch {
      // For example, the disk is full: a loss of the last groups will not be noticed.
    }
  }

  async #write(): Promise<void> {
    this.#missed += this.#grown;
    this.#grown = 0;
    try {
      const { index, log, flush } = this.#stored;
      const leaves = log.sizes.hintLeaves;
      await writeHint(this.#disk, index, { header: log.hint(), leaves, flush });
      this.#missed = 0;
    } catch {
      // For example, the disk is full: the next opening reads the log from the previous hint on, or
      // all of it if there is none.
    }
    this.#writing = undefined;
  }

  #size(): number {
    return this.#stored.index.keys * KEY_BYTES;
  }
}
