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
import { documentCell, type TableSplits } from '../crawl-rate/percolator/tables.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import type { Arrival, Persistence, Unfinished } from './attempts.ts';

export interface DocumentArrival extends Arrival {
  readonly row: string;
}

export class Crawler {
  readonly #percolator: Percolator;
  readonly #documents: SyntheticDocuments;
  readonly #persistence: Persistence;
  readonly #arrivals: Unfinished<DocumentArrival>[] = [];
  readonly #byRow = new Map<string, Unfinished<DocumentArrival>>();
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
    const arrival: Unfinished<DocumentArrival> = { row, dueMs, attempts: [], ...ends };
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

  #complete(arrival: Unfinished<DocumentArrival>, atMs: number): void {
    if (arrival.completedMs !== undefined) return;
    arrival.completedMs = atMs;
    this.#open--;
    this.#waiting.get(arrival.row)?.();
    this.#waiting.delete(arrival.row);
  }

  async #write(arrival: Unfinished<DocumentArrival>, value: Buffer): Promise<void> {
    await this.#persistence.run(arrival.attempts, () => this.#attempt(arrival, value));
    arrival.acknowledgedMs = monotonicMs();
    this.#writing--;
  }

  async #attempt(
    { row }: Unfinished<DocumentArrival>,
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

/*
 * Where the documents of this experiment lie, so that every region server takes part at every
 * moment: new documents are spread over the whole range of rows, in which the tables are split.
 *
 *     arrival 0, 1, 2, ...  ──times an odd number, modulo 2^20──▶  number of the document, its row
 */

/** Documents of a run, at most. */
export const DOCUMENTS_MAX: number = 2 ** 20;
/** Odd, so that no two arrivals get one number; near the golden ratio, so that they spread. */
const STRIDE = 648_055;
/** The keys of documents begin with the number of their key space. */
const KEY_SPACES = 3;
const KEY_VALUES = 16 ** 12;

export function numberOf(arrival: number): number {
  return (arrival * STRIDE) % DOCUMENTS_MAX;
}

/** At least one region of each table for each server. */
export function splitsFor(servers: number): TableSplits {
  const documents = fractions(servers).map((part) => documentId(Math.floor(part * DOCUMENTS_MAX)));
  const parts = ['', ...fractions(Math.ceil(servers / KEY_SPACES)).map(spell)];
  const spaces = Array.from({ length: KEY_SPACES }, (_, i) => `${i + 1}/`);
  const keys = spaces.flatMap((space) => parts.map((part) => `${space}${part}`));
  return { documents, keys: keys.slice(1) };
}

function fractions(parts: number): readonly number[] {
  return Array.from({ length: parts - 1 }, (_, i) => (i + 1) / parts);
}

function spell(part: number): string {
  return Math.floor(part * KEY_VALUES)
    .toString(16)
    .padStart(12, '0');
}
