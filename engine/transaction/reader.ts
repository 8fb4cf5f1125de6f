/**
 * What can be read, of a transaction and of a read-only snapshot. A function of a user that only
 * reads takes a `Reader`, and works with both.
 *
 * A whole row is read by what they have in common, `getMany` and `scan`: so it is seen as these see
 * it, with the transaction's own writes. Named columns are read once in a transaction, as by `get`.
 * All columns are read anew each time: a transaction remembers cells, and not that a row has no
 * others.
 */
import { checkOptions, type OptionRules, TEXT, TEXTS } from '../base/options.ts';
import { keyAfter } from '../bigtable/index.ts';
import { validateRowKey } from '../bigtable/validate.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { CellAddress } from './columns.ts';
import type { ScannedRow } from './scan.ts';
import type { ScanRange } from './scan-range.ts';

/** A row, and which of its columns are wanted. */
export interface RowColumns {
  readonly table: string;
  readonly row: string;
  /** Default: all. */
  readonly columns?: readonly string[] | undefined;
}

/** What can be read: by a transaction, or by a read-only snapshot at any timestamp. */
export interface Reader {
  /** Fixes the snapshot; identifies the transaction. */
  readonly startTimestamp: Timestamp;
  /**
   * The cell's value, or undefined if it has none. A value of the snapshot is not a copy: changing
   * it changes later reads.
   */
  get(cell: CellAddress): Promise<Uint8Array | undefined>;
  /** The values of several cells; cells of one row are read together. */
  getMany(cells: readonly CellAddress[]): Promise<readonly (Uint8Array | undefined)[]>;
  /** The rows of a range, of a prefix or of the table, in key order or its reverse. */
  scan(range: ScanRange): AsyncIterable<ScannedRow>;
}

/**
 * A read-only view of the database.
 * Close it: until then it keeps what it sees from being collected.
 */
export interface Snapshot extends Reader, AsyncDisposable {
  /**
   * The values of some columns of one row, or of all, in one read; a column without a value is
   * absent. All columns are read anew each time.
   */
  getRow(row: RowColumns): Promise<ReadonlyMap<string, Uint8Array>>;
  /** Closing twice is harmless. */
  close(): Promise<void>;
}

const RULES: OptionRules<RowColumns> = { table: TEXT, row: TEXT, columns: TEXTS };

/**
 * The values by column; a column without a value is absent.
 * @throws INVALID_ARGUMENT
 */
export async function getRow(
  reader: Reader,
  wanted: RowColumns,
): Promise<ReadonlyMap<string, Uint8Array>> {
  checkOptions('getRow', wanted, RULES, ['table', 'row']);
  const { table, row, columns } = wanted;
  validateRowKey(row);
  if (columns === undefined) {
    const alone = { table, start: row, end: keyAfter(row), limit: 1 };
    for await (const { values } of reader.scan(alone)) return values;
    return new Map();
  }
  const names = [...columns]; // The caller may use its list again.
  const values = await reader.getMany(names.map((column) => ({ table, row, column })));
  const found = names.map((column, i) => [column, values[i]] as const);
  return new Map(found.filter((one): one is [string, Uint8Array] => one[1] !== undefined));
}
