/**
 * A client process of a simulated run: a database of the public API (percolator.ts) on a simulated
 * connection, clock and oracle. It works through its plan and, if planned, runs observers and
 * collects garbage.
 *
 * When it dies, or has closed the database and exited, its next life continues with the next
 * transaction of the plan, under a new name.
 */
import {
  type Clock,
  createRandom,
  hasCode,
  isFinal,
  type WarningKind,
} from '../../../engine/base/index.ts';
import { type Bigtable, decorate } from '../../../engine/bigtable/index.ts';
import type { Collector, CollectorOptions } from '../../../engine/garbage-collection/index.ts';
import type { Worker } from '../../../engine/observer/index.ts';
import {
  batchTimestamps,
  openAllocator,
  type TimestampOracle,
} from '../../../engine/oracle/index.ts';
import { openPercolator, type Percolator } from '../../../engine/percolator.ts';
import { Follower } from './follower.ts';
import { GivenOracle } from './given-oracle.ts';
import { hbaseOf } from './hbase/database-run.ts';
import type { Mischief } from './knobs.ts';
import { clockOf, type Machine, untilOpen } from './machine.ts';
import { FAILURE_BACKOFF_MS, ObserverRuns, PlannedFailure } from './observers.ts';
import { SHARED_COLUMNS } from './loads.ts';
import {
  OBSERVED,
  type ProcessPlan,
  SCRATCH,
  SPLITS,
  TABLES,
  type TransactionPlan,
} from './plan.ts';
import { type SimulatedClock, SimulatedProcess } from './process.ts';
import type { SimulatedRun } from './run.ts';
import { SimulatedBigtable } from './simulated-bigtable.ts';
import { locksOf } from './storage.ts';
import { Transactions } from './transactions.ts';
import { MESSAGE_LIFETIME_MS } from './world.ts';

/**
 * How often `transact` tries: a few times during warning, so that its failures are seen too; often
 * in the peace at the end.
 */
const ATTEMPTS_MAX = 4;
const ATTEMPTS_MAX_AT_LAST = 200;
/** A collector with short pauses, which waits no longer than its store says. */
export function collectingOn({
  manifest,
}: Bigtable): CollectorOptions & { readonly restMs: number } {
  const { messageLifetimeMs = MESSAGE_LIFETIME_MS } = manifest;
  return { messageLifetimeMs, rowsPerStep: 6, pauseMs: 1, restMs: 20, onWarning: () => {} };
}
/** The warnings that only mischief may cause (mischief.ts). */
const MISCHIEF_OF: Partial<Record<WarningKind, Mischief>> = { loop: 'loop', observers: 'differ' };
/** By default cells are never parked: this is more failures than any plan has. */
const FAILURES_MAX = 1_000;
/**
 * Time between the closing of the database and the end of the process, in which nothing may be sent
 * any more.
 */
const EXIT_MS = 100;
/** How many times to live of a lock a transaction waits at most, and a database that closes. */
const LOCK_WAITS = 20;
/** More than a commit and its second phase need, one after another, and the end of the lease. */
const CLOSING_TRIPS = 30;

export class SimulatedClient implements Machine {
  readonly process: SimulatedProcess;
  readonly clock: SimulatedClock;
  readonly store: Bigtable;
  readonly transactions: Transactions;
  percolator: Percolator | undefined;
  worker: Worker | undefined;
  collector: Collector | SingleCycles | undefined;
  follower: Follower | undefined;
  runs: ObserverRuns | undefined;
  /** Loops that still work through the plan. The client has finished when there are none. */
  loops = 0;
  readonly #run: SimulatedRun;
  readonly #plan: ProcessPlan;
  readonly #life: number;
  /** Default: the engine's. */
  readonly #unansweredMsMax: number | undefined;
  /** Otherwise it never meets an oracle of another database. */
  readonly #beganInTrouble: boolean;
  #isLeaving = false;
  /** The database, or the next one, while this one is being closed and opened again. */
  #opened: Promise<Percolator> | undefined;
  #isOpen = false;
  /** How often it was closed to be opened again. */
  #reopened = 0;
  /** Of the database that is open. */
  #given: GivenOracle | undefined;

