/**
 * The truth about a round: what the storage has kept, read when all processes are gone.
 *
 *   1. Audit what the last kill has left: crashes may leave unfinished work, but no errors.
 *   2. Read every cell of every table, which resolves every lock.
 *   3. Run the observers until nothing is dirty.
 *   4. Read every cell once more, recorded as a last transaction of each workload; check each
 *      workload at rest, and audit again.
 *   5. Read all changes that no reader has heard of yet (following.ts).
 *   6. Record every write record, acknowledgment and rollback record, and everything that must not
 *      be left.
 */
import { fsck, type Percolator, systemClock, type Worker, type WorkerCounters } from '#engine';
import {
  LISTS,
  parseList,
  type RecordedTransaction,
  type Recorder,
  recordingClient,
  recordingCommits,
  recordingObservers,
  type Work,
  type Workload,
} from '../invariants/index.ts';
import {
  type HistoricRecord,
  judgeChanges,
  judgeListAppend,
  judgeNotifications,
  judgeSnapshotIsolation,
  listTransactions,
  readStoredHistory,
  type StoredHistory,
  toEdn,
  type Violation,
} from '../judges/index.ts';
import { type Follower, sectionsOf } from './following.ts';
import { NO_RUNS, type RecordedHistory } from './history-file.ts';

export interface RoundTruth {
  readonly stored: StoredHistory;
  readonly violations: readonly Violation[];
  /** Counters of the worker that ran the observers to the end here. */
  readonly worker: Readonly<WorkerCounters>;
}

/** How long the observers may take to come to rest. */
const REST_MS_MAX = 120_000;

export async function settleAndRead(
  percolator: Percolator,
  workloads: readonly Workload[],
  context: Omit<SettlingContext, 'violations'>,
): Promise<RoundTruth> {
  const violations: Violation[] = [];
  let worker: Readonly<WorkerCounters> = { runs: 0, clean: 0, failures: 0, parked: 0, meetings: 0 };
  try {
    worker = await settle(percolator, workloads, { ...context, violations });
  } catch (error) {
    context.signal.throwIfAborted();
    violations.push({ claim: 'rest: nothing fails', message: String(error) });
  }
  const stored = await readStoredHistory(percolator.store, tablesOf(workloads));
  for (const cell of stored.locks) {
    violations.push({
      claim: 'rest: reading resolves every lock',
      message: `${cell} is still locked`,
    });
  }
  return { stored, violations, worker };
}

interface SettlingContext {
  readonly recorder: Recorder;
  readonly signal: AbortSignal;
  /** Readers of changes, of all tables. */
  readonly followers: readonly Pick<Follower, 'readToTheEnd'>[];
  /** Filled step by step. */
  readonly violations: Violation[];
}

/** Steps 1 to 5. */
async function settle(
  percolator: Percolator,
  workloads: readonly Workload[],
  settling: SettlingContext,
): Promise<Readonly<WorkerCounters>> {
  const { recorder, signal, violations } = settling;
  violations.push(...(await auditErrors(percolator, 'after the last kill')));
  await readEverything(percolator, workloads, recorder);
  signal.throwIfAborted();
  const worker = await runObservers(percolator, workloads, settling);
  await readEverything(percolator, workloads, recorder);
  for (const workload of workloads) {
    await using snapshot = await percolator.snapshot();
    const wrong = await workload.check(snapshot);
    violations.push(...wrong.map((message) => ({ claim: `${workload.name}: at rest`, message })));
  }
  violations.push(...(await auditErrors(percolator, 'at rest')));
  for (const follower of settling.followers) await follower.readToTheEnd();
  return worker;
}

async function auditErrors({ store }: Percolator, when: string): Promise<readonly Violation[]> {
  const errors: Violation[] = [];
  for await (const { severity, code, sentence } of await fsck(store)) {
    if (severity === 'error') errors.push({ claim: `audit ${when}: ${code}`, message: sentence });
  }
  return errors;
}

/**
 * Reads all tables of each workload in one transaction, so that its history ends with the final
 * state.
 */
async function readEverything(
  percolator: Percolator,
  workloads: readonly Workload[],
  recorder: Recorder,
): Promise<void> {
  for (const workload of workloads) {
    const client = recordingClient(percolator, workload.name, recorder);
    let reading = Promise.resolve();
    await client.attempt((work) => {
      reading = readTables(work, workload);
      return reading;
    });
    await reading; // After a retryable failure `attempt` resolves; the history would lack its end.
  }
}

async function readTables(work: Work, { tables }: Workload): Promise<void> {
  for (const [table, { columns }] of Object.entries(tables)) {
    for await (const _ of work.scan({ table, columns })); // The read alone matters.
  }
}

