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
import { compareTexts, copyOf } from '../base/index.ts';
import { COUNT, type OptionRules, TEXT, TEXTS } from '../base/options.ts';
import { keyAfter, nextStart, type Row, rowBatches } from '../bigtable/index.ts';
import { columnOf, LOCK, placeOf, WRITE } from './columns.ts';
import type { Context } from './context.ts';
import { readLock } from './locks.ts';
import { quietly, resolveLock } from './resolve-lock.ts';
import {
  committedVersions,
  filtersFor,
  type HeldSnapshot,
  isValueElsewhere,
  pendingLocks,
  snapshotRead,
  validateRead,
  type Version,
} from './snapshot-read.ts';
import type { Write, WriteBuffer } from './writes.ts';

export interface ScanRange {
  readonly table: string;
  /** First row, inclusive; default: the first row of the table. */
  readonly start?: string | undefined;
  /** Exclusive; default: the end of the table. */
  readonly end?: string | undefined;
  /** The columns wanted; rows that have none of them are left out. */
  readonly columns: readonly string[];
  /**
   * Rows per read of the storage. Default 128. Too small: a round trip for every few rows. Too
   * large: memory, and work thrown away when the caller stops early.
   */
  readonly batchRows?: number | undefined;
}

export const RANGE_RULES: OptionRules<ScanRange> = {
  table: TEXT,
  start: TEXT,
  end: TEXT,
  columns: TEXTS,
  batchRows: COUNT,
};

/** A row and the values of its columns; a column without a value is absent. */
export interface ScannedRow {
  readonly row: string;
  readonly values: ReadonlyMap<string, Uint8Array>;
}

const BATCH_ROWS = 128;

async function* scanSnapshot(
  context: Context,
  range: ScanRange,
  held: HeldSnapshot,
): AsyncGenerator<ScannedRow> {
  const filters = range.columns.flatMap((column) => filtersFor(column, held.startTimestamp));
  const limit = range.batchRows ?? BATCH_ROWS;
  let start: string | undefined = range.start ?? '';
  await using lookout = new Lookout(context, range, held);
  while (start !== undefined) {
    const batch = { ...range, start, limit };
    const rows = await held.tables.read(range.table, (table) =>
      context.store.readRange(table, batch, filters),
    );
    // Even if no row was found: the rows that are missing may have been collected.
    await validateRead(context, held);
    for (const row of rows) {
      const values =
        valuesHere(range, row) ??
        (await lookout.during(readAgain(context, range, row, held), row.key));
      if (values.size > 0) yield { row: row.key, values };
    }
    start = nextStart(rows, limit);
  }
}

/** The part of a time to live after which a wait is long: live owners commit far sooner. */
const LONG_WAIT = 1 / 10;

/** Looks ahead, once, for the locks that a scan will meet: then their ages begin. */
class Lookout implements AsyncDisposable {
  readonly #context: Context;
  readonly #range: ScanRange;
  readonly #held: HeldSnapshot;
  readonly #isOver = new AbortController();
  #looking: Promise<void> | undefined;

  constructor(context: Context, range: ScanRange, held: HeldSnapshot) {
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
      if (!answered.signal.aborted) this.#looking ??= quietly(this.#lookBehind(row));
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
    const { table, columns, end } = this.#range;
    const { startTimestamp: to, tables } = this.#held;
    // With newest records, rows without locks count towards the limit, which so bounds each call.
    const filters = columns.flatMap((column) => [
      { ...placeOf(LOCK, column), to, versions: 1 },
      { ...placeOf(WRITE, column), versions: 1 },
    ]);
    return tables.read(table, async (stored) => {
      const range = { start: keyAfter(row), end };
      for await (const { rows } of rowBatches(this.#context.store, stored, range, filters)) {
        if (this.#isOver.signal.aborted) return;
        for (const one of rows) await this.#lookAt(stored, one);
      }
    });
  }

  /** Errors are left to the read of the row. */
  async #lookAt(table: string, row: Row): Promise<void> {
    for (const cell of pendingLocks(row)) {
      const lock = readLock(cell);
      const address = { table, row: row.key, column: columnOf(cell) };
      const isWanted = lock !== undefined && !this.#isOver.signal.aborted;
      if (isWanted) await quietly(resolveLock(this.#context, address, lock));
    }
  }
}

/** Undefined if a lock is in the way, or if a value is not among the cells that were read. */
function valuesHere({ columns }: ScanRange, row: Row): ReadonlyMap<string, Uint8Array> | undefined {
  if (pendingLocks(row).length > 0) return undefined;
  const versions = committedVersions(columns, row.cells);
  const isWithout = versions.some((version, i) => isValueElsewhere(version, columns[i]));
  return isWithout ? undefined : byColumn(columns, versions);
}

async function readAgain(
  context: Context,
  { table, columns }: ScanRange,
  { key }: Row,
  held: HeldSnapshot,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const { versions } = await held.tables.read(table, (stored) =>
    snapshotRead(context, { table: stored, row: key, columns }, held.startTimestamp),
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

/** The snapshot's rows and those of the transaction's own writes, merged by key. */
export function scanWithWrites(
  context: Context,
  range: ScanRange,
  held: HeldSnapshot,
  writes: WriteBuffer,
): AsyncGenerator<ScannedRow> {
  const written = writtenRows(range, writes);
  return written.length === 0
    ? scanSnapshot(context, range, held)
    : mergeInto(context, range, held, written.toReversed());
}

/** `pending` has its first row last: `pop` moves no other row, as `shift` would. */
async function* mergeInto(
  context: Context,
  range: ScanRange,
  held: HeldSnapshot,
  pending: WrittenRow[],
): AsyncGenerator<ScannedRow> {
  for await (const scanned of scanSnapshot(context, range, held)) {
    yield* rowsBefore(scanned.row, pending);
    const own = pending.at(-1)?.row === scanned.row ? pending.pop() : undefined;
    const merged = own === undefined ? scanned : overlay(scanned, own.writes);
    if (merged.values.size > 0) yield merged;
  }
  yield* rowsBefore(undefined, pending);
}

interface WrittenRow {
  readonly row: string;
  readonly writes: readonly Write[];
}

/** The rows of the range that the transaction writes, in key order. */
function writtenRows(range: ScanRange, buffer: WriteBuffer): WrittenRow[] {
  const columns = new Set(range.columns);
  const rows = Map.groupBy(
    buffer.ofTable(range.table).filter((write) => columns.has(write.column) && isIn(range, write)),
    ({ row }) => row,
  );
  return [...rows]
    .map(([row, writes]) => ({ row, writes }))
    .toSorted((a, b) => compareRows(a.row, b.row));
}

function isIn({ start = '', end }: ScanRange, { row, operation }: Write): boolean {
  if (operation === 'touch' || compareRows(row, start) < 0) return false;
  return end === undefined || compareRows(row, end) < 0;
}

/** Takes from `pending` the rows that come before `row` and that the snapshot does not have. */
function* rowsBefore(row: string | undefined, pending: WrittenRow[]): Generator<ScannedRow> {
  for (;;) {
    const next = pending.at(-1);
    if (next === undefined) return;
    if (row !== undefined && compareRows(next.row, row) >= 0) return;
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

/** Order of the UTF-8 bytes: the storage's order, not JavaScript's. */
function compareRows(a: string, b: string): number {
  return compareTexts(a, b);
}
