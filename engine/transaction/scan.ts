/**
 * Scan: the rows of a range as the snapshot sees them.
 *
 * Rows are read in batches. Each row is one atomic read; what makes the rows consistent is the
 * snapshot's timestamp, not any atomicity across rows. A row with a lock in the way is read again
 * alone, and its lock is resolved.
 */
import { COUNT, type Kinds, TEXT, TEXTS } from '../base/options.ts';
import { nextStart, type Row } from '../bigtable/index.ts';
import type { Context } from './context.ts';
import {
  committedVersions,
  filtersFor,
  isValueElsewhere,
  pendingLocks,
  snapshotRead,
  type Version,
} from './snapshot-read.ts';
import { type HeldSnapshot, validateRead } from './stale.ts';

export interface ScanRange {
  readonly table: string;
  /** First row, inclusive; default: the first row of the table. */
  readonly start?: string | undefined;
  /** Exclusive; default: the end of the table. */
  readonly end?: string | undefined;
  /** The columns wanted; rows that have none of them are left out. */
  readonly columns: readonly string[];
  /**
   * Rows per read of the storage. Default 128. Too small: a round trip for every few rows. Too
   * large: memory, and work thrown away when the caller stops early.
   */
  readonly batchRows?: number | undefined;
}

export const RANGE_KINDS: Kinds<ScanRange> = {
  table: TEXT,
  start: TEXT,
  end: TEXT,
  columns: TEXTS,
  batchRows: COUNT,
};

/** A row and the values of its columns; a column without a value is absent. */
export interface ScannedRow {
  readonly row: string;
  readonly values: ReadonlyMap<string, Buffer>;
}

const BATCH_ROWS = 128;

export async function* scanSnapshot(
  context: Context,
  range: ScanRange,
  held: HeldSnapshot,
): AsyncGenerator<ScannedRow> {
  const filters = range.columns.flatMap((column) => filtersFor(column, held.startTimestamp));
  const limit = range.batchRows ?? BATCH_ROWS;
  let start: string | undefined = range.start ?? '';
  while (start !== undefined) {
    const batch = { ...range, start, limit };
    const rows = await held.tables.read(range.table, (table) =>
      context.store.readRange(table, batch, filters),
    );
    // Even if no row was found: the rows that are missing may have been collected.
    await validateRead(context, held);
    for (const row of rows) {
      const values = valuesHere(range, row) ?? (await readAgain(context, range, row, held));
      if (values.size > 0) yield { row: row.key, values };
    }
    start = nextStart(rows, limit);
  }
}

/** Undefined if a lock is in the way, or if a value is not among the cells that were read. */
function valuesHere({ columns }: ScanRange, row: Row): ReadonlyMap<string, Buffer> | undefined {
  if (pendingLocks(row).length > 0) return undefined;
  const versions = committedVersions(columns, row.cells);
  const isWithout = versions.some((version, i) => isValueElsewhere(version, columns[i]));
  return isWithout ? undefined : byColumn(columns, versions);
}

async function readAgain(
  context: Context,
  { table, columns }: ScanRange,
  { key }: Row,
  held: HeldSnapshot,
): Promise<ReadonlyMap<string, Buffer>> {
  const { versions } = await held.tables.read(table, (stored) =>
    snapshotRead(context, { table: stored, row: key, columns }, held.startTimestamp),
  );
  await validateRead(context, held);
  return byColumn(columns, versions);
}

function byColumn(
  columns: readonly string[],
  versions: readonly (Version | undefined)[],
): ReadonlyMap<string, Buffer> {
  const values = new Map<string, Buffer>();
  versions.forEach((version, i) => {
    const column = columns[i];
    if (column !== undefined && version?.value !== undefined) values.set(column, version.value);
  });
  return values;
}
