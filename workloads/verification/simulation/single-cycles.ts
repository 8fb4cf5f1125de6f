/**
 * Collects garbage by single cycles, one after the other, as a program that calls `collectGarbage`
 * by a timetable. Unlike a collector, each cycle looks at every row, and sets a fence where it can.
 */
import { type Clock, isFinal } from '../../../engine/base/index.ts';
import type { CollectorOptions } from '../../../engine/garbage-collection/index.ts';
import type { Percolator } from '../../../engine/percolator.ts';

export class SingleCycles {
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
