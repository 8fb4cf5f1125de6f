/**
 * The observers of simulated runs, chained as in a crawl: a change is copied to another table, and
 * the copy is observed in turn; a second observer of the same column counts; two others only read.
 *
 *     t/<row>:seen ──copier──▶ u/<row>:copy ──chained──▶ u/<row>:done
 *           └───────counter──▶ t/<row>:count
 *     t/<row>:also ──watcher             s/<row>:seen ──scratcher, while the column is observed
 *     t/<row>:stuck ──hanger             t/<row>:spin ──looper, in runs with mischief (mischief.ts)
 *
 * Each run is a transaction of the history like any other. Some fail, and some hang for a while.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { CommittedRun, DirtyCell, Observer } from '../../../engine/observer/index.ts';
import { acknowledgmentColumn, type Transaction } from '../../../engine/transaction/index.ts';
import { historicCell } from '../judges/history.ts';
import type { ObservedColumn } from '../judges/notifications.ts';
import { chance, chooseBetween } from './chance.ts';
import type { RunNames } from './names.ts';
import { MISCHIEF_COLUMNS, SCRATCH } from './plan.ts';
import type { SimulatedProcess } from './process.ts';
import { read, type TransactionRecording, write } from './recording.ts';
import type { SimulatedRun } from './run.ts';
import type { Transactions } from './transactions.ts';

/** The observers and their columns, by the names of plans. */
const OBSERVERS: readonly ObservedColumn[] = [
  { name: 'copier', table: 't', column: 'seen' },
  { name: 'counter', table: 't', column: 'seen' },
  { name: 'chained', table: 'u', column: 'copy' },
  { name: 'watcher', table: 't', column: 'also' },
  { name: 'scratcher', table: SCRATCH, column: 'seen' },
  { name: 'hanger', table: 't', column: MISCHIEF_COLUMNS.hang },
  { name: 'looper', table: 't', column: MISCHIEF_COLUMNS.loop },
];

/** What it sees is not judged: only one worker has it. */
const STRANGER: ObservedColumn = { name: 'stranger', table: 't', column: 'also' };

/** The client whose worker has one observer more. */
const STRANGE = /^client 0\b/;

/** Whether the worker of this process has one observer more, which is in no plan. */
export function isStrange({ world }: SimulatedRun, processName: string): boolean {
  return world.knobs.mischief === 'differ' && STRANGE.test(processName);
}

/** Whether a lock, as `leftLocks` names it, is at an acknowledgment of the one observer more. */
export function isOfStranger(lock: string): boolean {
  return lock.includes(`:${acknowledgmentColumn(STRANGER.name, '')}`);
}

/** The observers, for the judge. */
export function observersOf(names: RunNames): readonly ObservedColumn[] {
  return OBSERVERS.map(({ name, table, column }) => ({
    name: names.observer(name),
    table: names.table(table),
    column: names.column(column),
  }));
}

/** For draws of chance. */
const HANG = 30;
const HANG_FOR = 31;

/** Between two looks of a run that hangs at whether it still should. */
const HANG_MS = 50;

/** The rows of plans that have observed cells. */
const OBSERVED_ROWS = ['d', 'e'];

/** The first rest of a cell whose observer failed. */
export const FAILURE_BACKOFF_MS = 5;

/** A failure that the plan asks for. */
export class PlannedFailure extends Error {}

/** The runs of one process's observers. */
export class ObserverRuns {
  readonly observers: readonly Observer[];
  readonly #run: SimulatedRun;
  readonly #process: SimulatedProcess;
  readonly #transactions: Transactions;
  readonly #recordings = new Map<Timestamp, TransactionRecording>();
  /** Runs whose function is executing, by observer and cell. */
  readonly #running = new Set<string>();
  /**
   * Failures of this process's worker, by observer and cell: how many, and when the last one was.
   */
  readonly #failed = new Map<string, { readonly times: number; readonly atMs: number }>();
  #isClosed = false;

  constructor(run: SimulatedRun, process: SimulatedProcess, transactions: Transactions) {
    this.#run = run;
    this.#process = process;
    this.#transactions = transactions;
    const { names } = run.world;
    const all = isStrange(run, process.name) ? [...OBSERVERS, STRANGER] : OBSERVERS;
    this.observers = all.map(({ name, table, column }) => ({
      name: names.observer(name),
      table: names.table(table),
      column: names.column(column),
      run: (transaction: Transaction, cell: DirtyCell) => this.#observe(name, transaction, cell),
    }));
  }

  /** The worker has reported that it has stopped: nothing may happen any more (P50). */
  close(): void {
    this.#isClosed = true;
  }

  /** Called by the worker: a parked cell does not rest any more when it is notified again. */
  parked(cell: DirtyCell): void {
    for (const name of this.#failed.keys()) {
      if (name.endsWith(` ${historicCell(cell)}`)) this.#failed.delete(name);
    }
  }

