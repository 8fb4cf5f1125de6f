/** Loads the arrived documents in order, one transaction each. */
import type { Percolator } from '#engine';
import { createSyntheticDocuments, documentId, encodeDocument } from '../documents/index.ts';
import type { ProcessOptions } from './messages.ts';
import { documentCell } from './tables.ts';

/** Loading transactions in flight; further documents wait in order of arrival. */
const LOADING_MAX = 256;
/**
 * Loading pauses while this many documents have begun to load and are not yet clustered. Above the
 * engine's capacity, loading would otherwise take CPU time from clustering, and fewer documents
 * would be finished. Arrivals do not pause.
 */
const UNCLUSTERED_MAX = 2048;

export class Loading {
  readonly #percolator: Percolator;
  readonly #first: number;
  readonly #documents: ReturnType<typeof createSyntheticDocuments>;
  /**
   * Documents of the schedule that have arrived, have begun to load, are loading, and are loaded.
   */
  #due = 0;
  #begun = 0;
  #loading = 0;
  #loaded = 0;
  /** Clustered documents, as last reported to this process. */
  #clustered = 0;
  readonly #finished = Promise.withResolvers<number>();
  #isFinishing = false;

  constructor(percolator: Percolator, { documents, schedule }: ProcessOptions) {
    this.#percolator = percolator;
    this.#first = schedule.first;
    this.#documents = createSyntheticDocuments(documents);
  }

  /** All documents before `end` have arrived. */
  load(end: number): void {
    this.#due = end;
    this.#fill();
  }

  setClustered(documents: number): void {
    this.#clustered = documents;
    this.#fill();
  }

  /**
   * Drops the documents that have not begun to load; resolves with the number loaded, once all
   * others are.
   */
  finish(): Promise<number> {
    this.#due = this.#begun;
    this.#isFinishing = true;
    this.#fill();
    return this.#finished.promise;
  }

  #fill(): void {
    const beginMax = Math.min(this.#due, this.#clustered + UNCLUSTERED_MAX);
    while (this.#loading < LOADING_MAX && this.#begun < beginMax) {
      const n = this.#begun++;
      this.#loading++;
      void this.#loadOne(n).finally(() => {
        this.#loading--;
        this.#fill();
      });
    }
    if (this.#isFinishing && this.#loading === 0) this.#finished.resolve(this.#loaded);
  }

  async #loadOne(n: number): Promise<void> {
    const number = this.#first + n;
    const value = encodeDocument(this.#documents.documentOf(number));
    await this.#percolator.transact(async (transaction) => {
      transaction.set(documentCell(documentId(number)), value);
    });
    this.#loaded++;
  }
}