  constructor(
    run: SimulatedRun,
    plan: ProcessPlan,
    names: { readonly name: string; readonly id: number; readonly life: number },
    unansweredMsMax?: number,
  ) {
    const { world } = run;
    this.#unansweredMsMax = unansweredMsMax;
    this.#life = names.life;
    this.#beganInTrouble = world.troubled;
    this.#run = run;
    this.#plan = plan;
    this.process = new SimulatedProcess(world.timeline, names, () => {
      run.died(this.process);
    });
    this.clock = clockOf(world, this.process);
    this.store =
      hbaseOf(world, this.process, this.clock) ?? new SimulatedBigtable(world, this.process);
    this.transactions = new Transactions(run, this.process, this.clock);
  }

  /** Opens the database; the first life also creates the tables. */
  async open(): Promise<Percolator> {
    const percolator = await untilOpen(this.clock, () => this.#tryToOpen());
    this.percolator = percolator;
    if (this.#life === 0) await this.#createTables(percolator);
    if (this.#isLeaving) return percolator;
    this.#startWork(percolator);
    return percolator;
  }

  #startWork(percolator: Percolator): void {
    if (this.#plan.worker) this.#startWorker(percolator);
    if (this.#plan.collector === true) {
      const options = collectingOn(this.store);
      this.collector =
        this.#run.world.knobs.fences === true
          ? new SingleCycles(percolator, this.clock, options)
          : percolator.startCollector(options);
      this.#orFail(this.collector.ended);
    }
    if (this.#plan.follows !== undefined) this.#follow(percolator);
    this.#isOpen = true;
  }

  /** Once: it goes on when the database is opened again. */
  #follow(percolator: Percolator): void {
    if (this.follower !== undefined) return;
    const { clock, transactions } = this;
    const opened = async (): Promise<Percolator> => (await this.#opened) ?? percolator;
    this.follower = new Follower(this.#run, this.#plan, { clock, transactions, opened });
    this.#orFail(this.follower.ended);
  }

  /** Whether the database is open, and neither the database nor the process is about to end. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#isLeaving;
  }

  /** Closes the database in the middle of its work, and opens it again. */
  reopen(): void {
    const { percolator } = this;
    if (percolator === undefined || !this.isOpen) return;
    this.#isOpen = false;
    this.#reopened++;
    this.transactions.mayBeClosed = true;
    this.loops++; // Until then, the client has not finished.
    this.#opened = this.#openAgain(percolator);
    this.#orFail(this.#opened.then(() => void this.loops--));
  }

  async #openAgain(before: Percolator): Promise<Percolator> {
    const beganMs = this.#run.world.timeline.nowMs;
    await this.#close(before);
    // A database that waits in vain for its commits lets go of them, and one may still be applied.
    const { timeline, knobs } = this.#run.world;
    const hasWaited = timeline.nowMs - beganMs > (LOCK_WAITS * knobs.lockTimeToLiveMs) / 2;
    if (!hasWaited) this.runs?.close();
    this.#judgeClosed(beganMs);
    const percolator = await untilOpen(this.clock, () => this.#tryToOpen());
    this.percolator = percolator;
    this.#startWork(percolator);
    return percolator;
  }

  async #close(database: Percolator | undefined): Promise<void> {
    await database?.close();
    this.#given?.close();
  }

  /** If nothing else goes wrong, commits in flight end soon, and leave no locks (P81). */
  #judgeClosed(beganMs: number): void {
    const { world } = this.#run;
    const { umpire, knobs, timeline } = world;
    if (!umpire.isGentle) return;
    const left = locksOf(world, this.process.name);
    if (left.length > 0) {
      umpire.find(
        'close: locks left',
        `${this.process.name} has closed its database: ${left.join(', ')}`,
      );
    }
    const tookMs = timeline.nowMs - beganMs;
    const mayTakeMs = CLOSING_TRIPS * 2 * knobs.delayMsMax;
    if (knobs.batching !== undefined || tookMs <= mayTakeMs) return;
    umpire.find('durations: close', `it took ${tookMs} ms, more than ${mayTakeMs}`);
  }

  async #createTables(percolator: Percolator): Promise<void> {
    const { world } = this.#run;
    for (const name of TABLES) {
      const observedColumns = OBSERVED[name].map((column) => world.names.column(column));
      const sharedColumns = SHARED_COLUMNS[name]?.map((column) => world.names.column(column));
      const table = world.names.table(name);
      const definition = { observedColumns, sharedColumns, splits: SPLITS };
      try {
        await untilOpen(this.clock, () => percolator.createTable(table, definition));
      } catch (error) {
        // The table exists with other columns, because it was created again.
        if (name !== SCRATCH || !hasCode(error, 'TABLE_MISMATCH')) throw error;
      }
    }
  }

  /** Works through the plan: takes transactions from `next` until there are none. */
  start(next: () => TransactionPlan | undefined): void {
    this.#opened = this.open();
    for (let i = 0; i < Math.max(1, this.#plan.concurrency); i++) {
      this.loops++;
      this.#orFail(
        this.#loop(next).then(() => {
          this.loops--;
        }),
      );
    }
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Finishes its open work, closes the database, and exits. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#orFail(this.#leave());
  }

