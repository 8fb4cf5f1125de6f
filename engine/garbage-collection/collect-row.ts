/**
 * The garbage of a row, given that no snapshot below the deletion horizon D is needed any more, and
 * how it is erased from some rows of a table (`collectRows`).
 *
 *     write   5  7  9 │ 14        the newest record up to D stays: a snapshot at D sees it
 *             ×  ×    │
 *     data    4  6  8 │ 13        data stays if a record that stays points to it
 *             ×  ×    D = 10
 *
 * - Records above D stay. A hot row has many, and only some of the newest are read.
 *   They can point to two things below D. Touches with no write between D and them point to the
 *   data of the newest record up to D, which stays anyway. The oldest record above D may point to
 *   the data of a transaction that began below D; only the oldest, because two writers of a cell do
 *   not overlap.
 *   So data that a record up to D has brought is judged by the records up to D alone, and data that
 *   no record up to D knows stays as long as there may be unread records above.
 * - If the newest record up to D says that there is no value, it is a tombstone and goes too: after
 *   everything older, or a deleted value would reappear (P17, deletes that erase). It stays as long
 *   as the cell has a notification: an observer that has not run yet must still find the delete,
 *   also the one that a touch names. It stays, too, as long as there is an acknowledgment above D,
 *   so that tombstone and acknowledgment go together.
 * - Rollback records below D go: no copy of a prewrite that they are to stop is in flight any more
 *   (P4; cycle.ts).
 * - Acknowledgments are records without data. If the acknowledged column has no records left, the
 *   newest goes too: for a cell that is written again, an observer does not distinguish a run long
 *   ago from no run.
 * - Records of shared locks up to D go: they stop writers that began before them (P90), and a
 *   transaction that began below D commits nothing.
 * - Data below D that no record points to, and that no lock guards, belongs to no transaction, and
 *   goes.
 * - Locks are never changed here.
 *
 * The row was read a while ago. Below D it has not changed since: locks below are resolved, so no
 * transaction commits there. Above D a transaction may have written since, and may have touched
 * what it sees, but a snapshot above D sees what stays.
 */
import type {
  Bigtable,
  Cell,
  CellFilter,
  Mutation,
  Row,
  RowMutation,
  Timestamp,
} from '../bigtable/index.ts';
import {
  acknowledgedBy,
  placeOf,
  columnOf,
  DATA,
  decodeWriteRecord,
  everywhere,
  isAcknowledgment,
  isOf,
  isOfEngine,
  isSharedLock,
  type CellKind,
  LOCK,
  ROLLBACK,
  WRITE,
  type WriteRecord,
  NOTIFY_FAMILIES,
  notifyTable,
} from '../transaction/index.ts';

/**
 * What to read of a row: of a long column only the newest `versions` above D, and the newest up to
 * D (see `hiddenColumns` and `cutColumns`).
 */
function collectionFilters(deletionHorizon: Timestamp, versions: number): CellFilter[] {
  const below = deletionHorizon - 1;
  return [
    { ...everywhere(LOCK), to: below },
    { ...everywhere(WRITE), from: deletionHorizon + 1, versions },
    { ...everywhere(WRITE), to: deletionHorizon, versions },
    { ...everywhere(ROLLBACK), to: below, versions },
    { ...everywhere(DATA), to: below, versions },
  ];
}

/** The qualifiers whose oldest versions up to D the filters may have left out. */
function cutColumns(
  cells: readonly Cell[],
  deletionHorizon: Timestamp,
  versions: number,
): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const cell of cells) {
    const { qualifier, timestamp } = cell;
    if (isOf(LOCK, cell) || timestamp > deletionHorizon) continue;
    counts.set(qualifier, (counts.get(qualifier) ?? 0) + 1);
  }
  return new Set([...counts].filter(([, count]) => count >= versions).map(([name]) => name));
}

/**
 * The columns whose oldest records above D the filters may have left out;
 * the newest are always read.
 */
