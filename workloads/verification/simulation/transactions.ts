/**
 * The transactions of one client process, in one of its lives: performs those of the plan through
 * the public API, and records what the client is told.
 */
import { hasCode, isRetryable, PercolatorError } from '../../../engine/base/index.ts';
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import { type TimestampOracle, withNext } from '../../../engine/oracle/index.ts';
import type { Percolator } from '../../../engine/percolator.ts';
import type { Transaction } from '../../../engine/transaction/index.ts';
import { type PlannedOperation, SCRATCH, SPLITS, type TransactionPlan } from './plan.ts';
import type { SimulatedClock, SimulatedProcess } from './process.ts';
import {
  expectRefused,
  perform,
  readOnly,
  type TransactionRecording,
  type RecordingOptions,
  startRecording,
} from './recording.ts';
import type { SimulatedRun } from './run.ts';
import { leftLocks } from './storage.ts';

/** The rest after a failure, before the next transaction. */
const REST_MS = 30;

export class Transactions {
  readonly scribe: RecordingOptions;
  /** The number of transactions that have failed, with any error. */
  failed = 0;
  /** Whether the database may have been closed under a transaction. */
  mayBeClosed = false;
  readonly #run: SimulatedRun;
  readonly #process: SimulatedProcess;
  readonly #clock: SimulatedClock;
  /** When each start timestamp was asked for, until its transaction is recorded. */
  readonly #askedAt = new Map<Timestamp, number>();
  /** Every timestamp received, oldest first: moments of the past for snapshots. */
  readonly #given: { readonly timestamp: Timestamp; readonly atMs: number }[] = [];

  constructor(run: SimulatedRun, process: SimulatedProcess, clock: SimulatedClock) {
    const { world } = run;
    this.#run = run;
    this.#process = process;
    this.#clock = clock;
    this.scribe = {
      clock,
      names: world.names,
      find: (claim, message) => {
        world.umpire.find(claim, `${process.name}: ${message}`);
      },
      reading: (startTimestamp) => world.asked(process, startTimestamp),
    };
  }

  /** Notes when each timestamp was asked for. */
  timed(oracle: TimestampOracle): TimestampOracle {
    const { timeline } = this.#run.world;
    // Not `async`: timestamps of one answer must be heard in one turn, as without this wrapper.
    return withNext(oracle, () => {
      const askedAt = timeline.ticks;
      return oracle.next().then((timestamp) => {
        this.#askedAt.set(timestamp, askedAt);
        this.#given.push({ timestamp, atMs: timeline.nowMs });
        return timestamp;
      });
    });
  }

  record(startTimestamp: Timestamp): TransactionRecording {
    const recording = this.#recordAsked(startTimestamp, this.#askedAt.get(startTimestamp));
    this.#askedAt.delete(startTimestamp);
    return recording;
  }

  /** @param askedAt absent for a snapshot of the past, of which real time demands nothing */
  #recordAsked(startTimestamp: Timestamp, askedAt = 0): TransactionRecording {
    const recording = startRecording(this.#process.name, startTimestamp, askedAt);
    this.#run.transactions.push(recording);
    return recording;
  }

