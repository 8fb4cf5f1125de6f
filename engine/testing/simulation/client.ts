/**
 * A client process of a simulated run: the real engine on a simulated connection, clock and oracle,
 * working through its plan, and, if it is a worker, running observers.
 *
 * When it dies, its next life goes on with the next transaction of the plan, under a new name.
 */
import { audit, type AuditedTable } from '../../audit/index.ts';
import { assert, createRandom, isRetryable, PercolatorError } from '../../base/index.ts';
import { batchBigtable, type Bigtable, type Timestamp } from '../../bigtable/index.ts';
import {
  Collector,
  collectGarbage,
  type CollectorOptions,
  type CollectorServices,
} from '../../garbage-collection/index.ts';
import { LeaseWatch } from '../../lock-service/index.ts';
import { Worker } from '../../observer/index.ts';
import { batchTimestamps, openAllocator, type TimestampOracle } from '../../oracle/index.ts';
import {
  begin,
  type Context,
  createContext,
  isMark,
  outcomeOf,
  snapshotAt,
  transact,
} from '../../transaction/index.ts';
import type { Transaction } from '../../transaction/index.ts';
import { FAILURE_BACKOFF_MS, ObserverRuns, OBSERVERS } from './observers.ts';
import {
  CELLS,
  OBSERVED,
  type Operation,
  type ProcessPlan,
  TABLES,
  type TransactionPlan,
} from './plan.ts';
import { SimulatedProcess } from './process.ts';
import { perform, readOnly, type Recording, startRecording } from './recording.ts';
import type { Run } from './run.ts';
import { SimulatedBigtable } from './simulated-bigtable.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { leftLocks } from './storage.ts';
import { MESSAGE_LIFETIME_MS } from './world.ts';

/** How often `transact` tries: few times in the run, so that its failures are seen too; often at its end. */
const ATTEMPTS_MAX = 4;
const ATTEMPTS_MAX_AT_LAST = 200;
const AUDITED: readonly AuditedTable[] = TABLES.map((table) => ({
  table,
  observedColumns: OBSERVED[table],
  observersOf: (column) =>
    OBSERVERS.filter((one) => one.table === table && one.column === column).map(({ name }) => name),
}));

/** A collector in a hurry. */
const COLLECTING: CollectorOptions = {
  messageLifetimeMs: MESSAGE_LIFETIME_MS,
  rowsPerStep: 6,
  pauseMs: 1,
  restMs: 20,
};
const RIVAL_CELLS = ['t/a:c', 't/b:c'];
/** After a failure, before the next transaction. */
const REST_MS = 30;

export class Client {
  readonly process: SimulatedProcess;
  readonly clock: SimulatedClock;
  context: Context | undefined;
  worker: Worker | undefined;
  collector: Collector | undefined;
  runs: ObserverRuns | undefined;
  /** Loops that still work through the plan. The client is done when there are none. */
  loops = 0;
  readonly #run: Run;
  readonly #plan: ProcessPlan;
  /** When each start timestamp was asked for, until its transaction is recorded. */
  readonly #askedAt = new Map<Timestamp, number>();
  /** Every timestamp given, oldest first: moments of the past to look at. */
  readonly #given: { readonly timestamp: Timestamp; readonly atMs: number }[] = [];

  constructor(run: Run, plan: ProcessPlan, names: { readonly name: string; readonly id: number }) {
    const { world } = run;
    this.#run = run;
    this.#plan = plan;
    this.process = new SimulatedProcess(world.timeline, names, () => {
      run.died(this.process);
    });
    const { skewMs } = world.knobs;
    const skew = skewMs * (2 * world.draw(this.process, 0, 20) - 1);
    this.clock = new SimulatedClock(world.timeline, this.process, skew);
  }