/** Runs the observers until nothing is dirty. */
async function runObservers(
  percolator: Percolator,
  workloads: readonly Workload[],
  { recorder, signal, violations }: SettlingContext,
): Promise<Readonly<WorkerCounters>> {
  const observers = workloads.flatMap((workload) => recordingObservers(workload, recorder));
  if (observers.length === 0) return NO_RUNS;
  const worker = percolator.startWorker(observers, {
    onCommitted: recordingCommits(recorder),
    onFailure: ({ cell, error }) => {
      const message = `${cell.table}/${cell.row}:${cell.column}: ${String(error)}`;
      violations.push({ claim: 'rest: no observer fails', message });
    },
  });
  const isIdle = await stopWhenIdle(worker, signal);
  signal.throwIfAborted();
  if (!isIdle) {
    const message = `observers still had work after ${REST_MS_MAX / 1000} s without a client`;
    violations.push({ claim: 'rest: observers come to rest', message });
  }
  return worker.counters;
}

/**
 * Whether the worker was idle in time. If `idle` rejects, the worker must still stop: the
 * store is read and closed next.
 */
async function stopWhenIdle(worker: Worker, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const late = systemClock.sleep(REST_MS_MAX, AbortSignal.any([signal, over.signal]));
  try {
    return await Promise.race([worker.idle().then(() => true), late.then(() => false)]);
  } finally {
    over.abort();
    await worker.stop();
  }
}

function tablesOf(workloads: readonly Workload[]): readonly string[] {
  return workloads.flatMap(({ tables }) => Object.keys(tables));
}

/*
 * All judges on one history: compares the records of the processes with what the storage has kept,
 * and what collectors erased from it.
 */

export interface RoundVerdict {
  readonly violations: readonly Violation[];
  /** Cycles that snapshot isolation allows. */
  readonly writeSkews: number;
  /** The history of list-append in the form that Elle reads; absent if the workload was not run. */
  readonly edn?: string | undefined;
}

export function judge(
  workloads: readonly Workload[],
  {
    transactions,
    collected,
    followed,
  }: Pick<RecordedHistory, 'transactions' | 'collected' | 'followed'>,
  stored: StoredHistory,
): RoundVerdict {
  const records = [...stored.records, ...collected.records];
  const rollbacks = [...stored.rollbacks, ...collected.rollbacks];
  const history = { transactions, records, rollbacks };
  const observers = workloads.flatMap((workload) => workload.observers);
  const violations = [
    ...judgeSnapshotIsolation(history),
    ...judgeNotifications(history, { observers, left: stored.notifications }),
    ...judgeChanges(sectionsOf(followed), history),
  ];
  const lists = listTransactions(transactions, {
    isList: (cell) => cell.startsWith(`${LISTS}/`),
    elementsOf: parseList,
  });
  if (lists.length === 0) return { violations, writeSkews: 0 };
  const opinion = judgeListAppend(lists, { strict: true });
  return {
    violations: [...violations, ...opinion.violations],
    writeSkews: opinion.allowed.length,
    edn: toEdn(lists),
  };
}

/* The outcomes of the transactions of each workload, as counts. Small, unlike a history. */

export interface Tally {
  /** All that are no runs of observers, reads of the past included. */
  transactions: number;
  committed: number;
  /** The transaction lost a conflict, was rolled back, or waited too long. */
  failed: number;
  /** The client heard no outcome, mostly because its process was killed first. */
  unknown: number;
  /** Unknown transactions that committed, according to the storage. */
  unknownCommitted: number;
  /** Runs of observers whose commit was reported. */
  runs: number;
  /** Runs that lost or were cut off; which of the two was not reported. */
  runsUnknown: number;
}

/** Tallies by workload. */
export type Tallies = ReadonlyMap<string, Tally>;

export function tallyTransactions(
  names: readonly string[],
  transactions: readonly RecordedTransaction[],
  records: readonly HistoricRecord[],
): Tallies {
  const committed = new Set(records.map(({ startTimestamp }) => startTimestamp));
  const tallies = new Map(names.map((name) => [name, nothing()]));
  for (const { workload, outcome, run, startTimestamp } of transactions) {
    const tally = tallies.get(workload);
    if (tally === undefined) continue;
    if (run !== undefined) {
      tally[outcome === 'committed' ? 'runs' : 'runsUnknown']++;
      continue;
    }
    tally.transactions++;
    tally[outcome]++;
    if (outcome === 'unknown' && committed.has(startTimestamp)) tally.unknownCommitted++;
  }
  return tallies;
}

export function addTallies(all: readonly Tallies[]): Tallies {
  const sums = new Map<string, Tally>();
  for (const [name, tally] of all.flatMap((tallies) => [...tallies])) {
    const sum = sums.get(name) ?? nothing();
    for (const key of Object.keys(tally) as (keyof Tally)[]) sum[key] += tally[key];
    sums.set(name, sum);
  }
  return sums;
}

function nothing(): Tally {
  return {
    transactions: 0,
    committed: 0,
    failed: 0,
    unknown: 0,
    unknownCommitted: 0,
    runs: 0,
    runsUnknown: 0,
  };
}
