/**
 * Get (Figure 6): the newest version committed before the start timestamp.
 *
 * 1. Check for locks that signal concurrent writes: a lock at or before our start timestamp may
 *    belong to a transaction that commits before it. Resolve it, or wait, and read again.
 * 2. Find the latest write below our start timestamp.
 * 3. Return the data it points to.
 *
 * All three come from one atomic read of the row (P20, reads of different moments): between a read
 * of the writes and one of the locks a transaction could commit, and we would see neither its write
 * nor its lock. But which data to ask for is known only once the write record is. So the read asks
 * for the two newest data versions at or before the snapshot. At most one of them can be newer than
 * the one wanted: two newer versions would mean that two transactions wrote the cell between the
 * same two commits, and one of them lost. (Data of rolled-back transactions does not count: it is
 * erased together with the lock.) The same holds if the write record is a touch, however old the
 * data is that it points to. So data that is not among the two versions has been collected, and the
 * snapshot is stale (`validateRead`).
 *
 * Locks above our start timestamp are ignored: their commit timestamps are above it, too (P19,
 * locks that matter).
 */
import { assert, copyOf, PercolatorError } from '../base/index.ts';
import type { Cell, CellFilter, Row, Timestamp } from '../bigtable/index.ts';
import type { Hold } from '../leases/index.ts';
import type { BoundTables } from './bound-tables.ts';
import {
  type CellAddress,
  columnOf,
  DATA,
  decodeWriteRecord,
  describeCell,
  everywhere,
  isOf,
  isOfEngine,
  LOCK,
  placeOf,
  WRITE,
  type WriteRecord,
} from './columns.ts';
import { backoffMs, type Context } from './context.ts';
import { type Lock, lockIn } from './locks.ts';
import { resolveLock } from './resolve-lock.ts';

/** A committed version of a cell, as a snapshot sees it. */
export interface Version {
  readonly record: WriteRecord;
  /** Undefined if the version is a delete, or if the column is the engine's and has no data. */
  readonly value: Uint8Array | undefined;
}

export interface RowToRead {
  readonly table: string;
  readonly row: string;
  readonly columns: readonly string[];
  /**
   * Columns read ahead, which may be asked for later (reads.ts).
   * Locks at them are left alone.
   */
  readonly alongside?: readonly string[] | undefined;
}

/** What a snapshot sees of a row. */
export interface SeenRow {
  /** One for each column asked for; undefined if the snapshot sees none. */
  readonly versions: readonly (Version | undefined)[];
  /** The read that the versions are from, with the columns read ahead. */
  readonly row: Row | undefined;
}

/** Up to so many columns of a row, a search per column is faster than a map of the cells. */
const FEW_COLUMNS = 32;

/** What the snapshot sees of one row. */
export async function snapshotRead(
  context: Context,
  target: RowToRead,
  startTimestamp: Timestamp,
): Promise<SeenRow> {
  const filters = filtersOf(target, startTimestamp);
  const row = await context.store.readRow(target.table, target.row, filters);
  return seenRow(context, target, { row, filters, startTimestamp });
}

/**
 * What the snapshot sees of several rows of one table, read in one call; each row is still a read
 * of its own. All targets must name the same columns.
 */
export async function snapshotReadRows(
  context: Context,
  targets: readonly RowToRead[],
  startTimestamp: Timestamp,
): Promise<readonly SeenRow[]> {
  const [first] = targets;
  if (first === undefined) return [];
  const filters = filtersOf(first, startTimestamp);
  const keys = targets.map(({ row }) => row);
  const rows = await context.store.readRows(first.table, keys, filters);
  const seen = targets.map((target, i) => {
    try {
      return seenRow(context, target, { row: rows[i], filters, startTimestamp });
    } catch (error) {
      return Promise.reject<SeenRow>(error); // Other rows' promises need a handler, too.
    }
  });
  return seen.every(isSeen) ? seen : Promise.all(seen.map(async (one) => one));
}

function isSeen(seen: SeenRow | Promise<SeenRow>): seen is SeenRow {
  return !(seen instanceof Promise);
}

interface ReadSoFar {
  readonly row: Row | undefined;
  readonly filters: readonly CellFilter[];
  readonly startTimestamp: Timestamp;
}

/**
 * Turns a row that was read into what the snapshot sees. Returns a promise only if a lock is in the
 * way, or data is missing, which is rare.
 */
function seenRow(context: Context, target: RowToRead, read: ReadSoFar): SeenRow | Promise<SeenRow> {
  if (locksInTheWay(target, read.row).length > 0) return seenOnceUnlocked(context, target, read);
  return pickVersions(context, target, read);
}

/** Resolves locks or waits for their owners, and reads again, until no lock is in the way. */
async function seenOnceUnlocked(
  context: Context,
  target: RowToRead,
  { row: first, filters, startTimestamp }: ReadSoFar,
): Promise<SeenRow> {
  const startedMs = context.clock.monotonicMs();
  let row = first;
  for (let attempt = 1; ; attempt++) {
    const locks = locksInTheWay(target, row);
    if (locks.length === 0) return pickVersions(context, target, { row, filters, startTimestamp });
    await resolveOrWait(context, target, locks, { attempt, startedMs });
    row = await context.store.readRow(target.table, target.row, filters);
  }
}