function hiddenColumns(
  cells: readonly Cell[],
  deletionHorizon: Timestamp,
  versions: number,
): ReadonlySet<string> {
  const above = cells.filter((cell) => isOf(WRITE, cell) && cell.timestamp > deletionHorizon);
  const counts = Map.groupBy(above, columnOf);
  return new Set([...counts].filter(([, { length }]) => length >= versions).map(([name]) => name));
}

/**
 * Whether a column whose records above D were left out has data below D
 * that no record up to D knows.
 */
export function isUndecided(
  cells: readonly Cell[],
  deletionHorizon: Timestamp,
  hidden: ReadonlySet<string>,
): boolean {
  if (hidden.size === 0) return false;
  const known = new Set(
    cells
      .filter((cell) => isOf(WRITE, cell) && cell.timestamp <= deletionHorizon)
      .map((cell) => `${columnOf(cell)}\0${decodeWriteRecord(cell).dataTimestamp}`),
  );
  return cells.some(
    (cell) => isOf(DATA, cell) && hidden.has(columnOf(cell)) && !known.has(nameOf(cell)),
  );
}

/** The columns whose newest record up to D is a tombstone: there a notification matters. */
function tombstoneColumns(cells: readonly Cell[], deletionHorizon: Timestamp): readonly string[] {
  return [...sortRecords(cells, deletionHorizon)]
    .filter(([, { newest }]) => newest !== undefined && isTombstone(newest))
    .map(([column]) => column);
}

/**
 * Whether every record can be decoded. If one cannot, the row is not collected: it is not known
 * what is garbage there.
 */
function isLegible(cells: readonly Cell[]): boolean {
  try {
    for (const cell of cells) if (isOf(WRITE, cell)) decodeWriteRecord(cell);
    return true;
  } catch {
    return false;
  }
}

/** A row, and what must be known of it besides its cells. */
export interface RowToCollect {
  readonly cells: readonly Cell[];
  /** See `cutColumns`. */
  readonly cut: ReadonlySet<string>;
  /** See `hiddenColumns`. */
  readonly hidden: ReadonlySet<string>;
  /** Columns for which an observer has yet to run, or was parked. */
  readonly waiting: ReadonlySet<string>;
}

/**
 * Whether every column has one version, a value, and nothing else: such a row has no garbage, and
 * most rows are such. Only speed depends on it.
 */
export function hasOneVersionEach(cells: readonly Cell[]): boolean {
  const values = cells.filter((cell) => isOf(DATA, cell));
  const records = cells.filter((cell) => isOf(WRITE, cell));
  const isMore = values.length + records.length < cells.length;
  if (isMore || values.length !== records.length) return false;
  // The filters give values and records in the order of their columns.
  return records.every((cell, i) => {
    const value = values[i];
    const isNext = i === 0 || records[i - 1]?.qualifier !== cell.qualifier;
    if (!isNext || value === undefined || columnOf(value) !== columnOf(cell)) return false;
    return decodeWriteRecord(cell).dataTimestamp === value.timestamp;
  });
}

