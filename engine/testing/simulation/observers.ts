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

/** The runs of one process's observers. */
export class ObserverRuns {
  readonly observers: readonly Observer[];
  readonly #run: Run;
  readonly #process: SimulatedProcess;
  readonly #record: (startTimestamp: Timestamp) => Recording;
  readonly #recordings = new Map<Timestamp, Recording>();

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

  /** Told by the worker. */
  committed({ startTimestamp, commitTimestamp }: CommittedRun): void {
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
    this.#failIfPlanned(`${observer} ${cell}`);
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
    recording.outcome = 'unknown'; // From here on its commit may be sent, and only `committed` hears of it.
  }

  #failIfPlanned(name: string): void {
    const { observerFailures, plan } = this.#run;
    const left = observerFailures.get(name) ?? plan.observerFailures;
    observerFailures.set(name, left - 1);
    if (left > 0) throw new Error(`planned failure of ${name}`);
  }
}
