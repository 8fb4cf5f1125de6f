/**
 * The truth about a round: what the storage has kept, read when all processes are gone.
 *
 *   1. Audit what the last kill has left: crashes may leave unfinished work, but no errors.
 *   2. Read every cell of every table, which resolves every lock.
 *   3. Run the observers until nothing is dirty.
 *   4. Read every cell once more, recorded as a last transaction of each workload; check each
 *      workload at rest, and audit again.
 *   5. Record every write record, acknowledgment and rollback marker, and everything that must not
 *      be left.
 */
import { fsck, type Percolator, systemClock, type Worker, type WorkerCounters } from '#engine';
import { readStoredHistory, type StoredHistory, type Violation } from '../judges/index.ts';
import {
  recordingClient,
  recordingCommits,
  type Recorder,
  recordingObservers,
  type Work,
  type Workload,
} from '../invariants/index.ts';
import { NO_RUNS } from './sum-each.ts';

export interface Truth {
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
  context: { readonly recorder: Recorder; readonly signal: AbortSignal },
): Promise<Truth> {
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
  /** Filled step by step. */
  readonly violations: Violation[];
}

/** Steps 1 to 4. */
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
 * Whether the worker was idle in time. If `idle` rejects, the worker must stop all the same: the
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
