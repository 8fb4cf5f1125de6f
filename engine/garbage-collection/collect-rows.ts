/**
 * Collecting some rows of a table: reading which cells have notifications, erasing what is garbage.
 *
 * Each row is one row mutation, whose order counts (P17). The companion table is read after the
 * row: the notification of a delete is there before the delete, and goes when its observers have
 * run. The row is read once more after that: once the notification is gone, the observers'
 * acknowledgments are there.
 */
import type { Bigtable, CellFilter, Row, RowMutation, Timestamp } from '../bigtable/index.ts';
import { NOTIFY_FAMILIES, notifyTable } from '../transaction/index.ts';
import {
  collectionFilters,
  cutColumns,
  garbageOf,
  hasOneVersionEach,
  hiddenColumns,
  isLegible,
  isUndecided,
  tombstoneColumns,
} from './collect-row.ts';

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
  let erased = await erase(store, await garbageOfRows(store, target, short, VERSIONS_IN_BATCH));
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
    const count = await erase(store, garbage);
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

async function erase(store: Bigtable, garbage: readonly RowMutation[]): Promise<number> {
  const rows = garbage.filter(({ mutations }) => mutations.length > 0);
  if (rows.length > 0) await store.mutateRows(rows);
  return rows.reduce((sum, { mutations }) => sum + mutations.length, 0);
}
