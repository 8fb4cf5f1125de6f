/**
 * What of the log is in memory, so that a row is read without asking the system, which takes
 * several times as long: the newest part, records of the older part that are read repeatedly, and
 * what a scan will read next.
 *
 * The newest part:
 *
 *     log    ─────────────│ piece │ ─────── │ piece │ piece │ pie
 *                          loaded            written by this opening
 *
 * What is written stays here, because transactions read what was just written: locks, write
 * records, notifications. A piece that an earlier opening has written is loaded as a whole when one
 * of its records is read. If there are too many pieces, the oldest goes, and is not loaded again,
 * so a scan of a large store pushes no newer piece out. A record that does not lie in one piece
 * alone is not found; there is at most one such record for each megabyte.
 */
import type { Place } from './leaf.ts';
import type { Mark } from './record.ts';

const PIECE_BYTES = 2 ** 20;
/** More pieces than any file has. */
const PIECES = 2 ** 20;

export interface Piece {
  readonly bytes: Buffer;
  /**
   * How many of the bytes are known. All, in a piece that is being written: only records that were
   * written are looked for.
   */
  readonly end: number;
  /** Its records were read from the disk, so each must be checked. */
  readonly isLoaded: boolean;
}

export class Recent {
  /** By place in the log: a larger key is newer. */
  readonly #pieces = new Map<number, Piece>();
  readonly #piecesMax: number;
  #oldest = Infinity;

  constructor(bytesMax: number) {
    this.#piecesMax = Math.ceil(bytesMax / PIECE_BYTES);
  }

