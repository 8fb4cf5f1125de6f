/**
 * One look at a table: all changes that were committed after a place, up to a resolved timestamp,
 * below which nothing will be added any more (P87, change added late).
 *
 *     T from the oracle ──▶ each row, in one read: locks below T, records and data since the place
 *       no lock             ──▶ the records are all that there will ever be at or below T
 *       a lock, owner dead  ──▶ settled, and the row is read again
 *       a lock, owner alive ──▶ the resolved timestamp is at most the lock's
 *
 * Why is that all? A transaction with C at or below T had all its locks in the storage when C was
 * asked for (P10), so before T was handed out, and T is older than every read of the look. Whatever
 * removes a lock puts in its place a record, or what makes sure that there will be none; and the
 * lock and the record are seen in one read (P20). So the look meets one of them. A transaction that
 * locks a cell after it was read asks for its commit timestamp later, and gets one above T. Where
 * the process stops for an hour, between the timestamp and the rows or in the middle of them, only
 * the garbage collection can have gone on: see the end.
 *
 * A live owner is not waited for. Its C is above its S, so all changes up to S are complete, and
 * the next look sees more.
 *
 * A store that knows which rows are old (`skipsOldRows`) passes over those that have nothing newer
 * than the place. Their locks may be older still, so the filter of locks has a bound of its own
 * (P88, old lock, new change).
 *
 * At most `bytesMax` are kept in memory, those that were committed first: then the look ends before
 * T, and the next one goes on from there. That reads the table again, so the bound is high.
 *
 * The look does not check the horizon. Its caller does, before it uses what was found (P89).
 */
import { assert, copyOf, PercolatorError } from '../base/index.ts';
import { type CellFilter, type Row, rowBatches, type Timestamp } from '../bigtable/index.ts';
import {
  columnOf,
  type Context,
  DATA,
  decodeWriteRecord,
  everywhere,
  type Incarnation,
  isAcknowledgment,
  isOf,
  isOfEngine,
  LOCK,
  lockIn,
  placeOf,
  refuseBelowHorizon,
  resolveLock,
  WRITE,
  type WriteRecord,
} from '../transaction/index.ts';
import { comparePlaces, type Place } from './place.ts';

/** The part of a table that is looked at. */
export interface Scope {
  /** The storage's name of the table. */
  readonly stored: string;
  /** First row, inclusive, and the row before which it ends; default: the whole table. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  /** Default: all that users write. */
  readonly columns?: readonly string[] | undefined;
  /** Whether acknowledgments of observers are wanted as well. Default false. */
  readonly acknowledgments?: boolean | undefined;
}

/** A value that was committed, or a delete. */
export interface FoundChange {
  readonly row: string;
  readonly column: string;
  readonly record: WriteRecord;
  /** Undefined for a delete, and for an acknowledgment. */
  readonly value: Uint8Array | undefined;
}

/** What to look for. */
export interface Search {
  /** The changes after it are wanted. */
  readonly after: Place;
  /** Handed out before the look; no change above it is reported. */
  readonly upTo: Timestamp;
  /** Locks below it belong to transactions that will not commit (P88). */
  readonly locksFrom: Timestamp;
  readonly bytesMax: number;
}

export interface Sight {
  /** In order. */
  readonly changes: readonly FoundChange[];
  /** All changes up to this place have been found, and no other one will be added before it. */
  readonly resolved: Place;
  /** Locks below it that the look has met are settled. */
  readonly settledBelow: Timestamp;
}

export async function look(context: Context, scope: Scope, search: Search): Promise<Sight> {
  const found = new Found(search);
  const filters = filtersFor(scope, search);
  const { stored, start, end } = scope;
  for await (const { rows } of rowBatches(context.store, stored, { start, end }, filters)) {
    for (const row of rows) {
      const settled = await settle(context, { stored, filters, found }, row);
      for (const change of changesOf(scope, settled)) found.add(change);
    }
  }
  const sight = found.take();
  return { ...sight, changes: await withValues(context, scope, sight.changes, search.after) };
}

/**
 * Data of transactions that began before the place is not asked for: a row would bring all of its
 * versions (see `withValues`).
 */