/** Erasures of the garbage, one cell each, to be applied in this order. */
export function garbageOf(row: RowToCollect, deletionHorizon: Timestamp): readonly Mutation[] {
  const old: Mutation[] = [];
  const tombstones: Mutation[] = [];
  /** Data that a remaining record points to. */
  const used = new Set<string>();
  /** Data whose own record was read. */
  const owned = new Set<string>();
  const columns = new Set<string>();
  const isErasable = erasableRecords(row);
  const staysNotified = columnsWithObservers(row, deletionHorizon);
  for (const [column, { above, newest, older }] of sortRecords(row.cells, deletionHorizon)) {
    const goes =
      newest !== undefined &&
      isTombstone(newest) &&
      !staysNotified.has(column) &&
      // Otherwise something older is still there: a record, or one whose data was not read.
      !row.cut.has(placeOf(WRITE, column).qualifier) &&
      !row.cut.has(placeOf(DATA, column).qualifier);
    if (goes) tombstones.push(erase(WRITE, column, newest.commitTimestamp));
    const staying = goes || newest === undefined ? above : [...above, newest];
    const deletes = new Set(staying.filter(isTombstone).map((record) => record.changedTimestamp));
    for (const record of older) {
      const isNamed = staysNotified.has(column) && deletes.has(record.commitTimestamp);
      if (!isNamed && isErasable(column, record)) {
        old.push(erase(WRITE, column, record.commitTimestamp));
      }
    }
    for (const { dataTimestamp } of staying) used.add(`${column}\0${dataTimestamp}`);
    const isCut = row.cut.has(placeOf(WRITE, column).qualifier);
    for (const { startTimestamp, dataTimestamp } of older) {
      owned.add(`${column}\0${startTimestamp}`);
      // Where all records up to D were read, no older record names this data.
      if (!isCut) owned.add(`${column}\0${dataTimestamp}`);
    }
    if (staying.length > 0) columns.add(column);
  }
  return [
    ...unusedData(row, deletionHorizon, { used, owned }),
    ...oldRollbacks(row.cells, deletionHorizon),
    ...oldSharedLocks(row.cells, deletionHorizon),
    ...old,
    ...tombstones,
    ...oldAcknowledgments(row.cells, deletionHorizon, columns),
  ];
}

/** No record goes before the data that it brought: unread data cannot be erased along with it. */
function erasableRecords({
  cells,
  cut,
}: RowToCollect): (column: string, record: WriteRecord) => boolean {
  const read = new Set(cells.filter((cell) => isOf(DATA, cell)).map(nameOf));
  return (column, { operation, dataTimestamp }) =>
    operation !== 'put' ||
    !cut.has(placeOf(DATA, column).qualifier) ||
    read.has(`${column}\0${dataTimestamp}`);
}

/** Columns whose tombstones observers still need, or whose acknowledgments cannot go with them. */
function columnsWithObservers(
  { cells, waiting }: RowToCollect,
  deletionHorizon: Timestamp,
): ReadonlySet<string> {
  const acknowledged = cells
    .filter((cell) => isOf(WRITE, cell) && cell.timestamp > deletionHorizon)
    .map(columnOf)
    .filter(isAcknowledgment)
    .map((column) => acknowledgedBy(column).column);
  return new Set([...waiting, ...acknowledged]);
}

interface Records {
  readonly above: WriteRecord[];
  /** The newest record up to D. */
  newest: WriteRecord | undefined;
  readonly older: WriteRecord[];
}

/** The write records of each column: of those that users write, or of others. */
function sortRecords(
  cells: readonly Cell[],
  deletionHorizon: Timestamp,
  isWanted = (column: string): boolean => !isOfEngine(column),
): ReadonlyMap<string, Records> {
  const columns = new Map<string, Records>();
  // The filters give each column's records newest first.
  for (const cell of cells) {
    const column = columnOf(cell);
    if (!isOf(WRITE, cell) || !isWanted(column)) continue;
    const records = columns.get(column) ?? { above: [], newest: undefined, older: [] };
    columns.set(column, records);
    const record = decodeWriteRecord(cell);
    if (record.commitTimestamp > deletionHorizon) records.above.push(record);
    else if (records.newest === undefined) records.newest = record;
    else records.older.push(record);
  }
  return columns;
}

/** A delete, or a touch of a cell that had no value. */
function isTombstone({ dataTimestamp }: WriteRecord): boolean {
  return dataTimestamp === 0;
}

/**
 * The data that can go. In a column that was cut, only data whose own record was read: all touches
 * of it are newer than that record. In a column with unread records above D, only data that a
 * record up to D has brought.
 */