  /** Opens the database. Nothing happens in it before that. */
  async open(): Promise<Context> {
    const { world, liveness } = this.#run;
    const store = new SimulatedBigtable(world, this.process);
    const services = {
      store: this.#batched(store),
      direct: store,
      oracle: this.#timed(await this.#openOracle(store)),
      clock: this.clock,
      random: createRandom(world.seed).fork(this.process.name),
      liveness: { self: this.process.name, isDead: (token: string) => liveness.isDead(token) },
      isObserved: (table: string, column: string) =>
        Promise.resolve(OBSERVED[table]?.includes(column) === true),
    };
    this.context = createContext(services, {
      lockTimeToLiveMs: world.knobs.lockTimeToLiveMs,
      leaseTimeToLiveMs: world.knobs.leaseTimeToLiveMs,
      lockWaitMsMax: 20 * world.knobs.lockTimeToLiveMs,
      inDoubtAttemptsMax: 4,
      backoffMsMax: 16,
      attemptsMax: world.troubled ? ATTEMPTS_MAX : ATTEMPTS_MAX_AT_LAST,
      prefetch: world.knobs.prefetch === true ? 'learn' : 'off',
    });
    if (this.#plan.worker) this.#startWorker(this.context);
    if (this.#plan.collector === true) this.collector = new Collector(this.#collecting, COLLECTING);
    return this.context;
  }

  /** Works through the plan: takes transactions from `next` until there are none. */
  start(next: () => TransactionPlan | undefined): void {
    const opened = this.open();
    for (let i = 0; i < this.#plan.concurrency; i++) {
      this.loops++;
      void this.#loop(opened, next).then(
        () => {
          this.loops--;
        },
        (error: unknown) => {
          this.#run.fail(error, this.process.name);
        },
      );
    }
  }

  /** Writes every cell without reading any: whoever holds a lock and is dead must not be in the way for ever (P21). */
  async writeBlindly(): Promise<void> {
    const { world } = this.#run;
    // Not those that are observed: a new change would hide that an old one's notification was lost.
    for (const cell of CELLS.filter((one) => !one.endsWith(':seen'))) {
      try {
        await this.#transactRecorded(this.#opened, [{ do: 'set', cell }]);
      } catch (error) {
        if (!isRetryable(error)) throw error;
        world.umpire.find('progress: blind writer starves', `${cell}: ${String(error)}`);
      }
    }
  }

  /**
   * Two rivals who write the same two cells, each beginning with another one, in step with each other: whoever
   * tries again at once meets the other one again, for ever (P23).
   */
  async contend(): Promise<void> {
    const { world } = this.#run;
    world.isInStep = true;
    const operations = RIVAL_CELLS.map((cell): Operation => ({ do: 'set', cell }));
    try {
      await Promise.all([
        this.#transactRecorded(this.#opened, operations),
        this.#transactRecorded(this.#opened, operations.toReversed()),
      ]);
    } catch (error) {
      if (!isRetryable(error)) throw error;
      world.umpire.find('progress: rivals starve', String(error));
    }
  }

  /** What an audit finds wrong in the tables, each in one line. Warnings do not count. */
  async audit(): Promise<readonly string[]> {
    const wrong: string[] = [];
    for await (const { code, severity, sentence } of audit(this.#opened, AUDITED)) {
      if (severity === 'error') wrong.push(`${code}: ${sentence}`);
    }
    return wrong;
  }

  /** Resolves every lock on the way. */
  async readEverything(): Promise<void> {
    for (const table of TABLES) {
      while (!(await this.#snapshot(this.#opened, [{ do: 'scan', table }]))) {
        await this.clock.sleep(10);
      }
    }
  }

  /** Until its observers have nothing left to do. */
  async idle(): Promise<void> {
    await this.worker?.idle();
  }

  /** One whole cycle. */
  async collect(): Promise<void> {
    for (;;) {
      try {
        const { completed } = await collectGarbage(this.#collecting, COLLECTING);
        if (completed) return;
      } catch (error) {
        if (!isRetryable(error)) throw error;
      }
    }
  }

  get #collecting(): CollectorServices {
    const context = this.#opened;
    const watch = new LeaseWatch(context.store, this.clock);
    return { context, watch, listTables: () => Promise.resolve([...TABLES]) };
  }

  get #opened(): Context {
    assert(this.context !== undefined, 'the client was opened');
    return this.context;
  }

  async #loop(opened: Promise<Context>, next: () => TransactionPlan | undefined): Promise<void> {
    const context = await opened;
    for (let plan = next(); plan !== undefined; plan = next()) await this.#perform(context, plan);
  }

  #batched(store: SimulatedBigtable): Bigtable {
    const { batching } = this.#run.world.knobs;
    const options = batching && { ...batching, isUrgent: isMark };
    return batchBigtable(store, this.clock, options ?? 'off').store;
  }