/** The locks at columns that were asked for; no read waits at a column that was only guessed. */
function locksInTheWay({ columns }: RowToRead, row: Row | undefined): readonly Cell[] {
  const locks = pendingLocks(row);
  if (locks.length === 0) return locks;
  const asked = new Set(columns);
  return locks.filter((lock) => asked.has(columnOf(lock)));
}

function filtersOf(
  { columns, alongside = [] }: RowToRead,
  startTimestamp: Timestamp,
): readonly CellFilter[] {
  const [first] = columns;
  if (first !== undefined && columns.length + alongside.length === 1) {
    return filtersFor(first, startTimestamp); // Most reads, without copies of lists.
  }
  return [...columns, ...alongside].flatMap((column) => filtersFor(column, startTimestamp));
}

/** Steps 1 and 2 alone, which say whether there is a value; without a column, of every column. */
export function recordFilters(
  column: string | undefined,
  to: Timestamp,
): [locks: CellFilter, records: CellFilter] {
  const isAll = column === undefined;
  return [
    { ...(isAll ? everywhere(LOCK) : placeOf(LOCK, column)), to, versions: 1 },
    { ...(isAll ? everywhere(WRITE) : placeOf(WRITE, column)), to, versions: 1 },
  ];
}

/** What to read of one column: steps 1, 2 and 3 of the opening comment. */
export function filtersFor(column: string, startTimestamp: Timestamp): CellFilter[] {
  const to = startTimestamp;
  const filters: CellFilter[] = recordFilters(column, to);
  if (!isOfEngine(column)) filters.push({ ...placeOf(DATA, column), to, versions: 2 });
  return filters;
}

/** The locks in a row that was read with the filters above. */
export function pendingLocks(row: Row | undefined): readonly Cell[] {
  return row?.cells.filter((cell) => isOf(LOCK, cell)) ?? [];
}

/**
 * Deals with the locks found in a row. Readers may wait, because they hold nothing that others wait
 * for (P22, waiting with locks).
 * @throws LOCKED if a live transaction's lock is there when the read has waited for locks for
 * longer than `lockWaitMsMax`
 */
async function resolveOrWait(
  context: Context,
  { table, row }: { readonly table: string; readonly row: string },
  locks: readonly Cell[],
  waiting: { readonly attempt: number; readonly startedMs: number },
): Promise<void> {
  let alive: { readonly address: CellAddress; readonly lock: Lock } | undefined;
  // All of them before any wait, so that their ages begin together (P80, many locks of one).
  for (const cell of locks) {
    const address = { table, row, column: columnOf(cell) };
    const lock = lockIn(cell, address);
    if ((await resolveLock(context, address, lock)) === 'alive') alive ??= { address, lock };
  }
  if (alive === undefined) return;
  const { address, lock } = alive;
  const waitedMs = context.clock.monotonicMs() - waiting.startedMs;
  if (waitedMs > context.options.lockWaitMsMax) {
    throw new PercolatorError(
      'LOCKED',
      `${describeCell(address)} is locked by the transaction of ${lock.startTimestamp} ` +
        `(owner ${lock.owner}); the read has waited ${Math.round(waitedMs)} ms for locks`,
    );
  }
  context.counters.lockWaits++;
  await waitForOwner(context, lock, waiting.attempt, context.options.lockWaitMsMax - waitedMs);
}

/**
 * If the lock is of a commit of this process, waits until that commit has ended, but not much
 * longer than `msMax`: the oracle, or a part of the storage, may be unreachable. For another owner,
 * waits for one backoff.
 */
async function waitForOwner(
  context: Context,
  lock: Lock,
  attempt: number,
  msMax: number,
): Promise<void> {
  const { clock, closing, committing } = context;
  const ours = committing.get(lock.startTimestamp);
  if (ours === undefined) return closing.sleep(clock, backoffMs(context, attempt));
  const ended = new AbortController();
  await Promise.race([ours, clock.sleep(msMax + 1, ended.signal)]);
  ended.abort();
}

function pickVersions(
  context: Context,
  target: RowToRead,
  { row, startTimestamp }: ReadSoFar,
): SeenRow | Promise<SeenRow> {
  const cells = row?.cells ?? [];
  const versions = committedVersions(target.columns, cells);
  const isWithout = versions.some((version, i) => isValueElsewhere(version, target.columns[i]));
  return isWithout
    ? withValues(context, target, { versions, row, startTimestamp })
    : { versions, row };
}

async function withValues(
  context: Context,
  target: RowToRead,
  { versions, row, startTimestamp }: SeenRow & { readonly startTimestamp: Timestamp },
): Promise<SeenRow> {
  const complete = await Promise.all(
    target.columns.map((column, i) =>
      withValue(context, { ...target, column, startTimestamp }, versions[i]),
    ),
  );
  return { versions: complete, row };
}