  /** Copies what was written at `mark`, which is after everything added before. */
  add(bytes: Buffer, { file, offset }: Mark): void {
    for (let from = 0; from < bytes.length;) {
      const at = offset + from;
      const end = Math.min(bytes.length, from + PIECE_BYTES - (at % PIECE_BYTES));
      bytes.copy(this.#written(file, at), at % PIECE_BYTES, from, end);
      from = end;
    }
  }

  /** The piece that holds the record, which begins at `startOf` in the piece. */
  find({ file, offset, length }: Place): Piece | undefined {
    const piece = this.#pieces.get(keyOf(file, offset));
    return piece !== undefined && this.startOf({ offset }) + length <= piece.end
      ? piece
      : undefined;
  }

  /**
   * The same for a piece that is not in memory: loads it, unless it would be the first to go. It
   * stays even if it ends before the record, as where a read-only opening finds groups that do not
   * count yet: otherwise each of their records would be a reason to load it again.
   * @param read returns what there is from the mark on, at most `bytesMax` bytes
   */
  load(place: Place, read: (from: Mark, bytesMax: number) => Buffer): Piece | undefined {
    const { file, offset, length } = place;
    const key = keyOf(file, offset);
    const start = this.startOf(place);
    if (start + length > PIECE_BYTES || this.#pieces.has(key)) return undefined;
    if (this.#pieces.size >= this.#piecesMax && key < this.#oldest) return undefined;
    const bytes = read({ file, offset: offset - start }, PIECE_BYTES);
    if (bytes.length === 0) return undefined; // It cannot be read now, or does not count yet.
    this.#keep(key, { bytes, end: bytes.length, isLoaded: true });
    return this.find(place);
  }

  startOf({ offset }: Pick<Place, 'offset'>): number {
    return offset % PIECE_BYTES;
  }

  #written(file: number, offset: number): Buffer {
    const key = keyOf(file, offset);
    const known = this.#pieces.get(key);
    if (known !== undefined) return known.bytes;
    const bytes = Buffer.allocUnsafeSlow(PIECE_BYTES);
    return this.#keep(key, { bytes, end: PIECE_BYTES, isLoaded: false }).bytes;
  }

  #keep(key: number, piece: Piece): Piece {
    this.#pieces.set(key, piece);
    // One piece is always kept: the one that is being written.
    if (this.#pieces.size > Math.max(1, this.#piecesMax)) {
      this.#pieces.delete(Math.min(this.#oldest, key));
      this.#oldest = Infinity;
    }
    for (const known of this.#pieces.keys()) this.#oldest = Math.min(this.#oldest, known);
    return piece;
  }
}

function keyOf(file: number, offset: number): number {
  return file * PIECES + Math.floor(offset / PIECE_BYTES);
}

/*
 * Records of the older part that were read lately: what is read all the time need not be what was
 * written last.
 *
 *     seen            the place of a record is remembered when it was read from the disk once
 *     younger half    a record is added when it was read from the disk again, or found in the older
 *                     half
 *     older half      forgotten when the younger one is full and takes its place
 *
 * So a record stays as long as it is read again before other records have filled half of this
 * memory; and a scan of everything, such as the collector's, reads each record once and fills
 * nothing. A record never changes at its place, so nothing here is ever out of date.
 */

const CHUNK_BYTES = 2 ** 20;
/** A longer record is not kept: it would take the place of too many others. */
const RECORD_BYTES_MAX = 2 ** 16;
/**
 * At least this many places of records that were read once are remembered, and at most twice as
 * many. Larger: each place costs about 50 bytes of memory. Smaller: a record must be read again
 * sooner, or it is read from the disk each time.
 */
const SEEN_MAX = 2 ** 17;
/** More than any offset in a file. */
const OFFSETS = 2 ** 32;

/** Where a record is. */
export interface FoundRecord {
  readonly bytes: Buffer;
  readonly start: number;
}

export class RecentlyRead {
  readonly #chunksMax: number;
  #younger = new Half();
  #older = new Half();
  #seenLately = new Set<number>();
  #seenBefore: ReadonlySet<number> = new Set();

  constructor(bytesMax: number) {
    this.#chunksMax = Math.floor(bytesMax / 2 / CHUNK_BYTES);
  }

  find(place: Place): FoundRecord | undefined {
    const found = this.#younger.find(place);
    if (found !== undefined) return found;
    const older = this.#older.find(place);
    if (older === undefined) return undefined;
    const { bytes, start } = older;
    this.#add(place, bytes.subarray(start, start + place.length));
    return older;
  }

  /** Copies a record that was read from the disk and is intact, unless this was its first read. */
  add(place: Place, record: Buffer): void {
    if (record.length > RECORD_BYTES_MAX || this.#chunksMax === 0) return;
    if (this.#see(place)) this.#add(place, record);
  }

  /** Remembers the place. Returns whether it was remembered before. */
  #see({ file, offset }: Place): boolean {
    const key = file * OFFSETS + offset;
    if (this.#seenLately.has(key) || this.#seenBefore.has(key)) return true;
    if (this.#seenLately.size === SEEN_MAX) {
      this.#seenBefore = this.#seenLately;
      this.#seenLately = new Set();
    }
    this.#seenLately.add(key);
    return false;
  }

  #add(place: Place, record: Buffer): void {
    if (!this.#younger.fits(record.length, this.#chunksMax)) {
      this.#older = this.#younger;
      this.#younger = new Half();
    }
    this.#younger.add(place, record);
  }
}

class Half {
  readonly #chunks: Buffer[] = [];
  /** Bytes of the last chunk that are in use. */
  #end = CHUNK_BYTES;
  /**
   * By file and offset: the number of the chunk, and where the record begins there. Two maps,
   * because V8 finds a small whole number in a map in two thirds of the time of a large one.
   */
  readonly #starts = new Map<number, Map<number, number>>();

  find({ file, offset }: Place): FoundRecord | undefined {
    const at = this.#starts.get(file)?.get(offset);
    if (at === undefined) return undefined;
    const start = at % CHUNK_BYTES;
    return { bytes: this.#chunks[(at - start) / CHUNK_BYTES] as Buffer, start };
  }

  fits(bytes: number, chunksMax: number): boolean {
    return this.#end + bytes <= CHUNK_BYTES || this.#chunks.length < chunksMax;
  }

  add({ file, offset }: Place, record: Buffer): void {
    if (this.#end + record.length > CHUNK_BYTES) {
      this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES));
      this.#end = 0;
    }
    const number = this.#chunks.length - 1;
    record.copy(this.#chunks[number] as Buffer, this.#end);
    let ofFile = this.#starts.get(file);
    if (ofFile === undefined) this.#starts.set(file, (ofFile = new Map()));
    ofFile.set(offset, number * CHUNK_BYTES + this.#end);
    this.#end += record.length;
  }
}

/*
 * Reads ahead where records are read in the order of the log. A scan does so if its rows were
 * written in the order of their keys, as a bulk load writes them.
 *
 *     read before          wanted
 *     ... │ record │ hole │ record │ record │ record │ ...
 *                         └── read at once, and kept ──┘
 *
 * A record never changes at its place, so what is kept is never out of date.
 */

/** Larger: more is read in vain where a scan ends. Smaller: a scan asks the system more often. */
const AHEAD_BYTES = 2 ** 14;
/**
 * A record follows another one if at most this much lies between them: headers of groups, and pages
 * that were written again later.
 */
const HOLE_BYTES_MAX = 2 ** 12;
const NOWHERE: Mark = { file: -1, offset: 0 };

export class ReadAhead {
  #bytes: Buffer = Buffer.alloc(0);
  /** Where the bytes begin. */
  #from: Mark = NOWHERE;
  /** Where the last record that was asked for ends. */
  #end: Mark = NOWHERE;

  /**
   * The record, if it was read ahead, or if it follows the last record that was asked for and is
   * no longer than what is read ahead.
   * @param read returns what there is from the mark on, at most `bytesMax` bytes
   */
  find(place: Place, read: (from: Mark, bytesMax: number) => Buffer): Buffer | undefined {
    const { file, offset, length } = place;
    const hole = file === this.#end.file ? offset - this.#end.offset : -1;
    this.#end = { file, offset: offset + length };
    const known = this.#known(place);
    if (known !== undefined || hole < 0 || hole > HOLE_BYTES_MAX) return known;
    if (length > AHEAD_BYTES) return undefined;
    this.#bytes = read(place, AHEAD_BYTES);
    this.#from = place;
    return this.#known(place);
  }

  #known({ file, offset, length }: Place): Buffer | undefined {
    const start = file === this.#from.file ? offset - this.#from.offset : -1;
    const end = start + length;
    return start >= 0 && end <= this.#bytes.length ? this.#bytes.subarray(start, end) : undefined;
  }
}
