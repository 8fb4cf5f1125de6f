/** All rows of a table in a current snapshot, for the checks. */
import type { Percolator } from '#engine';
import type { Row, TableName, TableReader } from '../model/index.ts';
import { decodeRow, decodeRows } from './encoding.ts';
import { copiesOf, isFirstCopy, isInTradeRecord, type Layout, placementOf } from './layout.ts';
import { decodeTradeRecord, rowsIn } from './trade-record.ts';

/**
 * Rows per read. For each read, the official emulator lists and sorts all rows after the first one,
 * so a pass costs the emulator the square of the number of rows, divided by this number. Larger:
 * more memory.
 */
export const BATCH_ROWS = 16_384;

export function snapshotTables(percolator: Percolator, layout: Layout = 'small'): TableReader {
  return {
    rows: async function* <T extends TableName>(table: T): AsyncGenerator<Row<T>> {
      const { table: place, column, isGroup } = placementOf(table);
      await using snapshot = await percolator.snapshot();
      const range = { table: place, columns: [column], batchRows: BATCH_ROWS };
      const copies = copiesOf(table, layout);
      for await (const { row, values } of snapshot.scan(range)) {
        if (!isFirstCopy(row, copies)) continue;
        for (const value of values.values()) {
          if (isGroup) yield* decodeRows(table, value);
          else if (isInTradeRecord(table)) {
            yield* rowsIn(decodeTradeRecord(value), table) as readonly Row<T>[];
          } else yield decodeRow(table, value);
        }
      }
    },
  };
}
