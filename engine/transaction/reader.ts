/**
 * What can be read, and in what: in a transaction, and in a read-only snapshot.
 *
 * A function of a user that only reads takes a `Reader`, and works in both.
 */
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
  /** The rows of a range, of a prefix or of the table, in key order. */
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
