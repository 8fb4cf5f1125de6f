/**
 * The newest part of the log, in memory: a row is read without asking the system, which takes
 * several times as long.
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
import type { Mark } from './record.ts';
import type { Place } from './leaf.ts';

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
