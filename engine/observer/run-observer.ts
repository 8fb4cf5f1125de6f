/**
 * Running an observer for a dirty cell (section 2.4).
 *
 * 1. Take a start timestamp: now that the notification has been seen, so that the snapshot includes
 *    the change (P47, snapshot before notification).
 * 2. Dirty? "If the observed column was written after its last acknowledgment, then we run the
 *    observer": if the latest write's commit timestamp is larger than the start timestamp of the
 *    last run, which the acknowledgment column stores. (P42: not its commit timestamp; what was
 *    committed between the run's start and its commit has not been seen.)
 * 3. The observer's writes and the acknowledgment commit as one transaction; of two runs at the
 *    same time, one loses on the acknowledgment.
 * 4. Clear the notify cells up to the start timestamp, also when there was nothing to do (P44,
 *    clean cell, notification stays). What the snapshot has seen goes; what was committed since
 *    stays (P41, clearing too much).
 *
 * What if the process dies between 3 and 4? The next worker finds the notification, and 2 says that
 * the cell is clean. Clearing before 3 would lose the change if the process died in between.
 */
import type { SpanContext } from '@opentelemetry/api';
import { BoundedMap, copyOf, hasCode, isRetryable, PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { TransactionTrace } from '../telemetry/index.ts';
import {
  acknowledgmentColumn,
  backoffMs,
  begin,
  type Cause,
  causeAfter,
  type Context,
  DATA,
  decodeWriteRecord,
  NOTIFY,
  notifyTable,
  placeOf,
  type Transaction,
  WEAK,
  WRITE,
  type WriteRecord,
} from '../transaction/index.ts';
import type { DirtyCell, KnownValue, ObservedChange, Observer } from './observer.ts';

/**
 * How often a run is tried in all, with backoff after each conflict,
 * before its cell rests and waits for the next scan.
 */
const ATTEMPTS_MAX = 10;

export interface Notified extends DirtyCell {
  /** Marked by a weak notification: run without the check of step 2, and acknowledge nothing. */
  readonly weak: boolean;
  /** The newest notification that was seen, and what caused it. */
  readonly timestamp: Timestamp;
  readonly cause?: Cause | undefined;
  /** Of the transaction that committed it, if that was in this process and spans are wanted. */
  readonly span?: SpanContext | undefined;
}

/** One committed run of an observer. */
export interface CommittedRun {
  readonly observer: string;
  readonly cell: DirtyCell;
  readonly startTimestamp: Timestamp;
  readonly commitTimestamp: Timestamp;
}

/** Where runs are noted: those that committed, and those that may have. */
export interface RunNotes {
  readonly onCommitted: (run: CommittedRun) => void;
  readonly doubtful: DoubtfulRuns;
}

/**
 * Runs every observer of the cell that has not seen its latest change, and clears the notification.
 * Resolves with the runs that committed. Rejects with what an observer threw; then the notification
 * stays.
 */
export async function runObservers(
  context: Context,
  cell: Notified,
  observers: readonly Observer[],
  { onCommitted, doubtful }: RunNotes = { onCommitted: () => {}, doubtful: new DoubtfulRuns() },
): Promise<readonly CommittedRun[]> {
  const runs: CommittedRun[] = [];
  const errors: unknown[] = [];
  let seenUpTo = Number.POSITIVE_INFINITY;
  for (const observer of observers) {
    const ends = context.telemetry?.observerRuns(observer.name);
    try {
      const one = { cell, observer, doubtful };
      const { startTimestamp, commitTimestamp } = await runObserver(context, one);
      seenUpTo = Math.min(seenUpTo, startTimestamp);
      ends?.(commitTimestamp === undefined ? 'clean' : 'committed');
      if (commitTimestamp === undefined) continue;
      const run = { observer: observer.name, cell, startTimestamp, commitTimestamp };
      runs.push(run);
      onCommitted(run); // Now, not after the clearing: it has happened.
    } catch (error) {
      ends?.('failed', error);
      errors.push(error); // A failing observer must not starve the others.
    }
  }
  // If there was a failure and not only conflicts, the failure is reported for the cell.
  const failures = errors.filter((error) => !isNoFailure(error));
  if (errors.length > 0) throw [...failures, ...errors][0]; // An observer may throw `undefined`.
  if (observers.length > 0) await clearNotification(context, cell, seenUpTo);
  return runs;
}

/**
 * Whether the observer is not to blame: it met a conflict, or the storage lost an answer or refused
 * a call. A run that may have committed can still be run again: if it has committed, its
 * acknowledgment says so.
 */
export function isNoFailure(error: unknown): boolean {
  if (!(error instanceof PercolatorError)) return false;
  const codes = ['COMMIT_UNKNOWN', 'STORE_IN_DOUBT'];
  return isRetryable(error) || codes.includes(error.code) || isRefusal(error);
}

/** Whether the storage will refuse such a run until the cause is fixed. */
export function isRefusal(error: unknown): boolean {
  const codes = ['STORE_REFUSED', 'STORE_FULL', 'STORE_DAMAGED'] as const;
  return codes.some((code) => hasCode(error, code));
}

interface RunResult {
  readonly startTimestamp: Timestamp;
  /** Undefined if there was nothing to do. */
  readonly commitTimestamp: Timestamp | undefined;
}

interface ObserverRun {
  readonly cell: Notified;
  readonly observer: Observer;
  readonly doubtful: DoubtfulRuns;
}

async function runObserver(
  context: Context,
  { cell, observer, doubtful }: ObserverRun,
): Promise<RunResult> {
  for (let attempt = 1; ; attempt++) {
    const kind = `observer ${observer.name}`;
    const trace = traceOf(context, kind, { cell, observer });
    const transaction = await begin(context, { kind }, { trace, isRetry: attempt > 1 });
    const { startTimestamp } = transaction;
    try {
      return await runOnce(context, transaction, { cell, observer, doubtful });
    } catch (error) {
      const isUnknown = hasCode(error, 'COMMIT_UNKNOWN');
      if (isUnknown && !cell.weak) doubtful.add(cell, observer, startTimestamp);
      if (!isRetryable(error) || attempt >= ATTEMPTS_MAX) throw error;
      await context.closing.sleep(context.clock, backoffMs(context, attempt)); // Or two workers lose in step (P23).
    } finally {
      transaction.discard(); // Also after a run with nothing to do.
    }
  }
}

function traceOf(
  { telemetry }: Context,
  kind: string,
  { cell: { timestamp: commitTimestamp, span }, observer }: Omit<ObserverRun, 'doubtful'>,
): TransactionTrace | undefined {
  return telemetry?.run(kind, { observer: observer.name, commitTimestamp, span });
}

async function runOnce(
  context: Context,
  transaction: Transaction,
  { cell, observer, doubtful }: ObserverRun,
): Promise<RunResult> {
  const { startTimestamp } = transaction;
  if (!cell.weak) {
    const column = acknowledgmentColumn(observer.name, cell.column);
    const [latest, lastRun] = await transaction.readVersions([cell, { ...cell, column }]);
    const last = lastRun?.record;
    if (last !== undefined && doubtful.take(cell, observer, last.startTimestamp)) return last;
    if (!(await isDirty(context, cell, { latest, lastRun }))) {
      return { startTimestamp, commitTimestamp: undefined };
    }
    transaction.acknowledge(observer.name, cell);
  }
  transaction.causedBy(causeAfter(cell.cause, cell));
  const { table, row, column } = cell;
  const change = changeOf(context, transaction, { cell, observer: observer.name });
  await observer.run(transaction, { table, row, column }, change);
  return { startTimestamp, commitTimestamp: await transaction.commit() };
}

interface Committed {
  readonly record: WriteRecord;
}

/** Whether the cell has changed since the snapshot of the observer's last committed run. */
async function isDirty(
  context: Context,
  cell: DirtyCell,
  { latest, lastRun }: Readonly<Record<'latest' | 'lastRun', Committed | undefined>>,
): Promise<boolean> {
  if (latest === undefined) return false; // Its writer died before it committed.
  const { record } = latest;
  if (record.changedTimestamp <= (lastRun?.record.startTimestamp ?? 0)) return false;
  const namesDelete = record.operation === 'touch' && record.dataTimestamp === 0;
  return !namesDelete || (await isThere(context, cell, record));
}

/**
 * A touch of a cell without a value names the delete that it saw: is that delete still there? If
 * it has been collected, its acknowledgments may have been, too. But then every observer had seen
 * it, because it stays until all have (collect-row.ts).
 */
async function isThere(
  { storeByUserName }: Context,
  { table, row, column }: DirtyCell,
  { changedTimestamp: from }: WriteRecord,
): Promise<boolean> {
  const filter = { ...placeOf(WRITE, column), from, to: from };
  return (await storeByUserName.readRow(table, row, [filter])) !== undefined;
}

/** Strong and weak notifications are cleared separately: each kind has its own runs. */
async function clearNotification(
  context: Context,
  { table, row, column: qualifier, weak }: Notified,
  startTimestamp: Timestamp,
): Promise<void> {
  const family = weak ? WEAK : NOTIFY;
  const seen = { kind: 'erase', family, qualifier, from: 0, to: startTimestamp } as const;
  await context.storeByUserName.mutateRows([
    { table: notifyTable(table), row, mutations: [seen], provisional: true },
  ]);
}

/*
 * Runs whose commit got no answer.
 *
 * The next run of the same observer on the same cell reads the acknowledgment of the last one that
 * committed. If that is a run of this worker that was in doubt, the worker reports it as committed,
 * only later (P42, changes during a run).
 */

/** Cells kept; beyond that the oldest are forgotten: another worker may have finished them. */
const CELLS_MAX = 10_000;

export class DoubtfulRuns {
  /** Start timestamps, by cell and observer. */
  readonly #starts = new BoundedMap<string, Set<Timestamp>>(CELLS_MAX);

  add(cell: DirtyCell, observer: Observer, startTimestamp: Timestamp): void {
    const key = keyOf(cell, observer);
    this.#starts.set(key, (this.#starts.get(key) ?? new Set<Timestamp>()).add(startTimestamp));
  }

  /** Whether the run that began at this timestamp was in doubt; it is not any more. */
  take(cell: DirtyCell, observer: Observer, startTimestamp: Timestamp): boolean {
    if (this.#starts.size === 0) return false;
    const key = keyOf(cell, observer);
    const wasInDoubt = this.#starts.get(key)?.has(startTimestamp) === true;
    if (wasInDoubt) this.#starts.delete(key);
    return wasInDoubt;
  }
}

function keyOf({ table, row, column }: DirtyCell, { name }: Observer): string {
  return JSON.stringify([table, row, column, name]);
}

/*
 * The value before the change: what an observer's last committed run for a cell saw there.
 *
 *     last run at S0 ── changes ── this run at S          before = the newest version at or below S0
 *
 * An observer that keeps a total or an index takes from it what the old value had added. It needs
 * no copy of its own: the old version is still there, unless garbage collection has passed both.
 * It costs a read or two, so it is read only if it is asked for.
 *
 * When is a version at S0 lost? Of the records at or below the horizon H, a collector leaves the
 * newest. So if it finds none at or below S0:
 *
 *     H is at or below S0                  nothing was collected that S0 saw: there was no value
 *     no record between S0 and H           the newest at or below H is that at S0: there was none
 *     a record between S0 and H            there may have been a value, and it is gone: unknown
 *
 * And if it finds one, it is the newest at or below S0: a collector erases older records first, or
 * together. H is read after the records: it is persisted before anything is erased. Locks do not
 * matter. The last run has resolved those that could have committed at or below S0, and what was
 * locked later commits above it.
 */

/** The change that a run of this observer is for. */
function changeOf(
  context: Context,
  transaction: Transaction,
  { cell, observer }: { readonly cell: DirtyCell; readonly observer: string },
): ObservedChange {
  return { before: () => valueBefore(context, transaction, { cell, observer }) };
}

async function valueBefore(
  context: Context,
  transaction: Transaction,
  { cell, observer }: { readonly cell: DirtyCell; readonly observer: string },
): Promise<KnownValue | undefined> {
  const { table, row } = cell;
  const column = acknowledgmentColumn(observer, cell.column);
  const [lastRun] = await transaction.readVersions([{ table, row, column }]);
  if (lastRun === undefined) return { value: undefined };
  const { startTimestamp: to } = lastRun.record;
  const place = placeOf(WRITE, cell.column);
  const { storeByUserName: store, oracle } = context;
  const seen = await store.readRow(table, row, [{ ...place, to, versions: 1 }]);
  const record = seen?.cells[0];
  if (record !== undefined) {
    const { dataTimestamp } = decodeWriteRecord(record);
    return dataTimestamp === 0 ? { value: undefined } : readValue(context, cell, dataTimestamp);
  }
  const horizon = await oracle.readHorizon();
  const between = { ...place, from: to + 1, to: horizon, versions: 1 };
  const isPassed = horizon > to && (await store.readRow(table, row, [between])) !== undefined;
  return isPassed ? undefined : { value: undefined };
}

/** Undefined if it was collected after its record was read. */
async function readValue(
  { storeByUserName: store }: Context,
  { table, row, column }: DirtyCell,
  at: Timestamp,
): Promise<KnownValue | undefined> {
  const found = await store.readRow(table, row, [{ ...placeOf(DATA, column), from: at, to: at }]);
  const data = found?.cells[0];
  return data && { value: copyOf(data.value) };
}