/**
 * Data that is missing among the cells read is looked up once more. If it is not there, the
 * snapshot must be below the horizon.
 * @throws STALE_SNAPSHOT
 */
async function withValue(
  context: Context,
  wanted: CellAddress & { readonly startTimestamp: Timestamp },
  version: Version | undefined,
): Promise<Version | undefined> {
  if (version === undefined || !isValueElsewhere(version, wanted.column)) return version;
  const { record } = version;
  const value = await readData(context, wanted, record);
  if (value === undefined) await refuseBelowHorizon(context, wanted.startTimestamp);
  const place = `${wanted.row}/${wanted.column}@${record.dataTimestamp}`;
  assert(value !== undefined, `a write record above the horizon points to data (${place})`);
  return { record, value };
}

/** By column: its newest committed version among cells that were read with `filtersFor`. */
export function committedVersions(
  columns: readonly string[],
  cells: readonly Cell[],
): readonly (Version | undefined)[] {
  if (columns.length <= FEW_COLUMNS) return columns.map((one) => committedVersion(one, cells));
  const cellsOf = Map.groupBy(cells, columnOf);
  return columns.map((column) => committedVersion(column, cellsOf.get(column) ?? []));
}

/** The newest committed version among cells that were read with `filtersFor`. */
export function committedVersion(column: string, cells: readonly Cell[]): Version | undefined {
  const { qualifier: write } = placeOf(WRITE, column);
  const cell = cells.find(({ qualifier }) => qualifier === write);
  if (cell === undefined) return undefined;
  const record = decodeWriteRecord(cell);
  const { qualifier: own } = placeOf(DATA, column);
  const data = cells.find(
    ({ qualifier, timestamp }) => qualifier === own && timestamp === record.dataTimestamp,
  );
  return { record, value: data && copyOf(data.value) };
}

/** The same as `isValueElsewhere`, for the newest version of a column in a row that was read. */
export function isElsewhere(row: Row | undefined, column: string): boolean {
  return isValueElsewhere(committedVersion(column, row?.cells ?? []), column);
}

/** Whether the version has a value that was not among the cells that were read. */
export function isValueElsewhere(
  version: Version | undefined,
  column: string | undefined,
): boolean {
  if (version === undefined || version.value !== undefined || column === undefined) return false;
  return hasValue(version.record) && !isOfEngine(column);
}

/** Not for columns of the engine, which have no data. */
export function hasValue({ dataTimestamp }: WriteRecord): boolean {
  return dataTimestamp !== 0;
}

async function readData(
  { store }: Context,
  { table, row, column }: CellAddress,
  record: WriteRecord,
): Promise<Uint8Array | undefined> {
  const { dataTimestamp: from } = record;
  const found = await store.readRow(table, row, [{ ...placeOf(DATA, column), from, to: from }]);
  const data = found?.cells[0];
  return data && copyOf(data.value);
}

/*
 * Stale snapshots: what a snapshot must not read because it may have been collected (P31, snapshot
 * loses versions).
 *
 * A transaction whose hold is covered by its process's lease does not have to ask: no collector
 * has come near its snapshot. All others read the horizon after each read, before the result is
 * returned:
 *
 *     read ─▶ covered? ─ yes ─▶ done
 *                      └ no ──▶ horizon at or below S? ─ yes ─▶ done: no version was missing
 *                                                      └ no ──▶ STALE_SNAPSHOT
 *
 * After, not before: the collector persists the horizon before it deletes anything, so a read that
 * missed something is followed by a horizon that says so. Because every read is checked on its own,
 * nothing is left to check when a snapshot is closed.
 *
 * A commit is always checked, covered or not, because the check is free: the horizon comes with the
 * commit timestamp (commit.ts).
 */

/** A transaction's snapshot, its hold on it, and the tables that it sees. */
export interface HeldSnapshot {
  readonly startTimestamp: Timestamp;
  readonly hold: Hold;
  readonly tables: BoundTables;
}

/**
 * Call it after a read, and await the promise before the result is used; undefined if there is
 * nothing to wait for. @throws STALE_SNAPSHOT
 */
export function validateRead(
  context: Context,
  { startTimestamp, hold }: HeldSnapshot,
): Promise<void> | undefined {
  return hold.isCovered() ? undefined : refuseBelowHorizon(context, startTimestamp);
}

/** Reads the horizon. @throws STALE_SNAPSHOT if it is above the snapshot */
export async function refuseBelowHorizon(
  { oracle }: Context,
  startTimestamp: Timestamp,
): Promise<void> {
  refuseStale(startTimestamp, await oracle.readHorizon());
}

export function refuseStale(startTimestamp: Timestamp, horizon: Timestamp): void {
  if (horizon <= startTimestamp) return;
  throw new PercolatorError(
    'STALE_SNAPSHOT',
    `the snapshot at ${startTimestamp} is below the horizon ${horizon}: ` +
      'versions that it sees may have been collected',
  );
}
