/**
 * What a load records of its transactions, and how it goes on while the storage fails:
 *
 *     attempt ──ended──▶ acknowledged
 *        ▲  │ no answer to its commit: ask how it ended (`outcomeOf`); if it was rolled back ─┐
 *        │  │ any other error of a storage that is away, or a conflict                        │
 *        └──┴───────────── rest ──────────────────────────────────────────────────────────────┘
 *
 * An error of a transaction, other than COMMIT_UNKNOWN, says that nothing of it is or will be
 * committed, so it may be run again.
 */
import { type Percolator, PercolatorError, type Random, systemClock } from '#engine';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';

/** One run of a transaction. If its commit got no answer, it ends when the outcome is known. */
export interface TransactionAttempt {
  readonly beganMs: number;
  readonly endedMs: number;
  /** `committed`, also if it only read or was rolled back on request; or the code of its error. */
  readonly outcome: string;
}

/** One transaction of the load, with all its attempts. */
export interface Arrival {
  readonly dueMs: number;
  readonly attempts: readonly TransactionAttempt[];
  /** When its caller was told that it has ended: committed, or rolled back on request. */
  readonly acknowledgedMs: number | undefined;
  /** When all that it was to bring about had happened, as far as the load was told. */
  readonly completedMs: number | undefined;
}

/** An arrival that its load still writes. */
export type Unfinished<A extends Arrival> = {
  -readonly [K in keyof Omit<A, 'attempts'>]: A[K];
} & { readonly attempts: TransactionAttempt[] };

/** How the transactions that had ended with COMMIT_UNKNOWN ended after all. */
export interface Settled {
  committed: number;
  rolledBack: number;
  /** So far without an answer. */
  open: number;
}

export const COMMITTED = 'committed';
export const UNKNOWN = 'COMMIT_UNKNOWN';
const REST_MS_MIN = 20;
const REST_MS_MAX = 500;

/** The errors to expect while servers are away. Any other error is a mistake, and ends the run. */
const PASSING: ReadonlySet<string> = new Set([
  'WRITE_CONFLICT',
  'ROLLED_BACK',
  'LOCKED',
  'STALE_SNAPSHOT',
  'STORE_UNAVAILABLE',
  'STORE_IN_DOUBT',
  UNKNOWN,
]);

/** Repeats calls to a database that fails for a while, until they succeed. */
export class Persistence {
  readonly settled: Settled = { committed: 0, rolledBack: 0, open: 0 };
  readonly #percolator: Pick<Percolator, 'outcomeOf'>;
  readonly #random: Random;
  readonly #signal: AbortSignal;

  constructor(percolator: Pick<Percolator, 'outcomeOf'>, random: Random, signal: AbortSignal) {
    this.#percolator = percolator;
    this.#random = random;
    this.#signal = signal;
  }

  /**
   * Runs a transaction until it has ended, and adds each attempt to `attempts`.
   * @param once one attempt; its result also says whether the answer to its commit was lost
   * @throws an error that no rest would heal, or when the signal aborts
   */
  async run<T extends { readonly wasUnknown?: boolean | undefined }>(
    attempts: TransactionAttempt[],
    once: () => Promise<T>,
  ): Promise<T> {
    for (let restMs = REST_MS_MIN; ; restMs = Math.min(2 * restMs, REST_MS_MAX)) {
      const note = noteIn(attempts);
      try {
        const result = await once();
        note(result.wasUnknown === true ? UNKNOWN : COMMITTED);
        return result;
      } catch (error) {
        if (!isPassing(error)) throw error;
        note(error.code);
      }
      await this.#rest(restMs);
    }
  }

  /**
   * Asks until there is an answer.
   * @throws an error that ends the run, if the evidence of the outcome has been collected
   */
  readonly settle: Percolator['outcomeOf'] = async (name) => {
    this.settled.open++;
    const outcome = await this.until(() => this.#outcomeOf(name));
    this.settled.open--;
    this.settled[outcome === 'committed' ? 'committed' : 'rolledBack']++;
    return outcome;
  };

  /** Repeats a call that may be made twice, until the storage answers. */
  async until<T>(once: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await once();
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      await this.#rest(REST_MS_MAX);
    }
  }

  /**
   * STALE_SNAPSHOT is final here, and says nothing about the outcome: the transaction may have
   * committed, so it must not be run again.
   */
  readonly #outcomeOf: Percolator['outcomeOf'] = async (name) => {
    try {
      return await this.#percolator.outcomeOf(name);
    } catch (error) {
      const isCollected = error instanceof PercolatorError && error.code === 'STALE_SNAPSHOT';
      throw isCollected ? new Error(error.message, { cause: error }) : error;
    }
  };

  /**
   * Waits for a random time up to `msMax`, so that transactions that collided do not meet again.
   */
  async #rest(msMax: number): Promise<void> {
    await systemClock.sleep(msMax * this.#random.fraction(), this.#signal);
    this.#signal.throwIfAborted();
  }
}

function noteIn(attempts: TransactionAttempt[]): (outcome: string) => void {
  const beganMs = monotonicMs();
  return (outcome) => void attempts.push({ beganMs, endedMs: monotonicMs(), outcome });
}

function isPassing(error: unknown): error is PercolatorError {
  return error instanceof PercolatorError && PASSING.has(error.code);
}
