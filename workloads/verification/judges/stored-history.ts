/**
 * The storage's side of a history, read from a store at rest: every write record, acknowledgment
 * and rollback marker in it; and the locks and notifications that are left, which a database at
 * rest must not have.
 *
 * If garbage was collected, collected-history.ts has the rest.
 */
import { type Bigtable, type Cell, rowBatches } from '../../../engine/bigtable/index.ts';
import { NOTIFY_FAMILIES, notifyTable, TABLE_FAMILIES } from '../../../engine/transaction/index.ts';
import { decodeWriteRecord } from '../../../engine/transaction/write-record.ts';
import {
  historicCell,
  type HistoricCell,
  type HistoricMarker,
  type HistoricRecord,
} from './history.ts';

/** The contents of cells of the families `write`, `ack` and `rollback`. */
export interface RecordsAndMarkers {
  readonly records: readonly HistoricRecord[];
  readonly markers: readonly HistoricMarker[];
}

export interface StoredHistory extends RecordsAndMarkers {
  /** Cells that are locked. */
  readonly locks: readonly HistoricCell[];
  /** Cells with notifications, strong, weak or parked: once for each mark. */
  readonly marks: readonly HistoricCell[];
}

export async function readStoredHistory(
  store: Bigtable,
  tables: readonly string[],
): Promise<StoredHistory> {
  const found: StoredCells = { records: [], markers: [], locks: [], marks: [] };
  for (const table of tables) {
    const families = TABLE_FAMILIES.filter((family) => family !== 'data');
    for await (const [cell, stored] of cellsOf(store, table, families)) {
      take(historicCell({ table, ...cell }), stored, found);
    }
    for await (const [cell] of cellsOf(store, notifyTable(table), NOTIFY_FAMILIES)) {
      found.marks.push(historicCell({ table, ...cell }));
    }
  }
  return found;
}

/** @param cells of one row, of any families but `data` */
export function recordedCells(
  table: string,
  row: string,
  cells: readonly Cell[],
): RecordsAndMarkers {
  const found: StoredCells = { records: [], markers: [], locks: [], marks: [] };
  for (const cell of cells) take(historicCell({ table, row, column: cell.qualifier }), cell, found);
  return found;
}

interface StoredCells {
  readonly records: HistoricRecord[];
  readonly markers: HistoricMarker[];
  readonly locks: HistoricCell[];
  readonly marks: HistoricCell[];
}

function take(cell: HistoricCell, stored: Cell, found: StoredCells): void {
  switch (stored.family) {
    case 'lock':
      found.locks.push(cell);
      break;
    case 'rollback':
      found.markers.push({ cell, startTimestamp: stored.timestamp });
      break;
    default: {
      const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(stored);
      found.records.push({ cell, startTimestamp, commitTimestamp, operation });
    }
  }
}

/** All cells of the families, with their addresses except the table. */
async function* cellsOf(
  store: Bigtable,
  table: string,
  families: readonly string[],
): AsyncGenerator<readonly [{ readonly row: string; readonly column: string }, Cell]> {
  const filters = families.map((family) => ({ family }));
  for await (const { rows } of rowBatches(store, table, {}, filters)) {
    for (const { key: row, cells } of rows) {
      for (const cell of cells) yield [{ row, column: cell.qualifier }, cell];
    }
  }
}
