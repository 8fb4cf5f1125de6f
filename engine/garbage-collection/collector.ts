/**
 * Running the collector: a whole cycle for those who ask for one, or cycle after cycle until stopped.
 *
 * A step that fails because the storage is unavailable, or lost an answer, is tried again after a rest.
 */
import { PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { Context } from '../transaction/index.ts';
import {
  type CollectorCounters,
  type CollectorServices,
  GarbageCollector,
  type HeldBack,
} from './cycle.ts';
import { type CollectorOptions, type CollectorSettings, settingsOf } from './options.ts';

/** What a cycle has done. */
export interface CollectionReport extends Readonly<Omit<CollectorCounters, 'cycles'>> {
  /** Snapshots below may have lost versions. */
  readonly horizon: Timestamp;
  /** What was below has been collected, if the cycle was completed. */
  readonly deletionHorizon: Timestamp;
  /** False if a lock was in the way for longer than `lockWaitMsMax`; the next cycle goes on there. */
  readonly completed: boolean;
  /** Who keeps versions from being collected; absent if nobody. */
  readonly heldBackBy: HeldBack | undefined;
}

/** One cycle, or the rest of one that was interrupted; it takes at least `messageLifetimeMs`. */
export async function collectGarbage(
  services: CollectorServices,
  options: CollectorOptions,
): Promise<CollectionReport> {
  const settings = settingsOf(options);
  const collector = new GarbageCollector(services, settings);
  const completed = await runCycle(services.context, collector, settings);
  const { rowsVisited, cellsDeleted, locksResolved } = collector.counters;
  const { horizon, deletionHorizon, heldBackBy } = collector;
  return {
    rowsVisited,
    cellsDeleted,
    locksResolved,
    horizon,
    deletionHorizon,
    completed,
    heldBackBy,
  };
}

/** Resolves to whether the cycle has ended. */
async function runCycle(
  { clock, options }: Context,
  collector: GarbageCollector,
  { pauseMs, restMs }: CollectorSettings,
): Promise<boolean> {
  let blockedSinceMs: number | undefined;
  for (;;) {
    const result = await collector.step();
    if (result === 'cycle ended') return true;
    if (result === 'more') {
      blockedSinceMs = undefined;
      await clock.sleep(pauseMs);
      continue;
    }
    const nowMs = clock.monotonicMs();
    blockedSinceMs ??= nowMs;
    if (nowMs - blockedSinceMs > options.lockWaitMsMax) return false;
    await clock.sleep(restMs);
  }
}

/** Collects until it is stopped. */
export class Collector implements AsyncDisposable {
  readonly #context: Context;
  readonly #settings: CollectorSettings;
  readonly #collector: GarbageCollector;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  /** Starts at once. */
  constructor(services: CollectorServices, options: CollectorOptions = {}) {
    this.#context = services.context;
    this.#settings = settingsOf(options);
    this.#collector = new GarbageCollector(services, this.#settings);
    this.#running = this.#run();
    this.#running.catch(() => {}); // `stop` reports it.
  }

  get counters(): Readonly<CollectorCounters> {
    return this.#collector.counters;
  }

  /** Snapshots below may have lost versions. */
  get horizon(): Timestamp {
    return this.#collector.horizon;
  }

  /** Who keeps versions from being collected; undefined if nobody. */
  get heldBackBy(): HeldBack | undefined {
    return this.#collector.heldBackBy;
  }

  /** Resolves when the step in progress has ended. Rejects with what ended the collecting, if that was not the stop. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { pauseMs, restMs } = this.#settings;
    while (!signal.aborted) {
      const rests = (await this.#step(signal)) !== 'more';
      await this.#context.clock.sleep(rests ? restMs : pauseMs, signal);
    }
  }

  async #step(signal: AbortSignal): Promise<'more' | 'rest'> {
    try {
      return (await this.#collector.step(signal)) === 'more' ? 'more' : 'rest';
    } catch (error) {
      if (!isPassing(error)) throw error;
      return 'rest';
    }
  }
}

/** The same step may succeed later: the storage comes back, a table that was dropped is not listed any more. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof PercolatorError)) return false;
  return ['STORE_UNAVAILABLE', 'STORE_IN_DOUBT', 'TABLE_NOT_FOUND'].includes(error.code);
}
