/**
 * Crawled documents, each written by a transaction and clustered by an observer, while the storage
 * fails.
 *
 *     due ──▶ written, however many attempts that takes ──▶ its observer has run: completed
 *
 * The write of a document is repeated until it has succeeded (attempts.ts), as a crawler would do.
 */
import { type Percolator, PercolatorError } from '#engine';
import {
  documentId,
  encodeDocument,
  type SyntheticDocuments,
} from '../crawl-rate/documents/index.ts';
import { documentCell } from '../crawl-rate/percolator/tables.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import type { Arrival, Attempt, Persistence } from './attempts.ts';
import { numberOf } from './keys.ts';

export interface DocumentArrival extends Arrival {
  readonly row: string;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type UnfinishedArrival = Mutable<Omit<DocumentArrival, 'attempts'>> & {
  readonly attempts: Attempt[];
};

export class Crawler {
  readonly #percolator: Percolator;
  readonly #documents: SyntheticDocuments;
  readonly #persistence: Persistence;
  readonly #arrivals: UnfinishedArrival[] = [];
  readonly #byRow = new Map<string, UnfinishedArrival>();
  readonly #waiting = new Map<string, () => void>();
  readonly #failure = Promise.withResolvers<never>();
  #open = 0;
  #writing = 0;

  constructor(percolator: Percolator, documents: SyntheticDocuments, persistence: Persistence) {
    this.#percolator = percolator;
    this.#documents = documents;
    this.#persistence = persistence;
    this.#failure.promise.catch(() => {}); // `failed` reports it.
  }

  get arrivals(): readonly DocumentArrival[] {
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
    await this.#persistence.run(arrival.attempts, () => this.#attempt(arrival, value));
    arrival.acknowledgedMs = monotonicMs();
    this.#writing--;
  }

  async #attempt(
    { row }: UnfinishedArrival,
    value: Buffer,
  ): Promise<{ readonly wasUnknown: boolean }> {
    const transaction = await this.#percolator.begin({ kind: 'load' });
    transaction.set(documentCell(row), value);
    try {
      await transaction.commit();
      return { wasUnknown: false };
    } catch (error) {
      const name = error instanceof PercolatorError ? error.transaction : undefined;
      if (name === undefined || (await this.#persistence.settle(name)) !== 'committed') throw error;
      return { wasUnknown: true };
    }
  }
}
