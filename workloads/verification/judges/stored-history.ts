/**
 * The storage's side of a history, read from a store at rest: every write record, acknowledgment
 * and rollback marker in it; and the locks and notifications that are left, which a database at
 * rest must not have.
 *
 * If garbage was collected, collected-history.ts has the rest.
 */
import {
  type Bigtable,
  type Cell,
  type CellFilter,
  rowBatches,
} from '../../../engine/bigtable/index.ts';
import {
  columnOf,
  everywhere,
  isOf,
  LOCK,
  NOTIFY_FAMILIES,
  notifyTable,
  ROLLBACK,
  WRITE,
} from '../../../engine/transaction/index.ts';
import { decodeWriteRecord } from '../../../engine/transaction/write-record.ts';
import {
  historicCell,
  type HistoricCell,
  type HistoricMarker,
  type HistoricRecord,
} from './history.ts';

/** The contents of write records and rollback markers. */
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
    for await (const [row, cell] of cellsOf(store, table, TRACES)) {
      take(historicCell({ table, row, column: columnOf(cell) }), cell, found);
    }
    for await (const [row, { qualifier }] of cellsOf(store, notifyTable(table), MARKS)) {
      found.marks.push(historicCell({ table, row, column: qualifier }));
    }
  }
  return found;
}

/** @param cells of one row, none of them data */
export function recordedCells(
  table: string,
  row: string,
  cells: readonly Cell[],
): RecordsAndMarkers {
  const found: StoredCells = { records: [], markers: [], locks: [], marks: [] };
  for (const cell of cells) take(historicCell({ table, row, column: columnOf(cell) }), cell, found);
  return found;
}

interface StoredCells {
  readonly records: HistoricRecord[];
  readonly markers: HistoricMarker[];
  readonly locks: HistoricCell[];
  readonly marks: HistoricCell[];
}

function take(cell: HistoricCell, stored: Cell, found: StoredCells): void {
  if (isOf(LOCK, stored)) {
    found.locks.push(cell);
  } else if (isOf(ROLLBACK, stored)) {
    found.markers.push({ cell, startTimestamp: stored.timestamp });
  } else {
    const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(stored);
    found.records.push({ cell, startTimestamp, commitTimestamp, operation });
  }
}

const TRACES = [LOCK, ROLLBACK, WRITE].map(everywhere);
const MARKS = NOTIFY_FAMILIES.map((family) => ({ family }));

/** All cells that pass, with their rows. */
async function* cellsOf(
  store: Bigtable,
  table: string,
  filters: readonly CellFilter[],
): AsyncGenerator<readonly [row: string, Cell]> {
  for await (const { rows } of rowBatches(store, table, {}, filters)) {
    for (const { key: row, cells } of rows) {
      for (const cell of cells) yield [row, cell];
    }
  }
}