function filtersFor({ columns }: Scope, { after, upTo: to, locksFrom }: Search): CellFilter[] {
  const from = after.row === undefined ? after.timestamp + 1 : after.timestamp;
  const locks = { from: locksFrom, to };
  if (columns === undefined) {
    return [
      { ...everywhere(LOCK), ...locks },
      { ...everywhere(WRITE), from, to },
      { ...everywhere(DATA), from, to },
    ];
  }
  return columns.flatMap((column) => [
    { ...placeOf(LOCK, column), ...locks },
    { ...placeOf(WRITE, column), from, to },
    { ...placeOf(DATA, column), from, to },
  ]);
}

/**
 * Settles what locks the row, and reads it again. What is still locked, or again, counts as alive:
 * its transaction commits above its S.
 */
async function settle(
  context: Context,
  by: {
    readonly stored: string;
    readonly filters: readonly CellFilter[];
    readonly found: Found;
  },
  row: Row,
): Promise<Row | undefined> {
  const { stored, filters, found } = by;
  let isChanged = false;
  for (const cell of locksIn(row)) {
    const address = { table: stored, row: row.key, column: columnOf(cell) };
    const lock = lockIn(cell, address);
    if (found.isAlive(lock.startTimestamp)) continue;
    if ((await resolveLock(context, address, lock)) === 'alive') found.meet(lock.startTimestamp);
    else isChanged = true;
  }
  if (!isChanged) return row;
  const again = await context.store.readRow(stored, row.key, filters);
  for (const { timestamp } of locksIn(again)) found.meet(timestamp);
  return again;
}

export function locksIn(row: Row | undefined): Row['cells'] {
  return row?.cells.filter((cell) => isOf(LOCK, cell)) ?? [];
}

function changesOf({ acknowledgments = false }: Scope, row: Row | undefined): FoundChange[] {
  if (row === undefined) return [];
  const data = new Map<string, Uint8Array>();
  for (const cell of row.cells) {
    if (isOf(DATA, cell)) data.set(`${cell.timestamp} ${columnOf(cell)}`, cell.value);
  }
  return row.cells.flatMap((cell) => {
    const column = columnOf(cell);
    const isWanted = !isOfEngine(column) || (acknowledgments && isAcknowledgment(column));
    if (!isOf(WRITE, cell) || !isWanted) return [];
    const record = decodeWriteRecord(cell);
    if (record.operation === 'touch') return []; // It changes nothing.
    return { row: row.key, column, record, value: data.get(`${record.dataTimestamp} ${column}`) };
  });
}

/** The first changes after the place that fit into the memory, and how far they are complete. */
class Found {
  readonly #after: Place;
  readonly #bytesMax: number;
  readonly #alive = new Set<Timestamp>();
  #upTo: Timestamp;
  #changes: FoundChange[] = [];
  #bytes = 0;
  /** The last change that was kept when others were thrown away. */
  #last: Place | undefined;

  constructor({ after, upTo, bytesMax }: Search) {
    this.#after = after;
    this.#upTo = upTo;
    this.#bytesMax = bytesMax;
  }

  isAlive(startTimestamp: Timestamp): boolean {
    return this.#alive.has(startTimestamp);
  }

  /** Notes the lock of a transaction that may yet commit. */
  meet(startTimestamp: Timestamp): void {
    this.#alive.add(startTimestamp);
    // A lock that is older than the place came since (P88): it commits after what was seen there.
    this.#upTo = Math.max(this.#after.timestamp, Math.min(this.#upTo, startTimestamp));
  }

