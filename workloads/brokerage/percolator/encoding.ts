/**
 * Keys and values as Percolator stores them.
 *
 * A key is the parts of a primary key or of an access path, with `/` between them, so that the
 * order of keys is the order of the parts. Numbers are written in base 36 with ten digits; those in
 * descending order are subtracted from the largest number:
 *
 *     trade.by_account    000jr538ch/zzlwhknr87/y13t9nuhoe
 *                         account / newest time first / largest id first
 *
 * A value is the row's columns in the order of its description, as JSON: short, legible, and parsed
 * by native code.
 */
import { assert, textOf } from '#engine';
import { describe, type TableName, type TableRow } from '../model/tables.ts';

/**
 * Values that many transactions read and few change, such as the prices of securities, by their
 * text: equal bytes are parsed once, and all readers share the object. This saves no reads of the
 * store.
 */
export class ParsedOnce<V extends object> {
  readonly #parse: (text: string) => V;
  readonly #most: number;
  readonly #parsed = new Map<string, V>();

  /**
   * @param most maximum number of texts; when it is reached, all are forgotten, because those still
   * in use return soon
   */
  constructor(parse: (text: string) => V, most: number) {
    this.#parse = parse;
    this.#most = most;
  }

  /** The object is frozen, because callers share it. */
  of(text: string): V {
    return this.#parsed.get(text) ?? this.#add(text);
  }

  #add(text: string): V {
    const parsed = Object.freeze(this.#parse(text));
    if (this.#parsed.size >= this.#most) this.#parsed.clear();
    this.#parsed.set(text, parsed);
    return parsed;
  }
}

export type KeyPart = number | string;

const DIGITS = 10;
const NUMBER_MAX = 36 ** DIGITS - 1;

export function encodeKey(parts: readonly KeyPart[]): string {
  return parts.map(encodePart).join('/');
}

/** Decodes the key of a row whose key has one part. */
export function decodeKey(table: TableName, key: string): KeyPart {
  const [column, ...others] = describe(table).primaryKey;
  assert(column !== undefined && others.length === 0, `${table} has a key of one part`);
  return describe(table).columns[column] === 'text' ? key : Number.parseInt(key, 36);
}

/** For a part in descending order. */
export function countDown(part: KeyPart): KeyPart {
  assert(typeof part === 'number', 'only numbers are counted down');
  return NUMBER_MAX - part;
}

/**
 * The keys that begin with `parts`; `from` and `to`, both inclusive, bound the part that follows.
 * An end is a key with `0` after it, because `0` is the character after the separator.
 */
export function keyRange(
  parts: readonly KeyPart[],
  { from, to }: { readonly from?: KeyPart | undefined; readonly to?: KeyPart | undefined } = {},
): { readonly start: string; readonly end: string | undefined } {
  const prefix = encodeKey(parts);
  const first = parts.length === 0 ? '' : `${prefix}/`;
  return {
    start: from === undefined ? first : `${first}${encodePart(from)}`,
    end:
      to === undefined
        ? parts.length === 0
          ? undefined
          : `${prefix}0`
        : `${first}${encodePart(to)}0`,
  };
}

export function encodeRow<T extends TableName>(table: T, row: TableRow<T>): Buffer {
  return Buffer.from(JSON.stringify(valuesOf(table, row)));
}

export function decodeRow<T extends TableName>(table: T, value: Uint8Array): TableRow<T> {
  const text = textOf(value);
  return (OFTEN_READ.get(table)?.of(text) as TableRow<T> | undefined) ?? parseRow(table, text);
}

function parseRow<T extends TableName>(table: T, text: string): TableRow<T> {
  return rowOf(table, JSON.parse(text) as readonly unknown[]);
}

/** Rows that share a cell. */
export function encodeRows<T extends TableName>(table: T, rows: readonly TableRow<T>[]): Buffer {
  return Buffer.from(JSON.stringify(rows.map((row) => valuesOf(table, row))));
}

export function decodeRows<T extends TableName>(
  table: T,
  value: Uint8Array,
): readonly TableRow<T>[] {
  const rows = JSON.parse(textOf(value)) as readonly (readonly unknown[])[];
  return rows.map((values) => rowOf<T>(table, values));
}

/** An entry of an index, and the key of the row that it refers to. */
export type IndexEntry = readonly [key: string, row: string];

/** Entries that share a cell, in their order. */
export function encodeEntries(entries: readonly IndexEntry[]): Buffer {
  return Buffer.from(JSON.stringify(entries));
}

export function decodeEntries(value: Uint8Array): readonly IndexEntry[] {
  return JSON.parse(textOf(value)) as readonly IndexEntry[];
}

/** Prices by symbol. */
export type Prices = Readonly<Record<string, number>>;

export function encodePrices(prices: Prices): Buffer {
  return Buffer.from(JSON.stringify(prices));
}

export function decodePrices(value: Uint8Array): Prices {
  return PRICES.of(textOf(value));
}

/**
 * Caches at most 300 days, which is more than any profile has. A day takes some 30 KB of memory for
 * every 1,000 customers.
 */
const PRICES = new ParsedOnce((text) => JSON.parse(text) as Prices, 300);

/**
 * Three of four rows that are read belong to these tables, and nine of ten of those are unchanged
 * since the last read.
 */
const OFTEN_READ: ReadonlyMap<TableName, ParsedOnce<object>> = new Map(
  (['broker', 'exchange', 'last_trade', 'security', 'trade_type'] as const).map((table) => [
    table,
    new ParsedOnce((text) => parseRow(table, text), 20_000),
  ]),
);

const COLUMNS = new Map<TableName, readonly string[]>();

function columnsOf(table: TableName): readonly string[] {
  let columns = COLUMNS.get(table);
  if (columns === undefined) COLUMNS.set(table, (columns = Object.keys(describe(table).columns)));
  return columns;
}

/** The columns of a row, in the order of its description. */
export function valuesOf<T extends TableName>(table: T, row: TableRow<T>): readonly unknown[] {
  const values: Record<string, unknown> = row;
  return columnsOf(table).map((column) => values[column]);
}

export function rowOf<T extends TableName>(table: T, values: readonly unknown[]): TableRow<T> {
  const row: Record<string, unknown> = {};
  const columns = columnsOf(table);
  for (let i = 0; i < columns.length; i++) row[columns[i] as string] = values[i];
  return row as TableRow<T>;
}

function encodePart(part: KeyPart): string {
  if (typeof part === 'number') {
    assert(part >= 0 && part <= NUMBER_MAX, 'numbers in keys have ten digits of base 36');
    return part.toString(36).padStart(DIGITS, '0');
  }
  assert(!part.includes('/'), 'texts in keys have no separator');
  return part;
}
