/**
 * A process: the real engine, in an environment in which nothing happens until it is told to.
 *
 * Its messages lie in `outstanding` until one is answered with `hear`, which resolves when the
 * process has done all it can and waits again. Only the answers decide what it does: it has a clock
 * of its own, no randomness, and its leases go to a separate storage, which answers at once.
 *
 * Short sleeps end at once. That loses nothing: a process that sleeps before it sends acts like one
 * whose message takes long. Long sleeps never end: heartbeats, renewals of leases.
 */
import {
  type Clock,
  PercolatorError,
  type Random,
  systemClock,
} from '../../../engine/base/index.ts';
import { answersTo } from '../../../engine/bigtable/decorate.ts';
import type { Bigtable, Row, Timestamp } from '../../../engine/bigtable/index.ts';
import { createMemoryBigtable } from '../../../engine/testing/memory-bigtable.ts';
import {
  begin,
  type Context,
  createContext,
  outcomeOf,
  settled,
  snapshotAt,
} from '../../../engine/transaction/index.ts';
import { PLAIN } from '../simulation/names.ts';
import type { PlannedOperation } from '../simulation/plan.ts';
import {
  perform,
  readOnly,
  type TransactionRecording,
  type RecordingOptions,
  startRecording,
} from '../simulation/recording.ts';
import {
  type MessageAnswer,
  inDoubt,
  type ProcessMessage,
  type MessageBook,
  type MessageRequest,
} from './messages.ts';
import type { ScriptedProcess } from './scenarios.ts';

/** What the clients of a process have seen and been told. */
export interface ClientObservations {
  readonly process: string;
  readonly transactions: readonly TransactionRecording[];
  /** The answers of `outcomeOf`. */
  readonly outcomes: readonly ReportedOutcome[];
  /** An error that does not belong to the engine's interface: a failed assertion. */
  readonly error: string | undefined;
}

export interface ReportedOutcome {
  readonly startTimestamp: Timestamp;
  readonly outcome: 'committed' | 'rolled back';
}

export interface ProcessContext {
  readonly messages: MessageBook;
  isDead(token: string): boolean;
  isObserved(column: string): boolean;
}

interface PendingCall {
  readonly message: ProcessMessage;
  readonly resolve: (value: MessageAnswer['value']) => void;
  readonly reject: (error: PercolatorError) => void;
}

/** Sleeps at least as long as this never end. */
const FOREVER_MS = 60_000;

export class LiveProcess {
  /** By number, in the order sent. */
  readonly outstanding: Map<number, PendingCall> = new Map();
  readonly #script: ScriptedProcess;
  readonly #context: Context;
  readonly #transactions: TransactionRecording[] = [];
  readonly #outcomes: ReportedOutcome[] = [];
  #error: string | undefined;
  #sent = 0;
  #isFinished = false;