  async #leave(): Promise<void> {
    while (this.loops > 0) await this.clock.sleep(1);
    await this.worker?.stop();
    this.runs?.close();
    await this.collector?.stop();
    await this.follower?.stop();
    await this.#close(this.percolator);
    const { messages } = this.process;
    this.#run.world.tell?.(this.process.name, 'has closed the database');
    await this.clock.sleep(EXIT_MS);
    // If one of several reads sent together failed, and with it a transaction, the others may still
    // be in flight.
    if (this.process.messages > messages && this.transactions.failed === 0) {
      this.#goesOn(`has sent ${this.process.messages - messages} messages`);
    }
    this.process.kill();
  }

  /** A closed database is not at rest (P81). */
  #goesOn(what: string): void {
    const message = `${this.process.name} ${what} after it had closed the database`;
    this.#run.world.umpire.find('close: goes on', message);
  }

  #orFail(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (this.transactions.wasClosed(error)) return; // The end of a worker or of a collector.
      if (!this.#isMisled(error)) this.#run.fail(error, this.process.name);
      else if (this.#run.world.troubled) this.process.kill();
    });
  }

  /**
   * Whether the error says, rightly, that the store has been lost, or that the oracle belongs to
   * the second database of the run. Then an operator fixes the configuration, and starts the
   * process again.
   */
  #isMisled(error: unknown): boolean {
    const { isLost, knobs } = this.#run.world;
    const canBe = isLost || (this.#beganInTrouble && knobs.secondDatabase !== undefined);
    return canBe && hasCode(error, 'WRONG_DATABASE');
  }

  /** Stops worker and collector, which may have ended already because they were misled. */
  async stopBackground(): Promise<void> {
    try {
      await this.worker?.stop();
      await this.collector?.stop();
      await this.follower?.stop();
    } catch (error) {
      if (!this.#isMisled(error)) throw error;
    }
  }

  async #loop(next: () => TransactionPlan | undefined): Promise<void> {
    for (;;) {
      const percolator = await this.#opened;
      const plan = this.#isLeaving ? undefined : next();
      if (plan === undefined || percolator === undefined) return;
      await this.transactions.perform(percolator, plan);
    }
  }

  async #tryToOpen(): Promise<Percolator> {
    const { world, liveness } = this.#run;
    const { knobs } = world;
    const given = new GivenOracle(() => this.#goesOn('has asked its oracle'));
    const oracle = await this.#openOracle(given);
    this.#given = given;
    return openPercolator({
      store: this.store,
      batching: knobs.batching,
      oracle: given.entrance(this.transactions.timed(oracle)),
      clock: this.clock,
      random: createRandom(world.seed).fork(this.process.name),
      liveness: { self: this.process.name, isDead: (token: string) => liveness.isDead(token) },
      lockTimeToLiveMs: knobs.lockTimeToLiveMs,
      leaseTimeToLiveMs: knobs.leaseTimeToLiveMs,
      lockWaitMsMax: LOCK_WAITS * knobs.lockTimeToLiveMs,
      inDoubtAttemptsMax: 4,
      backoffMsMax: 16,
      attemptsMax: world.troubled ? ATTEMPTS_MAX : ATTEMPTS_MAX_AT_LAST,
      unansweredMsMax: this.#unansweredMsMax,
      prefetch: knobs.prefetch === true ? 'learn' : 'off',
    });
  }

  async #openOracle(given: GivenOracle): Promise<TimestampOracle> {
    const { world, oracles } = this.#run;
    if (oracles !== undefined) return oracles.clientFor(this, given);
    const { rangeSize } = world.knobs;
    // Two owners of one name would hand out the same timestamps.
    const again = this.#reopened === 0 ? '' : `, opened again ${this.#reopened}`;
    const options = { rangeSize, owner: `${this.process.name}${again}`, clock: this.clock };
    const { store } = this;
    const untilClosed = decorate(store, {
      readRow: (...asked) => given.refusal() ?? store.readRow(...asked),
      checkAndMutateRow: (conditional) => given.refusal() ?? store.checkAndMutateRow(conditional),
    });
    return batchTimestamps(await openAllocator(untilClosed, options));
  }

  #startWorker(percolator: Percolator): void {
    const { knobs } = this.#run.world;
    const runs = (this.runs = new ObserverRuns(this.#run, this.process, this.transactions));
    this.worker = percolator.startWorker(runs.observers, {
      concurrency: 4,
      scanRows: 8,
      idleMs: this.#plan.transactions.length > 0 ? 300 : 20,
      failureBackoffMs: FAILURE_BACKOFF_MS,
      failuresMax: knobs.failuresMax ?? FAILURES_MAX,
      rangeLocks: this.#run.scanLocks?.locksFor(this.process),
      slowMs: 5_000,
      loopRuns: 20,
      onWarning: ({ kind, sentence, isOver }) => {
        const isPlanned = knobs.mischief === MISCHIEF_OF[kind];
        if (isOver || MISCHIEF_OF[kind] === undefined || isPlanned) return;
        this.#run.world.umpire.find(`observers: false alarm`, `${this.process.name}: ${sentence}`);
      },
      onFailure: ({ cell, error, parked }) => {
        if (parked) runs.parked(cell);
        const isExpected = this.transactions.isGone(error) || this.transactions.wasClosed(error);
        if (error instanceof PlannedFailure || isExpected) return;
        this.#run.fail(error, this.process.name);
      },
      onCommitted: (committed) => {
        runs.committed(committed);
      },
    });
    this.#orFail(this.worker.ended);
  }
}

/*
 * Collects garbage by single cycles, one after the other, as a program that calls `collectGarbage`
 * by a timetable. Unlike a collector, each cycle looks at every row, and sets a fence where it can.
 */

class SingleCycles {
  readonly counters = { cellsDeleted: 0 };
  /** Rejects with what ends them, if they are not stopped. */
  readonly ended: Promise<void>;
  readonly #stopping = new AbortController();

  /** @param restMs between two cycles */
  constructor(
    percolator: Percolator,
    clock: Clock,
    options: CollectorOptions & { readonly restMs: number },
  ) {
    this.ended = this.#run(percolator, clock, options);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ended;
  }

  async #run(
    percolator: Percolator,
    clock: Clock,
    options: CollectorOptions & { readonly restMs: number },
  ): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const { cellsDeleted } = await percolator.collectGarbage({ ...options, signal });
        this.counters.cellsDeleted += cellsDeleted;
      } catch (error) {
        if (isFinal(error)) throw error;
      }
      await clock.sleep(options.restMs, signal);
    }
  }
}