function unusedData(
  { cells, cut, hidden }: RowToCollect,
  deletionHorizon: Timestamp,
  { used, owned }: { readonly used: ReadonlySet<string>; readonly owned: ReadonlySet<string> },
): readonly Mutation[] {
  const guarded = new Set(cells.filter((cell) => isOf(LOCK, cell)).map(nameOf));
  return cells
    .filter((cell) => isOf(DATA, cell) && cell.timestamp < deletionHorizon)
    .filter((data) => !used.has(nameOf(data)) && !guarded.has(nameOf(data)))
    .filter(
      (data) =>
        (!cut.has(placeOf(WRITE, columnOf(data)).qualifier) && !hidden.has(columnOf(data))) ||
        owned.has(nameOf(data)),
    )
    .map((data) => erase(DATA, columnOf(data), data.timestamp));
}

function nameOf(cell: Cell): string {
  return `${columnOf(cell)}\0${cell.timestamp}`;
}

function oldRollbacks(cells: readonly Cell[], deletionHorizon: Timestamp): readonly Mutation[] {
  return cells
    .filter((cell) => isOf(ROLLBACK, cell) && cell.timestamp < deletionHorizon)
    .map((rollback) => erase(ROLLBACK, columnOf(rollback), rollback.timestamp));
}

function oldSharedLocks(cells: readonly Cell[], deletionHorizon: Timestamp): readonly Mutation[] {
  return cells
    .filter((cell) => isOf(WRITE, cell) && isSharedLock(columnOf(cell)))
    .filter(({ timestamp }) => timestamp <= deletionHorizon)
    .map((record) => erase(WRITE, columnOf(record), record.timestamp));
}

/** @param columns those that still have records */
function oldAcknowledgments(
  cells: readonly Cell[],
  deletionHorizon: Timestamp,
  columns: ReadonlySet<string>,
): readonly Mutation[] {
  const garbage: Mutation[] = [];
  for (const [column, { newest, older }] of sortRecords(cells, deletionHorizon, isAcknowledgment)) {
    for (const { commitTimestamp } of older) garbage.push(erase(WRITE, column, commitTimestamp));
    const isAboutNothing = !columns.has(acknowledgedBy(column).column);
    if (isAboutNothing && newest !== undefined) {
      garbage.push(erase(WRITE, column, newest.commitTimestamp));
    }
  }
  return garbage;
}

function erase(kind: CellKind, column: string, timestamp: Timestamp): Mutation {
  return { kind: 'erase', ...placeOf(kind, column), from: timestamp, to: timestamp };
}

/*
 * Collecting some rows of a table: reading which cells have notifications, erasing what is garbage.
 *
 * Each row is one row mutation, whose order counts (P17, deletes that erase). The companion table
 * is read after the row: the notification of a delete is there before the delete, and goes when its
 * observers have run. The row is read once more after that: once the notification is gone, the
 * observers' acknowledgments are there.
 */

/** What to collect: everything below the deletion horizon. */
export interface CollectionTarget {
  readonly table: string;
  readonly deletionHorizon: Timestamp;
}

/** Versions of a column read at a time: of many rows at once, and of one row alone. */
const VERSIONS_IN_BATCH = 8;
const VERSIONS_AT_A_TIME = 1_000;
const WAITING = NOTIFY_FAMILIES.map((family) => ({ family, versions: 1 }));

/** What to read of a range of rows that are to be collected. */
export function batchFilters(deletionHorizon: Timestamp): readonly CellFilter[] {
  return collectionFilters(deletionHorizon, VERSIONS_IN_BATCH);
}

/** Collects rows that were read with `batchFilters`. Resolves with the number of cells erased. */
export async function collectRows(
  store: Bigtable,
  target: CollectionTarget,
  rows: readonly Row[],
): Promise<number> {
  const changed = rows.filter(({ cells }) => isLegible(cells) && !hasOneVersionEach(cells));
  const { deletionHorizon } = target;
  const isLong = (row: Row): boolean =>
    cutOf(row, target, VERSIONS_IN_BATCH).size > 0 ||
    isUndecided(
      row.cells,
      deletionHorizon,
      hiddenColumns(row.cells, deletionHorizon, VERSIONS_IN_BATCH),
    );
  const short = changed.filter((row) => !isLong(row));
  let erased = await eraseCells(
    store,
    await garbageOfRows(store, target, short, VERSIONS_IN_BATCH),
  );
  for (const { key } of changed.filter(isLong)) erased += await collectLongRow(store, target, key);
  return erased;
}

