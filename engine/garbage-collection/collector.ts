/**
 * Running the collector: one whole cycle for a caller that asks for it, or cycle after cycle until
 * stopped.
 *
 * A step that fails, because the storage is unavailable or refuses, is reported and tried again
 * after a rest (P56, silent background failures). Four things end a collector: the store was
 * closed, it or the oracle belongs to another database, the storage takes a name for invalid, or
 * there is a bug.
 */
import { isFinal, type PercolatorError, type Warning, Warnings } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { isMark } from '../leases/index.ts';
import { type Reading, readingsOfWarnings } from '../telemetry/index.ts';
import type { Context } from '../transaction/index.ts';
import {
  type CollectorCounters,
  type CollectorServices,
  GarbageCollector,
  type HeldBack,
} from './cycle.ts';
import {
  type CollectGarbageOptions,
  type CollectorOptions,
  type CollectorSettings,
  settingsOf,
} from './options.ts';

/** What a cycle has done. */
export interface CollectionReport extends Readonly<Omit<CollectorCounters, 'cycles'>> {
  /** Snapshots below may have lost versions. */
  readonly horizon: Timestamp;
  /**
   * If the cycle was completed, the garbage below has been collected. Exception: a column with more
   * records above than are read at a time keeps data that may belong to one of these records, and
   * perhaps what is older.
   */
  readonly deletionHorizon: Timestamp;
  /**
   * False if a live owner held a lock for longer than `lockWaitMsMax`, or the signal was aborted;
   * the next cycle continues there.
   */
  readonly completed: boolean;
  /**
   * What keeps versions from being collected that were there when it was asked for: a lock that is
   * alive, or otherwise the lease with the smallest bound. Absent if nothing does. No lease is
   * named if this call continues a cycle, whose horizon was moved before.
   */
  readonly heldBackBy: HeldBack | undefined;
}

/**
 * One cycle that looks at every row, or the rest of such a cycle that was interrupted. Before a new
 * cycle, it watches the leases. A new cycle first has the store end what is in flight or, where it
 * cannot, waits for `messageLifetimeMs`; unless an earlier cycle that looked at every row has
 * already deleted as much as the new one may.
 */