  add(change: FoundChange): void {
    const place = placeAfter(change);
    const isAbove = change.record.commitTimestamp > this.#upTo;
    if (isAbove || comparePlaces(place, this.#after) <= 0) return;
    if (this.#last !== undefined && comparePlaces(place, this.#last) > 0) return;
    this.#changes.push(change);
    this.#bytes += bytesOf(change);
    if (this.#bytes > 2 * this.#bytesMax) this.#cut();
  }

  take(): Sight {
    if (this.#bytes > this.#bytesMax) this.#cut();
    const upTo = { timestamp: this.#upTo };
    const changes = this.#sorted().filter(({ record }) => record.commitTimestamp <= this.#upTo);
    const isCut = this.#last !== undefined && comparePlaces(this.#last, upTo) < 0;
    const resolved = isCut && this.#last !== undefined ? this.#last : upTo;
    // A loop, because `Math.min` does not take arguments without limit.
    let settledBelow = resolved.timestamp;
    for (const startTimestamp of this.#alive) settledBelow = Math.min(settledBelow, startTimestamp);
    return { changes, resolved, settledBelow };
  }

  /** Keeps the first half, and at least one. */
  #cut(): void {
    const kept: FoundChange[] = [];
    let bytes = 0;
    for (const change of this.#sorted()) {
      if (kept.length > 0 && bytes + bytesOf(change) > this.#bytesMax) break;
      kept.push(change);
      bytes += bytesOf(change);
    }
    const last = kept.at(-1);
    assert(last !== undefined, 'what is cut is not empty');
    this.#last = placeAfter(last);
    this.#changes = kept;
    this.#bytes = bytes;
  }

  #sorted(): readonly FoundChange[] {
    return this.#changes.toSorted((a, b) => comparePlaces(placeAfter(a), placeAfter(b)));
  }
}

/** What one change takes in memory besides its texts and its value, roughly. */
const CHANGE_BYTES = 200;

function bytesOf({ row, column, value }: FoundChange): number {
  return CHANGE_BYTES + row.length + column.length + (value?.length ?? 0);
}

export function placeAfter({ row, column, record }: FoundChange): Place {
  return { timestamp: record.commitTimestamp, row, column };
}

/** Looks up the values of transactions that began before the place, each by its exact timestamp. */
async function withValues(
  context: Context,
  { stored }: Scope,
  changes: readonly FoundChange[],
  after: Place,
): Promise<readonly FoundChange[]> {
  const complete: FoundChange[] = [];
  for (const change of changes) {
    const { row, column, record, value } = change;
    const hasData = record.operation === 'put' && !isOfEngine(column);
    const own = value ?? (hasData ? await readData(context, stored, change) : undefined);
    if (hasData && own === undefined) await refuseBelowHorizon(context, after.timestamp);
    assert(!hasData || own !== undefined, `a record above the horizon has data (${row}/${column})`);
    complete.push({ ...change, value: own && copyOf(own) });
  }
  return complete;
}

export async function readData(
  { store }: Context,
  stored: string,
  { row, column, record }: Pick<FoundChange, 'row' | 'column' | 'record'>,
): Promise<Uint8Array | undefined> {
  const { dataTimestamp: from } = record;
  const found = await store.readRow(stored, row, [{ ...placeOf(DATA, column), from, to: from }]);
  return found?.cells[0]?.value;
}

/**
 * The value that was in a cell before a change of it: that of the newest record below the change's.
 * Undefined if there was none. It is there as long as the horizon is not above the place from which
 * the change was read: what a snapshot at that place sees stays, and all that is newer.
 */
export async function valueBefore(
  context: Context,
  scope: Scope,
  { row, column, record }: FoundChange,
): Promise<Uint8Array | undefined> {
  const newest = { ...placeOf(WRITE, column), to: record.commitTimestamp - 1, versions: 1 };
  const found = await context.store.readRow(scope.stored, row, [newest]);
  const [cell] = found?.cells ?? [];
  if (cell === undefined) return undefined;
  const before = decodeWriteRecord(cell);
  if (before.dataTimestamp === 0) return undefined;
  const data = await readData(context, scope.stored, { row, column, record: before });
  return data && copyOf(data);
}

/** @throws TABLE_NOT_FOUND */
export async function findTable(
  { catalog }: Context,
  table: string,
): Promise<Pick<Incarnation, 'stored' | 'createdAt'>> {
  if (catalog === undefined) return { stored: table, createdAt: 0 };
  const [present] = await catalog.look([table]);
  if (present !== undefined) return present;
  throw new PercolatorError('TABLE_NOT_FOUND', `there is no Percolator table ${table}`);
}