  async perform(percolator: Percolator, plan: TransactionPlan): Promise<void> {
    if (plan.begins !== undefined) {
      const { everyMs, plusMs } = plan.begins;
      await this.#clock.sleep(everyMs - (this.#clock.monotonicMs() % everyMs) + plusMs);
    }
    switch (plan.kind) {
      case 'begin':
        return this.#byHand(percolator, plan);
      case 'transact':
        return this.#transact(percolator, plan);
      case 'replay':
        return this.#replay(percolator, plan);
      case 'recreate':
        return this.#recreate(percolator, plan);
      case 'snapshot':
        await this.snapshot(percolator, plan.operations, this.#timestampOf(plan.agoMs));
    }
  }

  /**
   * Adds a recording of each attempt to `recordings`. If the promise rejects, the last attempt
   * failed in some way.
   */
  async transactRecorded(
    percolator: Percolator,
    operations: readonly PlannedOperation[],
    recordings: TransactionRecording[] = [],
  ): Promise<void> {
    await percolator.transact(async (transaction) => {
      const before = recordings.at(-1);
      if (before !== undefined) this.#heard(before, 'failed'); // Or it would not run again.
      const recording = this.record(transaction.startTimestamp);
      recordings.push(recording);
      await perform(this.scribe, transaction, operations, recording);
      recording.outcome = 'unknown';
    });
    const last = recordings.at(-1);
    if (last !== undefined) this.#heard(last, 'committed');
  }

  /** Resolves to whether the snapshot could be read to its end. */
  async snapshot(
    percolator: Percolator,
    operations: readonly PlannedOperation[],
    timestamp?: Timestamp,
  ): Promise<boolean> {
    try {
      await using reader = await percolator.snapshot(timestamp);
      const { startTimestamp } = reader;
      const isPast = timestamp !== undefined;
      const recording = isPast ? this.#recordAsked(startTimestamp) : this.record(startTimestamp);
      recording.past = isPast;
      for (const operation of operations) {
        if (operation.do === 'think') await this.#clock.sleep(operation.ms);
        else await readOnly(this.scribe, reader, operation, recording);
      }
      await reader.close();
      this.#heard(recording, 'committed');
      return true;
    } catch (error) {
      await this.#failed(percolator, undefined, error);
      return false;
    }
  }

  /**
   * Whether the error says that the scratch table is missing. No other table may ever be missing,
   * even if the primary of one of its locks was in the scratch table.
   */
  isGone(error: unknown): boolean {
    const { plan, world } = this.#run;
    if (plan.knobs.drops !== true || !hasCode(error, 'TABLE_NOT_FOUND')) return false;
    return new RegExp(`\\btable ${world.names.table(SCRATCH)}(\\.|$|[^\\w.])`).test(error.message);
  }

  /** Whether the error says that the database was closed, as planned. */
  wasClosed(error: unknown): boolean {
    return this.mayBeClosed && hasCode(error, 'STORE_CLOSED');
  }

  async #byHand(percolator: Percolator, { operations }: TransactionPlan): Promise<void> {
    let recording: TransactionRecording | undefined;
    let transaction: Transaction | undefined;
    try {
      transaction = await percolator.begin();
      recording = this.record(transaction.startTimestamp);
      await perform(this.scribe, transaction, operations, recording);
      recording.outcome = 'unknown';
      const committed = await transaction.commit();
      const wrote = recording.writes.length + recording.locks.length > 0;
      this.#heard(recording, 'committed', wrote ? committed : undefined);
      this.#expectSecondPhase(percolator, recording.startTimestamp);
    } catch (error) {
      if (recording?.outcome === 'unknown' && transaction) await this.#expectOver(transaction);
      transaction?.discard();
      await this.#failed(percolator, recording, error);
    }
    if (transaction) await this.#expectOver(transaction);
  }

