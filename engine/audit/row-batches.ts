/**
 * The rows of a range in batches of bounded size.
 *
 * How many cells a row has is known only after it has been read. So each batch has as many rows as
 * would, at the size of the previous rows, have about the wanted number of cells.
 */
import type { Bigtable, CellFilter, Row, RowRange } from '../bigtable/index.ts';

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
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) {
      yield { rows, range: { start, end: range.end } };
      return;
    }
    const end = `${last.key}\0`; // The first key after the last row.
    yield { rows, range: { start, end } };
    start = end;
    const cells = rows.reduce((sum, row) => sum + row.cells.length, 0);
    const wanted = Math.floor((rows.length * CELLS_WANTED) / cells);
    limit = Math.min(ROWS_MAX, Math.max(1, wanted));
  }
}
