/**
 * Scan: the rows of a range as the snapshot sees them, with what the transaction itself has
 * written.
 *
 * Rows are read in batches. Each row is one atomic read; what makes the rows consistent is the
 * snapshot's timestamp, not any atomicity across rows. A row with a lock in the way is read again
 * alone, and its lock is resolved.
 *
 * A process that died may have left many locks, and each seems alive for its time to live. So while
 * the scan waits for one of them, it looks at all those that are still to come (P80, many locks of
 * one).
 */
import { compareTexts, copyOf, unlessAborted } from '../base/index.ts';
import {
  type Cell,
  type RangeRead,
  rangeBehind,
  restOf,
  type Row,
  rowBatches,
} from '../bigtable/index.ts';
import { columnOf } from './columns.ts';
import type { Context } from './context.ts';
import { readLock } from './locks.ts';
import { quietly, resolveLock } from './resolve-lock.ts';
import { type CheckedRange, columnsOf, filtersOfRange, isOfColumns } from './scan-range.ts';
import {
  committedVersions,
  hasValue,
  type HeldSnapshot,
  isValueElsewhere,
  pendingLocks,
  recordFilters,
  snapshotRead,
  validateRead,
  type Version,
} from './snapshot-read.ts';
import type { Write, WriteBuffer } from './writes.ts';

/** A row and the values of its columns; a column without a value is absent. */
export interface ScannedRow {
  readonly row: string;
  readonly values: ReadonlyMap<string, Uint8Array>;
}

async function* scanSnapshot(
  context: Context,
  range: CheckedRange,
  held: HeldSnapshot,
): AsyncGenerator<ScannedRow> {
  const { start, end, reverse, signal } = range;
  const filters = filtersOfRange(range, held.startTimestamp);
  const limit = Math.min(range.batchRows, range.limit);
  let left: RangeRead | undefined = { start, end, limit, reverse };
  await using lookout = new Lookout(context, range, held);
  while (left !== undefined) {
    const batch: RangeRead = left;
    const read = held.tables.read(range.table, (table) =>
      context.store.readRange(table, batch, filters),
    );
    const rows = await unlessAborted(read, signal);
    // Even if no row was found: the rows that are missing may have been collected.
    await validateRead(context, held);
    for (const row of rows) {
      const values =
        valuesHere(range, row) ??
        (await unlessAborted(
          lookout.during(readAgain(context, range, row, held), row.key),
          signal,
        ));
      if (values.size > 0) yield { row: row.key, values };
    }
    const rest = restOf(batch, rows);
    // Else a scan for one row would take a round trip for each deleted row before it.
    left = rest && { ...rest, limit: Math.min(range.batchRows, 2 * rest.limit) };
  }
}

/** The part of a time to live after which a wait is long: live owners commit far sooner. */
const LONG_WAIT = 1 / 10;

