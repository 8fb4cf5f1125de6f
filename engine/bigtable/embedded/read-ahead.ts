/**
 * Reads ahead where reads go on in the order of the log: rows that were written in the order of
 * their keys, as a bulk load writes them, are scanned in that order.
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
/** Reads go on if at most this much was left out: headers of groups, and pages written again. */
const HOLE_BYTES_MAX = 2 ** 12;
const NOWHERE: Mark = { file: -1, offset: 0 };

export class ReadAhead {
  #bytes: Buffer = Buffer.alloc(0);
  /** Where the bytes begin. */
  #from: Mark = NOWHERE;
  /** Where the last record that was asked for ends. */
  #end: Mark = NOWHERE;

  /**
   * The record, if it was read ahead, or if it follows the last record that was asked for.
   * @param read returns what there is from the mark on, at most `bytesMax` bytes
   */
  find(place: Place, read: (from: Mark, bytesMax: number) => Buffer): Buffer | undefined {
    const { file, offset, length } = place;
    const hole = file === this.#end.file ? offset - this.#end.offset : -1;
    this.#end = { file, offset: offset + length };
    const known = this.#known(place);
    if (known !== undefined || hole < 0 || hole > HOLE_BYTES_MAX) return known;
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
