/**
 * Range scans: a read of a range has a limit of rows, so a scan reads batch after batch, each from
 * the first key after the last row of the batch before.
 *
 *     start ... last row │ first key after it ... last row │ ... │ fewer rows than the limit: the end
 *
 * How many cells a row has is known only after it has been read. So each batch of `rowBatches` has
 * as many rows as would, at the size of the previous rows, have about the wanted number of cells.
 */
import type { Bigtable, CellFilter, Row, RowRange } from './bigtable.ts';

export interface RowBatch {
  readonly rows: readonly Row[];
  /** The range that the batch covers: its rows are all the rows in that range. */
  readonly range: RowRange;
}

const CELLS_WANTED = 4_096;
const ROWS_FIRST = 64;
const ROWS_MAX = 1_024;

/** Covers the whole range, also where there are no rows: the last batch may have none. */
export async function* rowBatches(
  store: Bigtable,
  table: string,
  range: RowRange,
  filters: readonly CellFilter[],
): AsyncGenerator<RowBatch> {
  let { start } = range;
  let limit = ROWS_FIRST;
  for (;;) {
    const rows = await store.readRange(table, { ...range, start, limit }, filters);
    const next = nextStart(rows, limit);
    yield { rows, range: { start, end: next ?? range.end } };
    if (next === undefined) return;
    start = next;
    const cells = rows.reduce((sum, row) => sum + row.cells.length, 0);
    const wanted = Math.floor((rows.length * CELLS_WANTED) / cells);
    limit = Math.min(ROWS_MAX, Math.max(1, wanted));
  }
}

/**
 * Where a scan goes on after `rows`, which were read with `limit`; undefined at the end of the
 * range.
 */
export function nextStart(rows: readonly Row[], limit: number): string | undefined {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? undefined : keyAfter(last.key);
}

/** The first key after `key`, in the order of keys. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}