  async #openOracle(store: SimulatedBigtable): Promise<TimestampOracle> {
    const { world, oracles } = this.#run;
    if (oracles !== undefined) return batchTimestamps(oracles.sourceFor(this.process));
    const { rangeSize } = world.knobs;
    return batchTimestamps(
      await openAllocator(store, { rangeSize, owner: this.process.name, clock: this.clock }),
    );
  }

  /** Notes when each timestamp was asked for. */
  #timed(oracle: TimestampOracle): TimestampOracle {
    const { timeline } = this.#run.world;
    return {
      get horizon() {
        return oracle.horizon;
      },
      readHorizon: () => oracle.readHorizon(),
      raiseHorizon: (horizon) => oracle.raiseHorizon(horizon),
      next: async () => {
        const askedAt = timeline.ticks;
        const timestamp = await oracle.next();
        this.#askedAt.set(timestamp, askedAt);
        this.#given.push({ timestamp, atMs: timeline.nowMs });
        return timestamp;
      },
    };
  }

  #startWorker(context: Context): void {
    const runs = (this.runs = new ObserverRuns(this.#run, this.process, (startTimestamp) =>
      this.#record(startTimestamp),
    ));
    this.worker = new Worker(context, runs.observers, {
      concurrency: 4,
      scanRows: 8,
      idleMs: this.#plan.transactions.length > 0 ? 300 : 20,
      failureBackoffMs: FAILURE_BACKOFF_MS,
      rangeLocks: this.#run.scanLocks?.locksFor(this.process),
      onCommitted: (committed) => {
        runs.committed(committed);
      },
    });
  }

  #record(startTimestamp: Timestamp): Recording {
    const recording = startRecording(
      this.process,
      startTimestamp,
      this.#askedAt.get(startTimestamp) ?? 0,
    );
    this.#askedAt.delete(startTimestamp);
    this.#run.transactions.push(recording);
    return recording;
  }

  async #perform(context: Context, plan: TransactionPlan): Promise<void> {
    switch (plan.kind) {
      case 'begin':
        return this.#byHand(context, plan);
      case 'transact':
        return this.#transact(context, plan);
      case 'snapshot':
        await this.#snapshot(context, plan.operations, this.#timestampOf(plan.agoMs));
    }
  }

  async #byHand(context: Context, { operations }: TransactionPlan): Promise<void> {
    let recording: Recording | undefined;
    let transaction: Transaction | undefined;
    try {
      transaction = await begin(context);
      recording = this.#record(transaction.startTimestamp);
      await perform(this.clock, transaction, operations, recording);
      recording.outcome = 'unknown';
      const committed = await transaction.commit();
      const wrote = recording.writes.length + recording.locks.length > 0;
      this.#heard(recording, 'committed', wrote ? committed : undefined);
      this.#expectSecondPhase(recording.startTimestamp);
    } catch (error) {
      transaction?.discard();
      await this.#failed(context, recording, error);
    }
  }

  async #transact(context: Context, { operations }: TransactionPlan): Promise<void> {
    const recordings: Recording[] = [];
    try {
      await this.#transactRecorded(context, operations, recordings);
    } catch (error) {
      await this.#failed(context, recordings.at(-1), error);
    }
  }

  /** Adds its attempts to `recordings`; the last one may have failed in any way if it rejects. */
  async #transactRecorded(
    context: Context,
    operations: readonly Operation[],
    recordings: Recording[] = [],
  ): Promise<void> {
    await transact(context, async (transaction) => {
      const before = recordings.at(-1);
      if (before !== undefined) this.#heard(before, 'failed'); // Or it would not run again.
      const recording = this.#record(transaction.startTimestamp);
      recordings.push(recording);
      await perform(this.clock, transaction, operations, recording);
      recording.outcome = 'unknown';
    });
    const last = recordings.at(-1);
    if (last !== undefined) this.#heard(last, 'committed');
  }

  /** Resolves to whether it could be read to its end. */
  async #snapshot(
    context: Context,
    operations: readonly Operation[],
    timestamp?: Timestamp,
  ): Promise<boolean> {
    try {
      await using reader = await snapshotAt(context, timestamp);
      const recording = this.#record(reader.startTimestamp);
      recording.past = timestamp !== undefined;
      for (const operation of operations) {
        if (operation.do === 'think') await this.clock.sleep(operation.ms);
        else await readOnly(reader, operation, recording);
      }
      await reader.close();
      this.#heard(recording, 'committed');
      return true;
    } catch (error) {
      await this.#failed(context, undefined, error);
      return false;
    }
  }

  #expectSecondPhase(startTimestamp: Timestamp): void {
    const { timeline, knobs, umpire } = this.#run.world;
    if (!umpire.isCalm) return;
    const look = (): void => umpire.committed(startTimestamp, () => leftLocks(this.#run.world));
    // In a busy lane of batches it takes as long as it takes.
    if (knobs.batching === undefined) timeline.after(3 * knobs.delayMsMax + 2, look);
    else void Promise.all(this.#opened.background).then(look);
  }

  /** A start timestamp that this client was given so long ago. */
  #timestampOf(agoMs: number | undefined): Timestamp | undefined {
    if (agoMs === undefined) return undefined;
    const { nowMs } = this.#run.world.timeline;
    return this.#given.findLast(({ atMs }) => atMs <= nowMs - agoMs)?.timestamp;
  }

  #heard(recording: Recording, outcome: Recording['outcome'], commitTimestamp?: Timestamp): void {
    if (!this.process.isAlive) return;
    recording.outcome = outcome;
    recording.commitTimestamp = commitTimestamp;
    recording.endedAt = this.#run.world.timeline.ticks;
  }

  async #failed(context: Context, recording: Recording | undefined, error: unknown): Promise<void> {
    const { world } = this.#run;
    if (error instanceof PercolatorError && error.code === 'COMMIT_UNKNOWN') {
      this.#run.unknowns++;
      await this.#ask(context, error);
      return;
    }
    // A mistake in the plan, which shrinking may make: a weak notification alone.
    const isRefused = error instanceof PercolatorError && error.code === 'INVALID_ARGUMENT';
    if (!isRetryable(error) && !isRefused) throw error;
    if (recording !== undefined && this.process.isAlive) {
      this.#heard(recording, 'failed');
      const code = error instanceof PercolatorError ? error.code : '';
      world.umpire.failed(recording.startTimestamp, code, () => leftLocks(world));
    }
    await this.clock.sleep(REST_MS); // Or a short outage would fail the whole plan.
  }

  /** Asks how it ended after all; what is answered must be true. */
  async #ask(context: Context, { transaction }: PercolatorError): Promise<void> {
    if (transaction === undefined) throw new Error('COMMIT_UNKNOWN names its transaction');
    try {
      const outcome = await outcomeOf(context, transaction);
      if (this.process.isAlive) this.#run.answers.push({ ...transaction, outcome });
    } catch (error) {
      if (!isRetryable(error) && !isInDoubt(error)) throw error;
      if (!(error instanceof PercolatorError) || error.code !== 'LOCKED') return;
      const whose = `its own transaction of ${transaction.startTimestamp}, which it has given up`;
      this.#run.world.umpire.find(
        'liveness: waits for itself',
        `${this.process.name} waits for ${whose}`,
      );
    }
  }
}

function isInDoubt(error: unknown): boolean {
  return error instanceof PercolatorError && error.code === 'STORE_IN_DOUBT';
}