  /** Called by the worker. */
  committed({ startTimestamp, commitTimestamp }: CommittedRun): void {
    if (this.#isClosed) this.#find('run after the stop', `a run committed at ${commitTimestamp}`);
    const recording = this.#recordings.get(startTimestamp);
    this.#recordings.delete(startTimestamp);
    if (recording === undefined || !this.#process.isAlive) return;
    recording.outcome = 'committed';
    // A run for a weak notification that wrote nothing has no commit: it ended with its snapshot.
    if (commitTimestamp !== startTimestamp) recording.commitTimestamp = commitTimestamp;
    recording.endedAt = this.#run.world.timeline.ticks;
  }

  async #observe(observer: string, transaction: Transaction, dirty: DirtyCell): Promise<void> {
    const { startTimestamp } = transaction;
    const { names } = this.#run.world;
    const recording = this.#transactions.record(startTimestamp);
    const cell = historicCell(dirty);
    // final-checks.ts finds out which runs are weak: those without an acknowledgment.
    recording.run = { observer: names.observer(observer), cell, weak: false };
    this.#recordings.set(startTimestamp, recording);
    this.#run.world.umpire.ran(names.observer(observer), cell, startTimestamp);
    const name = `${observer} ${cell}`;
    if (this.#running.has(name) && !this.#run.hasWeak) this.#find('twice at once', name);
    this.#running.add(name);
    try {
      await this.#hangIfPlanned(startTimestamp);
      this.#failIfPlanned(name);
      await this.#react(observer, this.#planned(dirty), transaction, recording);
    } finally {
      this.#running.delete(name);
    }
    recording.outcome = 'unknown'; // Only `committed` learns the outcome.
  }

  /** The name of the row in plans. */
  #planned({ row }: DirtyCell): string {
    const { names } = this.#run.world;
    return OBSERVED_ROWS.find((one) => names.address(`t/${one}:`).row === row) ?? row;
  }

  /** @param row by its name in plans, like all cells here */
  async #react(
    observer: string,
    row: string,
    transaction: Transaction,
    recording: TransactionRecording,
  ): Promise<void> {
    const { startTimestamp } = recording;
    const { scribe } = this.#transactions;
    const get = (cell: string): Promise<string | undefined> =>
      read(scribe, transaction, cell, recording);
    const set = (cell: string, value: string | undefined): void => {
      write(scribe, transaction, { cell, value }, recording);
    };
    switch (observer) {
      case 'copier': {
        const value = await get(`t/${row}:seen`);
        set(`u/${row}:copy`, value === undefined ? undefined : `${startTimestamp} copied ${value}`);
        return;
      }
      case 'counter': {
        await get(`t/${row}:seen`);
        const before = await get(`t/${row}:count`);
        set(`t/${row}:count`, `${Number.parseInt(before ?? '0', 10) + 1} at ${startTimestamp}`);
        return;
      }
      case 'watcher':
      case 'stranger':
        await get(`t/${row}:also`);
        return;
      case 'scratcher':
        await get(`s/${row}:seen`);
        return;
      case 'hanger':
        await get(`t/${row}:stuck`);
        while (this.#run.isMischievous) await scribe.clock.sleep(HANG_MS);
        return;
      case 'looper':
        await get(`t/${row}:spin`);
        if (this.#run.isMischievous) set(`t/${row}:spin`, `${startTimestamp} again`);
        return;
      default:
        set(`u/${row}:done`, `${startTimestamp} saw ${await get(`u/${row}:copy`)}`);
    }
  }

  async #hangIfPlanned(startTimestamp: Timestamp): Promise<void> {
    const { seed, knobs, troubled, longestStopMs } = this.#run.world;
    const draw = (purpose: number): number =>
      chance(seed, this.#process.id, startTimestamp, purpose);
    if (!troubled || draw(HANG) >= (knobs.hangs ?? 0)) return;
    this.#run.hung++;
    await this.#transactions.scribe.clock.sleep(chooseBetween(1, longestStopMs, draw(HANG_FOR)));
  }

  #failIfPlanned(name: string): void {
    const { observerFailures, plan } = this.#run;
    const left = observerFailures.get(name) ?? plan.observerFailures;
    observerFailures.set(name, left - 1);
    const { nowMs } = this.#run.world.timeline;
    const before = this.#failed.get(name);
    const restMs = FAILURE_BACKOFF_MS * 2 ** ((before?.times ?? 1) - 1);
    // Weak and strong notifications of one cell fail and rest separately, and a table created again
    // starts afresh.
    const isJudged = !this.#run.hasWeak && !name.startsWith('scratcher ');
    if (before !== undefined && nowMs < before.atMs + restMs && isJudged) {
      this.#find('no rest', `${name} runs ${nowMs - before.atMs} ms after it has failed`);
    }
    if (left <= 0 || !this.#run.world.troubled) return;
    // After a long time without a notification a worker starts counting afresh.
    const isSoon = before !== undefined && nowMs < before.atMs + 2 * restMs;
    this.#failed.set(name, { times: isSoon ? before.times + 1 : 1, atMs: nowMs });
    throw new PlannedFailure(`planned failure of ${name}`);
  }

  #find(claim: string, message: string): void {
    this.#run.world.umpire.find(`observers: ${claim}`, `${this.#process.name}: ${message}`);
  }
}
