/**
 * The newest part of the log, in memory: a row that was written a moment ago is read without asking
 * the system, and without a copy.
 *
 *     log    ──────────────────────────────│ piece │ piece │ pie
 *
 * Transactions read what was just written: locks, write records, notifications. A record that lies
 * in two pieces is not found; there is one in each megabyte.
 */
import type { Mark } from './record.ts';
import type { Place } from './leaf.ts';

const PIECE_BYTES = 2 ** 20;
/** More pieces than any file has. */
const PIECES = 2 ** 20;

export class Recent {
  /** In the order of the log. */
  readonly #pieces = new Map<number, Buffer>();
  readonly #piecesMax: number;

  constructor(bytesMax: number) {
    this.#piecesMax = Math.max(1, Math.ceil(bytesMax / PIECE_BYTES));
  }

  /** Copies what was written at `mark`, which is after everything added before. */
  add(bytes: Buffer, { file, offset }: Mark): void {
    for (let from = 0; from < bytes.length;) {
      const at = offset + from;
      const end = Math.min(bytes.length, from + PIECE_BYTES - (at % PIECE_BYTES));
      bytes.copy(this.#piece(file, at), at % PIECE_BYTES, from, end);
      from = end;
    }
  }

  /** The piece that holds the record; it begins there at `startOf`. */
  find({ file, offset, length }: Place): Buffer | undefined {
    if (this.startOf({ offset }) + length > PIECE_BYTES) return undefined;
    return this.#pieces.get(keyOf(file, offset));
  }

  startOf({ offset }: Pick<Place, 'offset'>): number {
    return offset % PIECE_BYTES;
  }

  #piece(file: number, offset: number): Buffer {
    const key = keyOf(file, offset);
    const known = this.#pieces.get(key);
    if (known !== undefined) return known;
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    this.#pieces.set(key, piece);
    const [oldest] = this.#pieces.keys();
    if (this.#pieces.size > this.#piecesMax && oldest !== undefined) this.#pieces.delete(oldest);
    return piece;
  }
}

function keyOf(file: number, offset: number): number {
  return file * PIECES + Math.floor(offset / PIECE_BYTES);
}
