/**
 * The load: crawled documents, each written by a transaction and clustered by an observer, while
 * the storage fails.
 *
 *     due ──▶ attempt ──committed──▶ acknowledged ──▶ its observer has run: completed
 *              ▲  │ unknown: ask how it ended (`outcomeOf`); if it was rolled back ─┐
 *              │  │ any other error                                                 │
 *              └──┴───────────── rest ──────────────────────────────────────────────┘
 *
 * A document is written until that has succeeded, as a crawler would do. To write it twice changes
 * nothing, so an attempt whose end is not known may be repeated.
 */
import { type Percolator, PercolatorError, systemClock } from '#engine';
import {
  documentId,
  encodeDocument,
  type SyntheticDocuments,
} from '../crawl-rate/documents/index.ts';
import { documentCell } from '../crawl-rate/percolator/tables.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { numberOf } from './keys.ts';

/** One transaction that wrote a document, or tried to. */
export interface Attempt {
  readonly beganMs: number;
  readonly endedMs: number;
  /** `committed`, or the code of its error. */
  readonly outcome: string;
}

export interface Arrival {
  readonly row: string;
  readonly dueMs: number;
  readonly attempts: readonly Attempt[];
  /** When the writer was told that its transaction has committed. */
  readonly acknowledgedMs: number | undefined;
  /** When the first run of its observer had committed, as far as the worker was told. */
  readonly completedMs: number | undefined;
}

/** How the transactions that had ended with COMMIT_UNKNOWN ended after all. */
export interface Settled {
  committed: number;
  rolledBack: number;
  /** So far without an answer. */
  open: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type UnfinishedArrival = Mutable<Omit<Arrival, 'attempts'>> & { readonly attempts: Attempt[] };

export const COMMITTED = 'committed';
export const UNKNOWN = 'COMMIT_UNKNOWN';
const REST_MS_MIN = 20;
const REST_MS_MAX = 500;

export class Crawler {
  readonly settled: Settled = { committed: 0, rolledBack: 0, open: 0 };
  readonly #percolator: Percolator;
  readonly #documents: SyntheticDocuments;
  readonly #signal: AbortSignal;
  readonly #arrivals: UnfinishedArrival[] = [];
  readonly #byRow = new Map<string, UnfinishedArrival>();
  readonly #waiting = new Map<string, () => void>();
  readonly #failure = Promise.withResolvers<never>();
  #open = 0;
  #writing = 0;

  constructor(percolator: Percolator, documents: SyntheticDocuments, signal: AbortSignal) {
    this.#percolator = percolator;
    this.#documents = documents;
    this.#signal = signal;
    this.#failure.promise.catch(() => {}); // `failed` reports it.
  }

  get arrivals(): readonly Arrival[] {
    return this.#arrivals;
  }

  /** Documents that have arrived and are not completed. */
  get open(): number {
    return this.#open;
  }

  /** Documents whose writer does not know yet that they are stored. */
  get writing(): number {
    return this.#writing;
  }

  /** Rejects when a document cannot be written because of a mistake, not of a failed server. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Begins to write the next document. Resolves when it is completed. */
  add(dueMs: number): Promise<void> {
    const number = numberOf(this.#documents.repository + this.#arrivals.length);
    const row = documentId(number);
    const ends = { acknowledgedMs: undefined, completedMs: undefined };
    const arrival: UnfinishedArrival = { row, dueMs, attempts: [], ...ends };
    this.#arrivals.push(arrival);
    this.#byRow.set(row, arrival);
    this.#open++;
    this.#writing++;
    const completed = new Promise<void>((resolve) => this.#waiting.set(row, resolve));
    const value = encodeDocument(this.#documents.documentOf(number));
    this.#write(arrival, value).catch(this.#failure.reject);
    return completed;
  }

  /** To be called for each document whose observer has committed; only the first call counts. */
  readonly onClustered = (row: string, atMs: number): void => {
    const arrival = this.#byRow.get(row);
    if (arrival !== undefined) this.#complete(arrival, atMs);
  };

  #complete(arrival: UnfinishedArrival, atMs: number): void {
    if (arrival.completedMs !== undefined) return;
    arrival.completedMs = atMs;
    this.#open--;
    this.#waiting.get(arrival.row)?.();
    this.#waiting.delete(arrival.row);
  }

  async #write(arrival: UnfinishedArrival, value: Buffer): Promise<void> {
    for (
      let restMs = REST_MS_MIN;
      !this.#signal.aborted;
      restMs = Math.min(2 * restMs, REST_MS_MAX)
    ) {
      if (await this.#attempt(arrival, value)) {
        arrival.acknowledgedMs = monotonicMs();
        this.#writing--;
        return;
      }
      await systemClock.sleep(restMs, this.#signal);
    }
  }

  /** Whether it has committed. */
  async #attempt({ row, attempts }: UnfinishedArrival, value: Buffer): Promise<boolean> {
    const beganMs = monotonicMs();
    const note = (outcome: string): void => {
      attempts.push({ beganMs, endedMs: monotonicMs(), outcome });
    };
    try {
      const transaction = await this.#percolator.begin({ kind: 'load' });
      transaction.set(documentCell(row), value);
      await transaction.commit();
      note(COMMITTED);
      return true;
    } catch (error) {
      if (!(error instanceof PercolatorError) || !PASSING.has(error.code)) throw error;
      note(error.code);
      return error.transaction === undefined ? false : this.#settle(error.transaction);
    }
  }

  /** Asks until there is an answer; whether the transaction has committed. */
  async #settle(name: NonNullable<PercolatorError['transaction']>): Promise<boolean> {
    this.settled.open++;
    for (;;) {
      try {
        const outcome = await this.#percolator.outcomeOf(name);
        this.settled.open--;
        this.settled[outcome === 'committed' ? 'committed' : 'rolledBack']++;
        return outcome === 'committed';
      } catch (error) {
        if (!(error instanceof PercolatorError) || !PASSING.has(error.code)) throw error;
        if (this.#signal.aborted) return false;
        await systemClock.sleep(REST_MS_MAX, this.#signal);
      }
    }
  }
}

/** Errors of a time in which servers are away. Any other one is a mistake, and ends the run. */
const PASSING: ReadonlySet<string> = new Set([
  'WRITE_CONFLICT',
  'ROLLED_BACK',
  'LOCKED',
  'STALE_SNAPSHOT',
  'STORE_UNAVAILABLE',
  'STORE_IN_DOUBT',
  UNKNOWN,
]);