/** Looks ahead, once, for the locks that a scan will meet: then their ages begin. */
class Lookout implements AsyncDisposable {
  readonly #context: Context;
  readonly #range: CheckedRange;
  readonly #held: HeldSnapshot;
  readonly #isOver = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(context: Context, range: CheckedRange, held: HeldSnapshot) {
    this.#context = context;
    this.#range = range;
    this.#held = held;
  }

  /** Looks ahead if the read of a row takes long. */
  async during<T>(read: Promise<T>, row: string): Promise<T> {
    const { clock, options } = this.#context;
    const answered = new AbortController();
    const waitMs = options.lockTimeToLiveMs * LONG_WAIT;
    void clock.sleep(waitMs, answered.signal, { background: true }).then(() => {
      // An aborted scan is over, although its read goes on.
      const isWaiting = !answered.signal.aborted && !this.#isOver.signal.aborted;
      if (isWaiting) this.#looking ??= quietly(this.#lookBehind(row));
    });
    try {
      return await read;
    } finally {
      answered.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver.abort();
    await this.#looking;
  }

  #lookBehind(row: string): Promise<void> {
    const { table, columns, start, end, reverse } = this.#range;
    const { startTimestamp: to, tables } = this.#held;
    // With newest records, rows without locks count towards the limit, which so bounds each call.
    const filters = (columns ?? [undefined]).flatMap((column) => {
      const [locks, records] = recordFilters(column, to);
      return [locks, { ...records, to: undefined }];
    });
    return tables.read(table, async (stored) => {
      const range = rangeBehind({ start, end, reverse }, row);
      for await (const { rows } of rowBatches(this.#context.store, stored, range, filters)) {
        if (this.#isOver.signal.aborted) return;
        for (const one of rows) await this.#lookAt(stored, one);
      }
    });
  }

  /** Errors are left to the read of the row. */
  async #lookAt(table: string, row: Row): Promise<void> {
    for (const cell of wantedLocks(this.#range, row)) {
      const lock = readLock(cell);
      const address = { table, row: row.key, column: columnOf(cell) };
      const isWanted = lock !== undefined && !this.#isOver.signal.aborted;
      if (isWanted) await quietly(resolveLock(this.#context, address, lock));
    }
  }
}

/** Undefined if a lock is in the way, or if a value is not among the cells that were read. */
function valuesHere(range: CheckedRange, row: Row): ReadonlyMap<string, Uint8Array> | undefined {
  if (wantedLocks(range, row).length > 0) return undefined;
  const columns = columnsOf(range, row);
  const versions = committedVersions(columns, row.cells);
  if (range.keysOnly) return byColumn(columns, versions.map(withoutValue));
  const isWithout = versions.some((version, i) => isValueElsewhere(version, columns[i]));
  return isWithout ? undefined : byColumn(columns, versions);
}

/** Without locks in columns of the engine, which are in a read of all columns. */
function wantedLocks(range: CheckedRange, row: Row): readonly Cell[] {
  const locks = pendingLocks(row);
  if (range.columns !== undefined) return locks;
  return locks.filter((lock) => isOfColumns(range, columnOf(lock)));
}

const NO_VALUE = new Uint8Array();

/** Stands for a value that was not read. */
function withoutValue(version: Version | undefined): Version | undefined {
  return version && { ...version, value: hasValue(version.record) ? NO_VALUE : undefined };
}

async function readAgain(
  context: Context,
  range: CheckedRange,
  row: Row,
  held: HeldSnapshot,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const { table } = range;
  const columns = columnsOf(range, row);
  const { versions } = await held.tables.read(table, (stored) =>
    snapshotRead(context, { table: stored, row: row.key, columns }, held.startTimestamp),
  );
  await validateRead(context, held);
  return byColumn(columns, versions);
}

function byColumn(
  columns: readonly string[],
  versions: readonly (Version | undefined)[],
): ReadonlyMap<string, Uint8Array> {
  const values = new Map<string, Uint8Array>();
  versions.forEach((version, i) => {
    const column = columns[i];
    if (column !== undefined && version?.value !== undefined) values.set(column, version.value);
  });
  return values;
}

/** The snapshot's rows and those of the transaction's own writes, merged in the scan's order. */
export function scanWithWrites(
  context: Context,
  range: CheckedRange,
  held: HeldSnapshot,
  writes: WriteBuffer,
): AsyncGenerator<ScannedRow> {
  const written = writtenRows(range, writes);
  const rows =
    written.length === 0
      ? scanSnapshot(context, range, held)
      : mergeInto(context, range, held, written.toReversed());
  const isAll = range.limit === Infinity && !range.keysOnly && range.signal === undefined;
  return isAll ? rows : wantedOf(rows, range);
}

const NO_VALUES: ReadonlyMap<string, Uint8Array> = new Map();

async function* wantedOf(
  rows: AsyncGenerator<ScannedRow>,
  { limit, keysOnly, signal }: CheckedRange,
): AsyncGenerator<ScannedRow> {
  let left = limit;
  for await (const found of rows) {
    signal?.throwIfAborted(); // The row was read, or written, before.
    yield keysOnly ? { row: found.row, values: NO_VALUES } : found;
    if (--left === 0) return;
  }
}

/** `pending` has its first row last: `pop` moves no other row, as `shift` would. */
async function* mergeInto(
  context: Context,
  range: CheckedRange,
  held: HeldSnapshot,
  pending: WrittenRow[],
): AsyncGenerator<ScannedRow> {
  const order = orderOf(range);
  for await (const scanned of scanSnapshot(context, range, held)) {
    yield* rowsUntil(pending, (row) => order(row, scanned.row) >= 0);
    const own = pending.at(-1)?.row === scanned.row ? pending.pop() : undefined;
    const merged = own === undefined ? scanned : overlay(scanned, own.writes);
    if (merged.values.size > 0) yield merged;
  }
  yield* rowsUntil(pending, () => false);
}

interface WrittenRow {
  readonly row: string;
  readonly writes: readonly Write[];
}

/** The rows of the range that the transaction writes, in the scan's order. */
function writtenRows(range: CheckedRange, buffer: WriteBuffer): WrittenRow[] {
  const isWritten = (write: Write): boolean =>
    isOfColumns(range, write.column) && isIn(range, write);
  const rows = Map.groupBy(buffer.ofTable(range.table).filter(isWritten), ({ row }) => row);
  const order = orderOf(range);
  return [...rows]
    .map(([row, writes]) => ({ row, writes }))
    .toSorted((a, b) => order(a.row, b.row));
}

function isIn({ start, end }: CheckedRange, { row, operation }: Write): boolean {
  if (operation === 'touch' || compareTexts(row, start) < 0) return false;
  return end === undefined || compareTexts(row, end) < 0;
}

/** Takes rows from `pending` that the snapshot does not have, until one of them must wait. */
function* rowsUntil(
  pending: WrittenRow[],
  mustWait: (row: string) => boolean,
): Generator<ScannedRow> {
  for (;;) {
    const next = pending.at(-1);
    if (next === undefined || mustWait(next.row)) return;
    pending.pop();
    const fresh = overlay({ row: next.row, values: new Map() }, next.writes);
    if (fresh.values.size > 0) yield fresh;
  }
}

function overlay({ row, values }: ScannedRow, writes: readonly Write[]): ScannedRow {
  const merged = new Map(values);
  for (const { column, value } of writes) {
    if (value === undefined) merged.delete(column);
    else merged.set(column, copyOf(value));
  }
  return { row, values: merged };
}

/** By the UTF-8 bytes of the keys: the storage's order, not JavaScript's. */
function orderOf({ reverse }: CheckedRange): (a: string, b: string) => number {
  return reverse ? (a, b) => compareTexts(b, a) : compareTexts;
}
