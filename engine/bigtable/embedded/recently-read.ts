/**
 * Records of the older log that were read lately, in memory: what is read all the time need not be
 * what was written last.
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
import type { Place } from './leaf.ts';

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