/**
 * Collects a row with columns of many versions:
 * some at a time, the newest first, until none up to the deletion horizon is left out, or none that
 * was read can go yet.
 */
async function collectLongRow(
  store: Bigtable,
  target: CollectionTarget,
  key: string,
): Promise<number> {
  const filters = collectionFilters(target.deletionHorizon, VERSIONS_AT_A_TIME);
  for (let erased = 0; ;) {
    const row = await store.readRow(target.table, key, filters);
    if (row === undefined || !isLegible(row.cells)) return erased;
    const garbage = await garbageOfRows(store, target, [row], VERSIONS_AT_A_TIME);
    const count = await eraseCells(store, garbage);
    erased += count;
    if (cutOf(row, target, VERSIONS_AT_A_TIME).size === 0) return erased;
    // What is left cannot be judged before the horizon passes the unread records above it.
    if (count === 0) return erased;
  }
}

function cutOf({ cells }: Row, target: CollectionTarget, versions: number): ReadonlySet<string> {
  return cutColumns(cells, target.deletionHorizon, versions);
}

async function garbageOfRows(
  store: Bigtable,
  target: CollectionTarget,
  rows: readonly Row[],
  versions: number,
): Promise<readonly RowMutation[]> {
  const { table, deletionHorizon } = target;
  const dying = rowsWithTombstones(rows, deletionHorizon);
  const waiting = await readWaiting(store, table, dying);
  const now = await readAgain(store, target, dying, versions);
  return rows.map((before): RowMutation => {
    const { key, cells } = now.get(before.key) ?? before;
    const cut = cutColumns(cells, deletionHorizon, versions);
    const hidden = hiddenColumns(cells, deletionHorizon, versions);
    const known = { cells, cut, hidden, waiting: waiting.get(key) ?? new Set<string>() };
    const mutations = isLegible(cells) ? garbageOf(known, deletionHorizon) : [];
    return { table, row: key, mutations };
  });
}

function rowsWithTombstones(rows: readonly Row[], deletionHorizon: Timestamp): readonly string[] {
  return rows
    .filter(({ cells }) => tombstoneColumns(cells, deletionHorizon).length > 0)
    .map(({ key }) => key);
}

/** The columns of each row for which an observer has yet to run, or was parked. */
async function readWaiting(
  store: Bigtable,
  table: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  if (keys.length === 0) return new Map();
  const rows = await store.readRows(notifyTable(table), keys, WAITING);
  return new Map(
    rows
      .filter((row) => row !== undefined)
      .map(({ key, cells }) => [key, new Set(cells.map(({ qualifier }) => qualifier))]),
  );
}

/**
 * If an observer ran between the two reads,
 * its acknowledgment is in the row and keeps the tombstone.
 */
async function readAgain(
  store: Bigtable,
  { table, deletionHorizon }: CollectionTarget,
  keys: readonly string[],
  versions: number,
): Promise<ReadonlyMap<string, Row>> {
  if (keys.length === 0) return new Map();
  const rows = await store.readRows(table, keys, collectionFilters(deletionHorizon, versions));
  return new Map(rows.flatMap((row) => (row === undefined ? [] : [[row.key, row]])));
}

async function eraseCells(store: Bigtable, garbage: readonly RowMutation[]): Promise<number> {
  const rows = garbage.filter(({ mutations }) => mutations.length > 0);
  if (rows.length > 0) await store.mutateRows(rows);
  return rows.reduce((sum, { mutations }) => sum + mutations.length, 0);
}