  /** A transaction that has committed or failed neither reads nor commits any more. */
  async #expectOver(transaction: Transaction): Promise<void> {
    const { startTimestamp } = transaction;
    const cell = this.#run.world.names.address('t/a:c');
    await expectRefused(this.scribe, startTimestamp, () => transaction.get(cell));
    await expectRefused(this.scribe, startTimestamp, () => transaction.commit());
  }

  async #transact(percolator: Percolator, { operations }: TransactionPlan): Promise<void> {
    const recordings: TransactionRecording[] = [];
    try {
      await this.transactRecorded(percolator, operations, recordings);
    } catch (error) {
      await this.#failed(percolator, recordings.at(-1), error);
    }
  }

  async #replay(percolator: Percolator, { operations }: TransactionPlan): Promise<void> {
    try {
      for (const operation of operations) {
        if (operation.do !== 'scan') continue;
        const table = this.#run.world.names.table(operation.table);
        for (const cell of await percolator.listParked(table)) {
          await percolator.replayParked(cell);
          this.#run.replayed++;
        }
      }
    } catch (error) {
      if (!hasCode(error, 'STORE_IN_DOUBT')) await this.#failed(percolator, undefined, error);
    }
  }

  /** Each step may fail on its own; then the table is unchanged, or missing for a while. */
  async #recreate(
    percolator: Percolator,
    { observedColumns = [] }: TransactionPlan,
  ): Promise<void> {
    const { names } = this.#run.world;
    const table = names.table(SCRATCH);
    const columns = observedColumns.map((column) => names.column(column));
    try {
      await percolator.dropTable(table);
      this.#run.dropped++;
      await percolator.createTable(table, { observedColumns: columns, splits: SPLITS });
    } catch (error) {
      if (hasCode(error, 'TABLE_MISMATCH')) return; // Another client was faster.
      if (!hasCode(error, 'STORE_IN_DOUBT')) await this.#failed(percolator, undefined, error);
    }
  }

  #expectSecondPhase(percolator: Percolator, startTimestamp: Timestamp): void {
    const { timeline, knobs, umpire } = this.#run.world;
    if (!umpire.isCalm) return;
    const look = (): void => umpire.committed(startTimestamp, () => leftLocks(this.#run.world));
    // In a busy lane of batches the time is not bounded.
    if (knobs.batching === undefined) timeline.after(3 * knobs.delayMsMax + 2, look);
    else void percolator.settled().then(look);
  }

  /** The newest timestamp that this client received at least `agoMs` ago. */
  #timestampOf(agoMs: number | undefined): Timestamp | undefined {
    if (agoMs === undefined) return undefined;
    const { nowMs } = this.#run.world.timeline;
    return this.#given.findLast(({ atMs }) => atMs <= nowMs - agoMs)?.timestamp;
  }

  #heard(
    recording: TransactionRecording,
    outcome: TransactionRecording['outcome'],
    commitTimestamp?: Timestamp,
  ): void {
    if (!this.#process.isAlive) return;
    recording.outcome = outcome;
    recording.commitTimestamp = commitTimestamp;
    recording.endedAt = this.#run.world.timeline.ticks;
  }

  async #failed(
    percolator: Percolator,
    recording: TransactionRecording | undefined,
    error: unknown,
  ): Promise<void> {
    const { world } = this.#run;
    this.failed++;
    if (hasCode(error, 'COMMIT_UNKNOWN')) {
      this.#run.unknowns++;
      await this.#ask(percolator, error);
      return;
    }
    // A mistake in the plan, which shrinking may make: a weak notification alone.
    const isRefused = hasCode(error, 'INVALID_ARGUMENT');
    const isExpected = isRefused || this.isGone(error) || this.wasClosed(error);
    if (!isRetryable(error) && !isExpected) throw error;
    if (recording !== undefined && this.#process.isAlive) {
      this.#heard(recording, 'failed');
      const code = error instanceof PercolatorError ? error.code : '';
      world.umpire.failed(recording.startTimestamp, code, () => leftLocks(world));
    }
    await this.#clock.sleep(REST_MS); // Without it, a short outage would fail the whole plan.
  }

  /** Asks for the actual outcome; the answer must be true. */
  async #ask(percolator: Percolator, { transaction }: PercolatorError): Promise<void> {
    if (transaction === undefined) throw new Error('COMMIT_UNKNOWN names its transaction');
    try {
      const outcome = await percolator.outcomeOf(transaction);
      if (this.#process.isAlive) this.#run.answers.push({ ...transaction, outcome });
    } catch (error) {
      const isInDoubt = hasCode(error, 'STORE_IN_DOUBT');
      const isExpected = isInDoubt || this.isGone(error) || this.wasClosed(error);
      if (!isRetryable(error) && !isExpected) throw error;
      if (!hasCode(error, 'LOCKED')) return;
      const whose = `its own transaction of ${transaction.startTimestamp}, which it has given up`;
      this.scribe.find('liveness: waits for itself', `waits for ${whose}`);
    }
  }
}