export async function collectGarbage(
  services: CollectorServices,
  options: CollectGarbageOptions,
): Promise<CollectionReport> {
  const { context } = services;
  const settings = settingsOf(options, context.store.manifest);
  const { signal: given } = options;
  context.closing.refuseNew();
  const { signal } = context.closing;
  const pausing = { ...settings, signal: given ? AbortSignal.any([signal, given]) : signal };
  const once = { ...settings, fences: true, shortCyclesMax: 0 };
  const collector = new GarbageCollector(services, once, await context.oracle.next());
  if (await collector.isBetweenCycles()) await watchLeases(services, pausing);
  const completed = await runCycle(context, collector, pausing);
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

/** The settings, and what ends each of the pauses. */
type Pausing = CollectorSettings & { readonly signal: AbortSignal };

/** Milliseconds between looks at leases, at most. By default, processes renew theirs every 10 s. */
const LEASE_LOOK_MS = 1_000;

/**
 * Waits until each lease that is there now has been renewed, has lapsed or was given up. A lease
 * lapses only if one watch sees it for its time to live, and the watch of a process that collects
 * once and ends has seen nothing: it would respect the lease of a dead process forever. A
 * collector that runs cycle after cycle does not have to wait: a later cycle gets past the lease.
 */
async function watchLeases(
  { context, watch }: CollectorServices,
  { restMs, signal }: Pausing,
): Promise<void> {
  const { clock, leases, closing } = context;
  const before = await watch.liveLeases();
  await leases.renew(); // One of them may be this process's own.
  for (;;) {
    const now = await watch.liveLeases();
    const isWaiting = now.some((lease) => before.includes(lease) && !isMark(lease));
    if (signal.aborted || !isWaiting) return;
    await clock.sleep(Math.min(restMs, LEASE_LOOK_MS), signal);
    closing.refuseNew();
  }
}

/** Resolves to whether the cycle has ended. */
async function runCycle(
  { clock, closing, options }: Context,
  collector: GarbageCollector,
  { pauseMs, restMs, signal }: Pausing,
): Promise<boolean> {
  let blockedSinceMs: number | undefined;
  while (!signal.aborted) {
    const result = await collector.step(signal);
    if (result === 'cycle ended') return true;
    const nowMs = clock.monotonicMs();
    blockedSinceMs = result === 'more' ? undefined : (blockedSinceMs ?? nowMs);
    if (nowMs - (blockedSinceMs ?? nowMs) > options.lockWaitMsMax) return false;
    await clock.sleep(result === 'more' ? pauseMs : restMs, signal);
    closing.refuseNew();
  }
  return false;
}

/** Collects until it is stopped. */
export class Collector implements AsyncDisposable {
  readonly #context: Context;
  readonly #settings: CollectorSettings;
  readonly #collector: GarbageCollector;
  readonly #warnings: Warnings;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  /** Starts at once. */
  constructor(services: CollectorServices, options: CollectorOptions = {}) {
    this.#context = services.context;
    this.#settings = settingsOf(options, services.context.store.manifest);
    this.#collector = new GarbageCollector(services, this.#settings);
    this.#warnings = new Warnings(options.onWarning);
    const stop = (): void => this.#stopping.abort();
    options.signal?.addEventListener('abort', stop, { signal: this.#stopping.signal });
    if (options.signal?.aborted === true) stop();
    const endReadings = this.#context.telemetry?.watch(() => this.#readings());
    this.#running = this.#run().finally(() => {
      stop(); // Else the caller's signal would keep the collector for as long as it lives.
      endReadings?.();
    });
    // `ended` and `stop` reject with the error; unhandled, it must not end the process.
    this.#running.catch((error: unknown) => {
      const sentence = 'the collector has ended: nothing is collected any more';
      this.#warnings.begin('collector', { kind: 'ended', sentence, error });
    });
  }

  /**
   * Resolves when the collector was stopped.
   * Rejects, as soon as it cannot go on, with what ended it: STORE_CLOSED if the database was
   * closed.
   */
  get ended(): Promise<void> {
    return this.#running;
  }

  /** The current warnings: those that `onWarning` was called for and that are not over. */
  get warnings(): readonly Warning[] {
    return this.#warnings.current;
  }

  get counters(): Readonly<CollectorCounters> {
    return this.#collector.counters;
  }

  /** Snapshots below may have lost versions. */
  get horizon(): Timestamp {
    return this.#collector.horizon;
  }

  /** What keeps versions from being collected; undefined if nothing does. */
  get heldBackBy(): HeldBack | undefined {
    return this.#collector.heldBackBy;
  }

  /**
   * Resolves when the step in progress has ended.
   * Rejects with what ended the collector, if not the stop.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #readings(): readonly Reading[] {
    const { cycles, rowsVisited, cellsDeleted } = this.counters;
    return [
      { metric: 'percolator.collection.cycles', value: cycles },
      { metric: 'percolator.collection.rows', value: rowsVisited },
      { metric: 'percolator.collection.cells', value: cellsDeleted },
      ...readingsOfWarnings(this.warnings),
    ];
  }

  async #run(): Promise<void> {
    const { clock, closing } = this.#context;
    const signal = AbortSignal.any([closing.signal, this.#stopping.signal]);
    const { pauseMs, restMs } = this.#settings;
    while (!this.#stopping.signal.aborted) {
      closing.refuseNew();
      const rests = (await this.#step(signal)) !== 'more';
      await clock.sleep(rests ? restMs : pauseMs, signal);
    }
  }

  async #step(signal: AbortSignal): Promise<'more' | 'rest'> {
    try {
      const result = await this.#collector.step(signal);
      this.#warnings.end('step');
      return result === 'more' ? 'more' : 'rest';
    } catch (given) {
      const error = await (this.#context.identity?.causeOf(given) ?? given);
      if (isFinal(error)) throw error;
      // It may succeed later: the storage comes back, or a dropped table is no longer listed.
      const { code } = error as PercolatorError; // `isFinal` is true for all other errors.
      const sentence = `a step of the collector failed (${code}); it is tried again, and nothing is collected meanwhile`;
      this.#warnings.begin('step', { kind: 'step', sentence, error });
      return 'rest';
    }
  }
}
