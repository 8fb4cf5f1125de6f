/**
 * Bulk load: fills new tables with committed data, without locks.
 *
 * It writes what one enormous transaction would have left, so it is for tables that have no readers
 * or writers yet. It is not a transaction: if the process dies half way, half of the data is there;
 * drop the tables and load them again.
 *
 * A load has two moments: cells with `derived` are committed after all others, as if observers had
 * written them. The acknowledgments are committed with these, and therefore say that the observed
 * cells have been seen. An observed cell that no observer has acknowledged is notified, as any
 * change of it would be (P57, lost notification): its observers will run. Notifications go with the
 * batch after that of their rows: a worker that already runs would find nothing at a notification
 * without its row, and clear it.
 */
import { assert } from './base/index.ts';
import { check, FLAG, type OptionRule, LIST, objectWith, TEXT } from './base/options.ts';
import { type Mutation, ownBytes, type RowMutation } from './bigtable/index.ts';
import type { Percolator } from './percolator.ts';
import { findIncarnation, StoredCatalog } from './tables/index.ts';
import {
  acknowledgmentColumn,
  checkCellsOfRow,
  checkUserColumn,
  committedCell,
  type CommitTimes,
  commitTimes,
  type Incarnation,
  NOTIFY,
  notifyTable,
} from './transaction/index.ts';

export interface BulkCell {
  readonly column: string;
  readonly value: Uint8Array;
  /** Committed in the second moment, as the work of observers. Default false. */
  readonly derived?: boolean | undefined;
}

export interface BulkLoader {
  /**
   * Adds a row, of which it takes a copy at once (P76, caller's bytes change); waits when enough is
   * in flight. Rows in key order load fastest.
   * @throws TABLE_NOT_FOUND, INVALID_ARGUMENT for a row that is ill-formed or has a column of the
   *   engine, and the storage's error if an earlier batch failed
   */
  add(row: BulkRow): Promise<void>;
  /**
   * Resolves when all added rows are as durable as the storage makes them.
   * @throws the storage's error if a batch failed
   */
  finish(): Promise<void>;
}

export interface BulkRow {
  readonly table: string;
  readonly row: string;
  readonly cells: readonly BulkCell[];
  /**
   * Observers that count as having run, each for the column of this row that is named with it. The
   * cell in such a column is not notified, unless it is `derived`.
   */
  readonly acknowledged?: readonly { readonly observer: string; readonly column: string }[];
}

const ROW = objectWith('an object with the texts table and row, and a list of cells', {
  table: TEXT,
  row: TEXT,
  cells: LIST,
});
const CELL = objectWith('an object with a column and a value', {});
const OBSERVED = objectWith('', { observer: TEXT, column: TEXT });
const ACKNOWLEDGED: OptionRule = {
  expected: 'a list of objects with the texts observer and column',
  accepts: (value) => Array.isArray(value) && value.every(OBSERVED.accepts),
};

/** Row mutations, those of notifications included, per call of the storage. */
const BATCH_ROWS = 1_000;

/** Opens a loader, which takes the timestamps of both moments now. */
export async function openBulkLoader(percolator: Percolator): Promise<BulkLoader> {
  const first = await nextCommitTimes(percolator);
  const second = await nextCommitTimes(percolator);
  assert(second.startTimestamp > first.commitTimestamp, 'the second moment sees the first');
  const catalog = new StoredCatalog(percolator.store, { drops: 0 }); // Asked for names only.
  const tables = new Map<string, Incarnation>();
  let batch: RowMutation[] = [];
  /** Those of the rows in `batch`. */
  let notifications: RowMutation[] = [];
  let sending: Promise<void> = Promise.resolve();

  /** One batch is in flight while the next one gathers. */
  async function send(): Promise<void> {
    const [before, full] = [sending, batch];
    [batch, notifications] = [notifications, []];
    sending = before.then(() => percolator.store.mutateRows(full));
    sending.catch(() => {}); // The next `add` that sends, or `finish`, reports it.
    await before;
  }

  return {
    add: async (given) => {
      const row = takenOver(given);
      // The first row's incarnation is used for all: later rows must not end up in a newer one.
      const found = tables.get(row.table) ?? (await findIncarnation(catalog, row.table));
      const table = tables.get(row.table) ?? found;
      tables.set(row.table, table);
      const stored = { ...row, table: table.stored };
      notifications.push(...notificationsOf(stored, table.observedColumns, { first, second }));
      batch.push(rowMutation(stored, first, second));
      if (batch.length >= BATCH_ROWS) await send();
    },
    finish: async () => {
      await send();
      await send(); // The notifications of the last rows.
      await sending;
    },
  };
}

/**
 * A copy of the row: the caller may use its objects and bytes again. A program without types can
 * pass anything, and the storage would keep it as if it were bytes.
 */
function takenOver(given: BulkRow): BulkRow {
  check('a row of a bulk load', given, ROW);
  const { table, row, acknowledged = [] } = given;
  const cells = given.cells.map((cell): BulkCell => {
    check('a cell of a bulk load', cell, CELL);
    const { column, value, derived = false } = cell;
    check('a column of a bulk load', column, TEXT);
    checkUserColumn(column);
    check('derived of a bulk load', derived, FLAG);
    return { column, value: ownBytes('a value of a bulk load', value), derived };
  });
  check('acknowledged of a bulk load', acknowledged, ACKNOWLEDGED);
  checkCellsOfRow(given, cells.length + acknowledged.length);
  const seen = acknowledged.map(({ observer, column }) => ({ observer, column }));
  return { table, row, cells, acknowledged: seen };
}

function rowMutation(
  { table, row, cells, acknowledged = [] }: BulkRow,
  first: CommitTimes,
  second: CommitTimes,
): RowMutation {
  const values = cells.flatMap(({ column, value, derived }) =>
    committedCell(column, value, derived === true ? second : first),
  );
  const acknowledgments = acknowledged.flatMap(({ observer, column }) =>
    committedCell(acknowledgmentColumn(observer, column), new Uint8Array(), second),
  );
  return { table, row, mutations: [...values, ...acknowledgments] };
}

/**
 * Notifies the observed cells that no observer has acknowledged, and all `derived` ones: these are
 * committed after the observers' runs.
 */
function notificationsOf(
  { table, row, cells, acknowledged = [] }: BulkRow,
  observed: ReadonlySet<string>,
  { first, second }: { readonly first: CommitTimes; readonly second: CommitTimes },
): readonly RowMutation[] {
  const seen = new Set(acknowledged.map(({ column }) => column));
  const mutations = cells
    .filter(({ column, derived }) => observed.has(column) && (derived || !seen.has(column)))
    .map(({ column: qualifier, derived }): Mutation => {
      const { commitTimestamp: timestamp } = derived === true ? second : first;
      return { kind: 'set', family: NOTIFY, qualifier, timestamp, value: new Uint8Array() };
    });
  return mutations.length === 0 ? [] : [{ table: notifyTable(table), row, mutations }];
}

/** A start and a commit timestamp, both handed out now, in this order. */
async function nextCommitTimes(percolator: Percolator): Promise<CommitTimes> {
  await using first = await percolator.snapshot();
  await using second = await percolator.snapshot();
  return commitTimes(first.startTimestamp, second.startTimestamp);
}
