/** Loads the documents that have arrived, in order, a transaction each. */
import type { Percolator } from '#engine';
import { createSyntheticDocuments, documentId, encodeDocument } from '../documents/index.ts';
import type { ProcessOptions } from './messages.ts';
import { documentCell } from './tables.ts';

/** Loading transactions in flight; more wait in the order they arrived. */
const LOADING_MAX = 256;
/**
 * Documents between arrival and clustering at which loading pauses. Beyond what the engine can do,
 * loading would otherwise take the machine away from clustering, and less would be finished.
 * Arrivals do not pause.
 */
const UNCLUSTERED_MAX = 2048;

export class Loading {
  readonly #percolator: Percolator;
  readonly #first: number;
  readonly #documents: ReturnType<typeof createSyntheticDocuments>;
  /**
   * Documents of the schedule that have arrived, that have begun to load, that are loading, that
   * are loaded.
   */
  #due = 0;
  #begun = 0;
  #loading = 0;
  #loaded = 0;
  /** As far as we have been told. */
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

  /** Gives up what has not begun to load; resolves to how many are loaded, once all others are. */
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
