/**
 * Reads ahead where records are read in the order of the log. A scan does so if its rows were
 * written in the order of their keys, as a bulk load writes them.
 *
 *     read before          wanted
 *     ... │ record │ hole │ record │ record │ record │ ...
 *                         └── read at once, and kept ──┘
 *
 * A record never changes at its place, so what is kept is never out of date.
 */
import type { Place } from './leaf.ts';
import type { Mark } from './record.ts';

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
