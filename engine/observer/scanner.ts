/**
 * The notification scanner (section 2.4): finds dirty cells.
 *
 * "Percolator stores the notify column in a separate Bigtable locality group so that scanning over
 * the column requires reading only the millions of dirty cells rather than the trillions of total
 * data cells. ... the worker chooses a portion of the table to scan by first picking a random
 * Bigtable tablet, then picking a random key in the tablet, and finally scanning the table from
 * that position."
 *
 *     origin ──▶ batch ──▶ batch ──▶ end of table ─▶ beginning ──▶ batch ──▶ origin: full round
 *
 * Where the table is a single tablet, nothing tells which keys it holds, and the random place is
 * one of the dirty rows last seen, so that workers spread over the dirty rows.
 *
 * The list of tablets may be out of date (P48): tablets only tell where to begin. A scan follows
 * the keys for a full round of the table, and sees every dirty cell wherever it begins.
 *
 * A scanner that jumps ends its scan and begins another one at another place. For that place to be
 * far from the old one, the scanner chooses more carefully: among all keys of a tablet or, in a
 * single tablet, among the dirty rows that follow a row remembered from one of many batches. If it
 * chose among the remembered rows alone, and rows were marked in the order of their keys, it would
 * know only places that the scanner ahead of it has passed, and meet that one after each jump.
 */
import type { Random } from '../base/index.ts';
import { type Bigtable, nextStart, type Row } from '../bigtable/index.ts';
import { decodeCause, NOTIFY, notifyTable, WEAK } from '../transaction/index.ts';
import { randomKeyIn } from './random-key.ts';
import type { Notified } from './run-observer.ts';

export interface Batch {
  readonly cells: readonly Notified[];
  /** This batch completes the round: the scan has seen every cell that was dirty when it began. */
  readonly comeRound: boolean;
}

/** Dirty rows remembered as places to start from. */
const REMEMBERED = 64;
/** Rows remembered of each batch by a scanner that jumps. */
const REMEMBERED_OF_BATCH = 8;
/**
 * Dirty rows among which a scanner that jumps in a single tablet chooses its place. Fewer: several
 * scanners meet again. More: each jump reads more rows.
 */
const LOOKED_AT = 1_024;
/** One version tells that a cell is dirty; how often it was marked does not matter. */
const MARKS = [
  { family: NOTIFY, versions: 1 },
  { family: WEAK, versions: 1 },
] as const;

export class NotificationScanner {
  /** The table whose companion it scans. */
  readonly table: string;
  readonly #store: Bigtable;
  readonly #random: Random;
  readonly #jumps: boolean;
  #remembered: readonly string[] = [];
  /** Where the scan began. */
  #origin = '';
  /** Where it continues; undefined between scans. */
  #next: string | undefined;
  /** Whether it has passed the end of the table and is between the beginning and the origin. */
  #wrapped = false;

  constructor(
    store: Bigtable,
    random: Random,
    table: string,
    { jumps = false }: { readonly jumps?: boolean } = {},
  ) {
    this.#store = store;
    this.#random = random;
    this.table = table;
    this.#jumps = jumps;
  }

  /** The next batch is from another random place. The round of this scan stays incomplete. */
  jump(): void {
    this.#next = undefined;
  }

  /** At most `limit` rows of dirty cells. */
  async nextBatch(limit: number): Promise<Batch> {
    if (this.#next === undefined) await this.#begin();
    const rows = await this.#readRows(limit);
    this.#remember(rows);
    const cells = rows.flatMap((row) => dirtyCells(this.table, row));
    return { cells, comeRound: this.#moveOn(rows, limit) };
  }

  #remember(rows: readonly Row[]): void {
    const keys = rows.map(({ key }) => key);
    const kept = this.#jumps ? this.#some(keys) : keys;
    this.#remembered = [...kept, ...this.#remembered].slice(0, REMEMBERED);
  }

  /**
   * A few rows of each batch. If all were kept, every remembered place would be from the last
   * batch, where the other scanner is, too.
   */
  #some(keys: readonly string[]): readonly string[] {
    if (keys.length <= REMEMBERED_OF_BATCH) return keys;
    return Array.from({ length: REMEMBERED_OF_BATCH }, () => this.#random.pick(keys));
  }

  async #begin(): Promise<void> {
    this.#origin = await this.#randomPlace();
    this.#next = this.#origin;
    this.#wrapped = this.#origin === '';
  }

  async #randomPlace(): Promise<string> {
    const tablets = await this.#store.sampleRowKeys(notifyTable(this.table));
    if (tablets.length === 0) return this.#placeAmongDirtyRows();
    if (this.#jumps) {
      const index = this.#random.integer(0, tablets.length);
      return randomKeyIn(tablets[index - 1] ?? '', tablets[index], this.#random);
    }
    const tablet = this.#random.pick(['', ...tablets]);
    return tablet + String.fromCodePoint(this.#random.integer(0x20, 0x7e));
  }

  async #placeAmongDirtyRows(): Promise<string> {
    const remembered = ['', ...this.#remembered];
    if (!this.#jumps) return this.#random.pick(remembered);
    // Half of the time from the beginning: a read goes only forward, so reads from remembered rows
    // alone would prefer the end of the table more and more.
    const start = this.#random.pick(['', this.#random.pick(remembered)]);
    const range = { start, limit: LOOKED_AT };
    const rows = await this.#store.readRange(notifyTable(this.table), range, MARKS);
    return rows.length === 0 ? start : this.#random.pick(rows).key;
  }

  async #readRows(limit: number): Promise<readonly Row[]> {
    const end = this.#wrapped && this.#origin !== '' ? this.#origin : undefined;
    const range = { start: this.#next, end, limit };
    return this.#store.readRange(notifyTable(this.table), range, MARKS);
  }

  /** Sets the place of the next batch; true if there is none because the round is complete. */
  #moveOn(rows: readonly Row[], limit: number): boolean {
    this.#next = nextStart(rows, limit);
    if (this.#next !== undefined) return false;
    if (this.#wrapped) return true;
    this.#wrapped = true;
    this.#next = '';
    return false;
  }
}

/** A cell that was marked both ways is two: each kind of run clears its own mark. */
function dirtyCells(table: string, { key: row, cells }: Row): readonly Notified[] {
  return cells.map(({ family, qualifier: column, timestamp, value }) => ({
    table,
    row,
    column,
    weak: family === WEAK,
    timestamp,
    cause: decodeCause(value),
  }));
}
