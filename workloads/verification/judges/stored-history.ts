/**
 * The storage's side of a history, read from a store at rest: every write record, acknowledgment
 * and rollback record in it; and the locks and notifications that are left, which a database at
 * rest must not have.
 *
 * The other half is what collectors have erased meanwhile: `observeCollection`.
 */
import {
  type Bigtable,
  type Cell,
  type CellFilter,
  decorate,
  type Mutation,
  rowBatches,
  type RowMutation,
} from '../../../engine/bigtable/index.ts';
import { decodeWriteRecord } from '../../../engine/transaction/columns.ts';
import {
  CELLS,
  columnOf,
  everywhere,
  isOf,
  LOCK,
  NOTIFY_FAMILIES,
  notifyTable,
  ROLLBACK,
  WRITE,
} from '../../../engine/transaction/index.ts';
import {
  historicCell,
  type HistoricCell,
  type HistoricRecord,
  type HistoricRollback,
} from './history.ts';

/** The contents of write records and rollback records. */
export interface RecordsAndRollbacks {
  readonly records: readonly HistoricRecord[];
  readonly rollbacks: readonly HistoricRollback[];
}

export interface StoredHistory extends RecordsAndRollbacks {
  /** Cells that are locked. */
  readonly locks: readonly HistoricCell[];
  /** Cells with notifications, strong, weak or parked: once for each notification. */
  readonly notifications: readonly HistoricCell[];
}

export async function readStoredHistory(
  store: Bigtable,
  tables: readonly string[],
): Promise<StoredHistory> {
  const found: StoredCells = { records: [], rollbacks: [], locks: [], notifications: [] };
  for (const table of tables) {
    for await (const [row, cell] of cellsOf(store, table, TRACES)) {
      take(historicCell({ table, row, column: columnOf(cell) }), cell, found);
    }
    for await (const [row, { qualifier }] of cellsOf(store, notifyTable(table), NOTIFICATIONS)) {
      found.notifications.push(historicCell({ table, row, column: qualifier }));
    }
  }
  return found;
}

/** @param cells of one row, none of them data */
function recordedCells(table: string, row: string, cells: readonly Cell[]): RecordsAndRollbacks {
  const found: StoredCells = { records: [], rollbacks: [], locks: [], notifications: [] };
  for (const cell of cells) take(historicCell({ table, row, column: columnOf(cell) }), cell, found);
  return found;
}

interface StoredCells {
  readonly records: HistoricRecord[];
  readonly rollbacks: HistoricRollback[];
  readonly locks: HistoricCell[];
  readonly notifications: HistoricCell[];
}

function take(cell: HistoricCell, stored: Cell, found: StoredCells): void {
  if (isOf(LOCK, stored)) {
    found.locks.push(cell);
  } else if (isOf(ROLLBACK, stored)) {
    found.rollbacks.push({ cell, startTimestamp: stored.timestamp });
  } else {
    const { startTimestamp, commitTimestamp, operation } = decodeWriteRecord(stored);
    found.records.push({ cell, startTimestamp, commitTimestamp, operation });
  }
}

const TRACES = [LOCK, ROLLBACK, WRITE].map(everywhere);
const NOTIFICATIONS = NOTIFY_FAMILIES.map((family) => ({ family }));

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

/*
 * The part of a history that the storage no longer has: the write records, acknowledgments and
 * rollback records that collectors have erased. Together with the cells still stored at the end
 * that is all the storage ever had, so a history is judged exactly although
 * garbage was collected meanwhile.
 *
 *     collector asks to erase cells ─▶ read them ─▶ call the listener ─▶ erase them
 *
 * A process that dies after the call of the listener leaves records that are both reported and
 * stored, or reported again by the next collector. The judges accept a record that they see twice.
 * Only blind mutations are checked: no conditional mutation erases records or rollback records.
 */

type Erasure = Extract<Mutation, { readonly kind: 'erase' }>;

/**
 * The same store, except that `listener` is called with the records and rollback records of each
 * row before they are erased. If it throws, nothing of the call's garbage is erased.
 */
export function observeCollection(
  store: Bigtable,
  listener: (collected: RecordsAndRollbacks) => void,
): Bigtable {
  const collect = async (rows: readonly RowMutation[]): Promise<void> => {
    for (const collected of await Promise.all(rows.map((row) => readErased(store, row)))) {
      listener(collected);
    }
    await store.mutateRows(rows);
  };
  return decorate(store, {
    async mutateRows(rows) {
      const collecting = rows.filter((row) => erasuresOf(row).length > 0);
      if (collecting.length === 0) return store.mutateRows(rows);
      // Other rows are sent at once: a store that keeps the order of mutations must still do so.
      const others = rows.filter((row) => !collecting.includes(row));
      await Promise.all([others.length > 0 && store.mutateRows(others), collect(collecting)]);
    },
  });
}

/** The records and rollback records that the mutation would erase. */
async function readErased(store: Bigtable, mutation: RowMutation): Promise<RecordsAndRollbacks> {
  const { table, row } = mutation;
  const erasures = erasuresOf(mutation);
  const found = await store.readRow(table, row, filtersOf(erasures));
  const erased = (found?.cells ?? []).filter(({ family, qualifier, timestamp }) =>
    erasures.some(
      ({ from, to, ...column }) =>
        column.family === family &&
        column.qualifier === qualifier &&
        from <= timestamp &&
        timestamp <= to,
    ),
  );
  return recordedCells(table, row, erased);
}

function erasuresOf({ mutations }: RowMutation): readonly Erasure[] {
  return mutations
    .filter((mutation) => mutation.kind === 'erase')
    .filter((one) => one.family === CELLS && (isOf(WRITE, one) || isOf(ROLLBACK, one)));
}

/** One filter for each column: a row may have thousands of old versions. */
function filtersOf(erasures: readonly Erasure[]): readonly CellFilter[] {
  const columns = Map.groupBy(erasures, ({ family, qualifier }) => `${family}\0${qualifier}`);
  return [...columns.values()].flatMap((ofColumn) => {
    const [first] = ofColumn;
    if (first === undefined) return [];
    const from = ofColumn.reduce((least, one) => Math.min(least, one.from), first.from);
    const to = ofColumn.reduce((most, one) => Math.max(most, one.to), first.to);
    return [{ family: first.family, qualifier: first.qualifier, from, to }];
  });
}