  constructor(script: ScriptedProcess, surroundings: ProcessContext) {
    this.#script = script;
    const send = (request: MessageRequest): Promise<MessageAnswer['value']> =>
      this.#send(surroundings.messages.message(request));
    this.#context = createContext(
      {
        store: messagingBigtable(send),
        oracle: {
          horizon: 0,
          next: async () => (await send({ kind: 'timestamp' })) as Timestamp,
          readHorizon: async () => 0,
          raiseHorizon: async () => 0,
          drops: 0,
          announceDrop: async () => 0,
          belongTo: async () => {},
        },
        clock: sleepless(),
        random: NO_LUCK,
        liveness: { self: script.name, isDead: (token) => surroundings.isDead(token) },
        isObserved: async (_, column) => surroundings.isObserved(column),
        leases: { store: createMemoryBigtable(), freshTimestamp: async () => 0 },
      },
      {
        // A reader waits once for a lock that stays; then its wait is over.
        lockWaitMsMax: 0.5,
        backoffMsMin: 1,
        backoffMsMax: 1,
        lockTimeToLiveMs: 10 * FOREVER_MS,
        leaseTimeToLiveMs: 10 * FOREVER_MS,
        snapshotLifetimeMsMax: 10 * FOREVER_MS,
        inDoubtAttemptsMax: script.inDoubtAttemptsMax ?? 2,
      },
    );
  }

  get #scribe(): RecordingOptions {
    const find = (claim: string, message: string): void => {
      this.#error = `${claim}: ${message}`;
    };
    return { clock: this.#context.clock, names: PLAIN, find };
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** A copy, which does not change any more. */
  get observations(): ClientObservations {
    return structuredClone({
      process: this.#script.name,
      transactions: this.#transactions,
      outcomes: this.#outcomes,
      error: this.#error,
    });
  }

  async start(): Promise<void> {
    void this.#run();
    await systemClock.yield();
  }

  async hear(number: number, answer: MessageAnswer): Promise<void> {
    const waiting = this.outstanding.get(number);
    this.outstanding.delete(number);
    if (answer.isLost && waiting !== undefined) waiting.reject(inDoubt(waiting.message));
    else waiting?.resolve(answer.value);
    await systemClock.yield();
  }

  #send(message: ProcessMessage): Promise<MessageAnswer['value']> {
    return new Promise((resolve, reject) => {
      this.outstanding.set(this.#sent++, { message, resolve, reject });
    });
  }

  async #run(): Promise<void> {
    try {
      for (const operations of this.#script.transactions) {
        if (operations.every(isRead)) await this.#read(operations);
        else await this.#transact(operations);
      }
      await settled(this.#context);
    } catch (error) {
      this.#error = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    }
    this.#isFinished = true;
  }

  async #read(operations: readonly PlannedOperation[]): Promise<void> {
    await using snapshot = await snapshotAt(this.#context);
    const recording = this.#record(snapshot.startTimestamp);
    try {
      for (const operation of operations) {
        await readOnly(this.#scribe, snapshot, operation, recording);
      }
      recording.outcome = 'committed';
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
  }

  async #transact(operations: readonly PlannedOperation[]): Promise<void> {
    const transaction = await begin(this.#context);
    const recording = this.#record(transaction.startTimestamp);
    try {
      await perform(this.#scribe, transaction, operations, recording);
      recording.outcome = 'unknown'; // Until the answer arrives.
      recording.commitTimestamp = await transaction.commit();
      recording.outcome = 'committed';
    } catch (error) {
      transaction.discard();
      if (!(error instanceof PercolatorError)) throw error;
      if (error.code === 'COMMIT_UNKNOWN') await this.#ask(error);
      else recording.outcome = 'failed';
    }
  }

  async #ask({ transaction }: PercolatorError): Promise<void> {
    if (transaction === undefined) throw new Error('COMMIT_UNKNOWN names the transaction');
    try {
      const outcome = await outcomeOf(this.#context, transaction);
      this.#outcomes.push({ startTimestamp: transaction.startTimestamp, outcome });
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
  }

  #record(startTimestamp: Timestamp): TransactionRecording {
    const recording = startRecording(this.#script.name, startTimestamp, 0);
    this.#transactions.push(recording);
    return recording;
  }
}

function isRead(operation: PlannedOperation): boolean {
  return operation.do === 'getMany';
}

function sleepless(): Clock {
  let nowMs = 0;
  return {
    wallMs: () => 0,
    monotonicMs: () => nowMs,
    sleep: (ms) => {
      if (ms >= FOREVER_MS) return new Promise(() => {});
      nowMs += ms;
      return Promise.resolve();
    },
    yield: () => systemClock.yield(),
  };
}

/** No randomness. A backoff of 0.75 of the maximum outlasts the `lockWaitMsMax` above. */
const NO_LUCK: Random = {
  seed: 0,
  integer: (min) => min,
  fraction: () => 0.75,
  pick: <T>(items: readonly T[]): T => items[0] as T,
  fork: () => NO_LUCK,
};

/*
 * A Bigtable that turns every call about rows into messages, one for each row, and waits for their
 * answers.
 */

function messagingBigtable(
  send: (request: MessageRequest) => Promise<MessageAnswer['value']>,
): Bigtable {
  const readRow: Bigtable['readRow'] = async (table, row, filters) =>
    (await send({ kind: 'read', table, row, filters })) as Row | undefined;
  const checkAndMutateRow: Bigtable['checkAndMutateRow'] = async (conditional) =>
    (await send({ kind: 'check', ...conditional })) === true;
  return {
    manifest: {
      name: 'exhaustive',
      conditionalBatch: false,
      ordered: false,
      splits: true,
      durability: 'nothing survives the search',
    },
    readRow,
    readRows: (table, rows, filters) =>
      Promise.all(rows.map((row) => readRow(table, row, filters))),
    checkAndMutateRow,
    checkAndMutateRows: (conditionals) => answersTo(conditionals.map(checkAndMutateRow)),
    async mutateRows(rows) {
      const answers = await Promise.allSettled(
        rows.map((mutation) => send({ kind: 'mutate', ...mutation })),
      );
      for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
    },
    // Ranges are refused: scenarios read only rows that they name. Tables exist and stay.
    readRange: refuse,
    sampleRowKeys: refuse,
    createTable: refuse,
    listTables: refuse,
    dropTable: refuse,
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

function refuse(): never {
  throw new Error('a scenario reads and writes only rows that it names');
}
