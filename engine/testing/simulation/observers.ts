/**
 * The observers of simulated runs, chained as a crawl's are: a change is copied to another table, the copy is
 * observed in turn; and a second observer of the same column counts.
 *
 *     t/<row>:seen ──copier──▶ u/<row>:copy ──chained──▶ u/<row>:done
 *           └───────counter──▶ t/<row>:count
 *
 * Each run is a transaction of the history like any other.
 */
import type { Timestamp } from '../../bigtable/index.ts';
import type { CommittedRun, DirtyCell, Observer } from '../../observer/index.ts';
import type { Transaction } from '../../transaction/index.ts';
import type { SimulatedProcess } from './process.ts';
import { read, type Recording, write } from './recording.ts';
import type { Run } from './run.ts';

/** Who observes what, for the judge. */
export const OBSERVERS: readonly {
  readonly name: string;
  readonly table: string;
  readonly column: string;
}[] = [
  { name: 'copier', table: 't', column: 'seen' },
  { name: 'counter', table: 't', column: 'seen' },
  { name: 'chained', table: 'u', column: 'copy' },
];

/** First rest of a cell whose observer failed. */
export const FAILURE_BACKOFF_MS = 5;

/** The runs of one process's observers. */
export class ObserverRuns {
  readonly observers: readonly Observer[];
  readonly #run: Run;
  readonly #process: SimulatedProcess;
  readonly #record: (startTimestamp: Timestamp) => Recording;
  readonly #recordings = new Map<Timestamp, Recording>();
  /** Runs whose function is at work, by observer and cell. */
  readonly #running = new Set<string>();
  /** Failures of this process's worker, by observer and cell: how many, and when the last one was. */
  readonly #failed = new Map<string, { readonly times: number; readonly atMs: number }>();
  #isClosed = false;

  constructor(
    run: Run,
    process: SimulatedProcess,
    record: (startTimestamp: Timestamp) => Recording,
  ) {
    this.#run = run;
    this.#process = process;
    this.#record = record;
    this.observers = OBSERVERS.map(({ name, table, column }) => ({
      name,
      table,
      column,
      run: (transaction: Transaction, cell: DirtyCell) => this.#observe(name, transaction, cell),
    }));
  }

  /** The worker has said that it has stopped: nothing may happen any more (P50). */
  close(): void {
    this.#isClosed = true;
  }

  /** Told by the worker. */
  committed({ startTimestamp, commitTimestamp }: CommittedRun): void {
    if (this.#isClosed) this.#find('run after the stop', `a run committed at ${commitTimestamp}`);
    const recording = this.#recordings.get(startTimestamp);
    this.#recordings.delete(startTimestamp);
    if (recording === undefined || !this.#process.isAlive) return;
    recording.outcome = 'committed';
    recording.commitTimestamp = commitTimestamp;
    recording.endedAt = this.#run.world.timeline.ticks;
  }

  async #observe(
    observer: string,
    transaction: Transaction,
    { table, row, column }: DirtyCell,
  ): Promise<void> {
    const { startTimestamp } = transaction;
    const recording = this.#record(startTimestamp);
    const cell = `${table}/${row}:${column}`;
    recording.run = { observer, cell, weak: false }; // Weak ones are told by their lack of an acknowledgment.
    this.#recordings.set(startTimestamp, recording);
    const name = `${observer} ${cell}`;
    if (this.#running.has(name) && !this.#run.hasWeak) this.#find('twice at once', name);
    this.#running.add(name);
    try {
      this.#failIfPlanned(name);
      await this.#react(observer, row, transaction, recording);
    } finally {
      this.#running.delete(name);
    }
    recording.outcome = 'unknown'; // From here on its commit may be sent, and only `committed` hears of it.
  }

  async #react(
    observer: string,
    row: string,
    transaction: Transaction,
    recording: Recording,
  ): Promise<void> {
    const { startTimestamp, run } = recording;
    const cell = run?.cell ?? '';
    const value = await read(transaction, cell, recording);
    if (observer === 'copier') {
      const copy = value === undefined ? undefined : `${startTimestamp} copied ${value}`;
      write(transaction, `u/${row}:copy`, copy, recording);
    } else if (observer === 'counter') {
      const before = await read(transaction, `t/${row}:count`, recording);
      write(
        transaction,
        `t/${row}:count`,
        `${Number.parseInt(before ?? '0', 10) + 1} at ${startTimestamp}`,
        recording,
      );
    } else {
      write(transaction, `u/${row}:done`, `${startTimestamp} saw ${value}`, recording);
    }
  }

  #failIfPlanned(name: string): void {
    const { observerFailures, plan } = this.#run;
    const left = observerFailures.get(name) ?? plan.observerFailures;
    observerFailures.set(name, left - 1);
    const { nowMs } = this.#run.world.timeline;
    const before = this.#failed.get(name);
    const restMs = FAILURE_BACKOFF_MS * 2 ** ((before?.times ?? 1) - 1);
    // A weak and a strong notification of one cell fail and rest apart.
    if (before !== undefined && nowMs < before.atMs + restMs && !this.#run.hasWeak) {
      this.#find('no rest', `${name} runs ${nowMs - before.atMs} ms after it has failed`);
    }
    if (left <= 0) return;
    this.#failed.set(name, { times: (before?.times ?? 0) + 1, atMs: nowMs });
    throw new Error(`planned failure of ${name}`);
  }

  #find(claim: string, message: string): void {
    this.#run.world.umpire.find(`observers: ${claim}`, `${this.#process.name}: ${message}`);
  }
}
