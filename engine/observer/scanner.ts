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
 * The list of tablets may be out of date (P48, scan out of date): tablets only tell where to begin.
 * A scan follows the keys for a full round of the table, and sees every dirty cell wherever it
 * begins.
 *
 * A scanner that jumps ends its scan and begins another one at another place. For that place to be
 * far from the old one, the scanner chooses more carefully: among all keys of a tablet or, in a
 * single tablet, among the dirty rows that follow a row remembered from one of many batches. If it
 * chose among the remembered rows alone, and rows were notified in the order of their keys, it
 * would know only places that the scanner ahead of it has passed, and meet that one after each
 * jump.
 */
import type { Random } from '../base/index.ts';
import { type Bigtable, restOf, type Row } from '../bigtable/index.ts';
import { decodeCause, NOTIFY, notifyTable, WEAK } from '../transaction/index.ts';
import type { Notified } from './run-observer.ts';

export interface DirtyBatch {
  readonly cells: readonly Notified[];
  /** This batch completes the round: the scan has seen every cell that was dirty when it began. */
  readonly isFullRound: boolean;
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
/** One version tells that a cell is dirty; how often it was notified does not matter. */
const NOTIFICATIONS = [
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
  async nextBatch(limit: number): Promise<DirtyBatch> {
    if (this.#next === undefined) await this.#begin();
    const rows = await this.#readRows(limit);
    this.#remember(rows);
    const cells = rows.flatMap((row) => dirtyCells(this.table, row));
    return { cells, isFullRound: this.#moveOn(rows, limit) };
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
    const rows = await this.#store.readRange(notifyTable(this.table), range, NOTIFICATIONS);
    return rows.length === 0 ? start : this.#random.pick(rows).key;
  }

  async #readRows(limit: number): Promise<readonly Row[]> {
    const end = this.#wrapped && this.#origin !== '' ? this.#origin : undefined;
    const range = { start: this.#next, end, limit };
    return this.#store.readRange(notifyTable(this.table), range, NOTIFICATIONS);
  }

  /** Sets the place of the next batch; true if there is none because the round is complete. */
  #moveOn(rows: readonly Row[], limit: number): boolean {
    this.#next = restOf({ limit }, rows)?.start;
    if (this.#next !== undefined) return false;
    if (this.#wrapped) return true;
    this.#wrapped = true;
    this.#next = '';
    return false;
  }
}

/** A cell that was notified both ways is two: each kind of run clears its own notification. */
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

/*
 * "First picking a random Bigtable tablet, then picking a random key in the tablet" (section 2.4).
 *
 * The storage tells where a tablet begins and ends, not which keys it holds. After the prefix that
 * both ends share, each character is drawn from the kind that the ends have there: a digit between
 * digits. So most keys drawn between `user1000` and `user2000` lie among the rows, and not between
 * the last row and the end. The first and the last tablet have one unknown end; it is assumed to
 * differ from the other end in the last character.
 *
 * How many characters are drawn is random, too, down to none, which is the beginning of the tablet
 * itself: with long keys only, no scan would ever start at the first row.
 */

const KINDS = ['0123456789', '0123456789abcdef', 'abcdefghijklmnopqrstuvwxyz'] as const;
const PRINTABLE =
  ' !"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~';
/** Keys with more characters than this would mostly lie between the same two rows. */
const CHARACTERS_MAX = 6;

/** A key from `start` on and before `end`; undefined: the end of the table. */
export function randomKeyIn(start: string, end: string | undefined, random: Random): string {
  const length = random.integer(0, CHARACTERS_MAX);
  if (length === 0) return start;
  const shared = sharedPrefix(start, end);
  const [first, last] = [start.slice(shared.length), end?.slice(shared.length)];
  const characters = kindOf(first + (last ?? ''));
  const from = fractionOf(first, characters);
  const to = last === undefined ? 1 : fractionOf(last, characters);
  const key = shared + keyAt(from + random.fraction() * (to - from), characters).slice(0, length);
  return key < start || (end !== undefined && key >= end) ? start : key;
}

/** The shared prefix in whole characters: the storage refuses half of a surrogate pair. */
function sharedPrefix(start: string, end: string | undefined): string {
  const prefix = sharedUnits(start, end);
  return prefix.isWellFormed() ? prefix : prefix.slice(0, -1);
}

function sharedUnits(start: string, end: string | undefined): string {
  if (end === undefined) return start.slice(0, -1);
  return start === '' ? end.slice(0, -1) : commonPrefix(start, end);
}

function kindOf(text: string): string {
  if (text === '') return PRINTABLE;
  const isOf = (kind: string): boolean => Array.from(text).every((one) => kind.includes(one));
  return KINDS.find(isOf) ?? PRINTABLE;
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

/** The key as the digits after the point of a number from 0 up to 1. */
function fractionOf(key: string, characters: string): number {
  let fraction = 0;
  let worth = 1;
  for (const one of key.slice(0, CHARACTERS_MAX)) {
    worth /= characters.length;
    fraction += Math.max(0, characters.indexOf(one)) * worth;
  }
  return fraction;
}

function keyAt(fraction: number, characters: string): string {
  let key = '';
  let rest = fraction;
  for (let i = 0; i < CHARACTERS_MAX; i++) {
    rest *= characters.length;
    const digit = Math.min(Math.floor(rest), characters.length - 1);
    key += characters[digit];
    rest -= digit;
  }
  return key;
}
