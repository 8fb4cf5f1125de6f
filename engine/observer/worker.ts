/**
 * The worker (section 2.4): finds dirty cells and runs their observers.
 *
 *     scans.ts ───────────────┐
 *                             ├─▶ runs.ts
 *     commits of this process ┘
 *
 * Notifications that this process commits go straight into the queue: their observers run
 * immediately, not only after the next scan. That is a short cut, not a promise; only the notify
 * cells count, and a scan finds every cell that the queue had no room for.
 *
 * Whatever goes wrong in a part of the work costs that part only, and is reported (P56, silent
 * background failures): a table that cannot be scanned, a callback that throws, an observer that
 * hangs. Four things end the worker: the store or the oracle was closed, one of them belongs to
 * another database, an observer names a table that can never exist, or there is a bug.
 */
import { unlessAborted, type Warning, Warnings } from '../base/index.ts';
import { type Reading, readingsOfWarnings } from '../telemetry/index.ts';
import { type Context, type NotificationListener, wasClosed } from '../transaction/index.ts';
import type { Observer } from './observer.ts';
import { Peers, ScanLocks } from './peers.ts';
import { Rest, ScanFindings, Scans } from './scans.ts';
import { FailingColumns, ObserverRuns, type WorkerCounters } from './runs.ts';
import { byColumn, checkObservers, settingsOf, type WorkerOptions } from './worker-options.ts';

/** Checks for slow runs and scans, per `slowMs`. */
const LOOKS_PER_SLOW = 2;

/** What is left when a worker is idle. */
export interface Idleness {
  /** `Worker.failing`: cells that rest after a failure, or wait for another try. */
  readonly failing: number;
  /** How many cells this worker has parked since it began; `listParked` has them. */
  readonly parked: number;
}

export class Worker implements AsyncDisposable {
  readonly counters: WorkerCounters = {
    runs: 0,
    clean: 0,
    failures: 0,
    parked: 0,
    meetings: 0,
  };
  readonly #context: Context;
  readonly #slowMs: number;
  readonly #locks: ScanLocks | undefined;
  readonly #warnings: Warnings;
  readonly #failingColumns: FailingColumns;
  readonly #rest: Rest;
  readonly #peers: Peers;
  readonly #runs: ObserverRuns;
  readonly #scans: Scans;
  /** Undefined if nothing is measured. */
  readonly #findings: ScanFindings | undefined;
  readonly #endReadings: (() => void) | undefined;
  readonly #stopping = new AbortController();
  /** Aborted by `stop` when the last run has ended: until then slow runs are reported. */
  readonly #over = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** What ended the worker, if that was not `stop`. */
  #endedBy: { readonly error: unknown } | undefined;
  readonly #scanning: Promise<void>;

  /** Starts at once. */
  constructor(context: Context, observers: readonly Observer[], options: WorkerOptions = {}) {
    checkObservers(observers);
    const settings = settingsOf(options);
    const columns = byColumn(observers);
    const { rangeLocks, onMeeting = 'jump', onCommitted = () => {} } = options;
    const warnings = new Warnings(options.onWarning);
    const failing = new FailingColumns(warnings, settings);
    const { onFailure = (failure) => failing.begin(failure) } = options;
    const locks = rangeLocks && new ScanLocks(rangeLocks, context.clock, context.identity?.name);
    const shared = { context, settings, counters: this.counters, warnings, locks };
    this.#context = context;
    this.#slowMs = settings.slowMs;
    this.#warnings = warnings;
    this.#failingColumns = failing;
    this.#locks = locks;
    this.#rest = new Rest(context.clock, context.store, settings);
    this.#peers = new Peers(context, observers, warnings);
    this.#runs = new ObserverRuns({
      ...shared,
      observers: columns,
      onFailure: warnings.guard('onFailure', onFailure),
      onCommitted: warnings.guard('onCommitted', onCommitted),
      onNoRoom: () => this.#rest.wake(),
      end: (error) => this.#end(error),
    });
    const { telemetry, oracle } = context;
    this.#findings = telemetry && new ScanFindings(telemetry, oracle);
    this.#endReadings = telemetry?.watch(() => this.#readings());
    this.#scans = new Scans({
      ...shared,
      observers,
      runs: this.#runs,
      peers: this.#peers,
      rest: this.#rest,
      onMeeting,
      findings: this.#findings,
      stopping: this.#stopping.signal,
    });
    context.workers.add(this.#listener);
    context.closing.signal.addEventListener('abort', this.#onClosing);
    this.#scanning = this.#scans.run();
    // `ended`, `idle` and `stop` report it; until then it must not end the process as unhandled.
    this.#ended.promise.catch(() => {});
    this.#scanning.catch((error: unknown) => this.#end(error));
    void this.#watch();
    if (context.closing.signal.aborted) this.#onClosing();
    options.signal?.addEventListener('abort', this.#onAbort, { signal: this.#over.signal });
    if (options.signal?.aborted === true) this.#onAbort();
  }

  /**
   * Resolves when the worker was stopped and its runs have ended. Rejects, as soon as the worker
   * cannot go on, with what ended it: STORE_CLOSED, INVALID_ARGUMENT for a name that no table can
   * have, or a bug.
   */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * Cells whose observers failed here, or met a conflict, a lost answer or a refusal, and whose run
   * has not succeeded since. They rest, or are run again once a scan finds them.
   */
  get failing(): number {
    return this.#runs.failures.size;
  }

  /** The current warnings: those that `onWarning` was called for and that are not over. */
  get warnings(): readonly Warning[] {
    return this.#warnings.current;
  }

  /**
   * Begins no more runs, and resolves when those in flight have ended (P50, stopped, still
   * running): never, if an observer hangs forever. Rejects with what ended the worker, if that was
   * not the stop.
   */
  async stop(): Promise<void> {
    this.#beginNoMore();
    try {
      await this.#runs.ended();
      await this.#scanning;
      if (this.#endedBy !== undefined) throw this.#endedBy.error;
      this.#ended.resolve();
    } finally {
      this.#over.abort();
      this.#locks?.releaseAll();
      this.#endReadings?.();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Resolves when a whole scan has found no dirty cells, except those that rest after a failure,
   * and nothing ran meanwhile; or when the worker is stopped. Never, while an observer hangs, or
   * observers trigger themselves without end: both are warnings. A table that does not exist has no
   * dirty cells. Rejects with what ended the worker, if that was not `stop`, and with the storage's
   * error if a table cannot be scanned, or runs are refused, and trying again will not help. Runs
   * that were refused before the call are tried again first. What it resolves to says whether every
   * change has been observed: then both numbers are 0.
   * @throws the reason of `signal`, as soon as that aborts: the worker goes on
   */
  async idle({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<Idleness> {
    await unlessAborted(this.#scans.untilEmpty(signal), signal);
    if (this.#stopping.signal.aborted) await this.#scanning;
    if (this.#endedBy !== undefined) throw this.#endedBy.error;
    // The tables that were found clean may be those of another database (P74, another store in
    // place).
    if (!this.#stopping.signal.aborted) await this.#context.identity?.check();
    return { failing: this.failing, parked: this.counters.parked };
  }

  /** The worker cannot go on. */
  #end(error: unknown): void {
    this.#endedBy ??= { error };
    this.#beginNoMore();
    const sentence = 'the worker has ended: it scans nothing and runs no observer any more';
    this.#warnings.begin('worker', { kind: 'ended', sentence, error });
    this.#ended.reject(error);
  }

  #beginNoMore(): void {
    this.#stopping.abort();
    this.#rest.end();
    this.#peers.stop();
    this.#context.workers.delete(this.#listener);
    this.#context.closing.signal.removeEventListener('abort', this.#onClosing);
    this.#runs.beginNoMore();
  }

  /** What is read of a worker when metrics are collected. */
  #readings(): readonly Reading[] {
    const { fresh, scans, oldest } = this.#findings ?? {};
    return [
      { metric: 'percolator.observer.running', value: this.#runs.running },
      { metric: 'percolator.observer.failing', value: this.failing },
      { metric: 'percolator.observer.parked', value: this.counters.parked },
      { metric: 'percolator.notification.found', value: fresh },
      { metric: 'percolator.notification.wasted', value: this.counters.clean },
      { metric: 'percolator.notification.waiting', value: this.#runs.waiting },
      { metric: 'percolator.notification.oldest', value: oldest },
      { metric: 'percolator.notification.scans', value: scans },
      ...readingsOfWarnings(this.warnings),
    ];
  }

  /** What has ended the worker is told by `ended`. */
  readonly #onAbort = (): void => void this.stop().catch(() => {});

  readonly #onClosing = (): void => this.#end(wasClosed());

  readonly #listener: NotificationListener = {
    observes: (cell) => this.#runs.isObserved(cell),
    tell: (notification) => this.#runs.notified(notification),
  };

  /**
   * Reports a slow run or scan while it lasts:
   * a report at its end would come too late, or never.
   */
  async #watch(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      await this.#context.clock.sleep(this.#slowMs / LOOKS_PER_SLOW, signal, { background: true });
      this.#runs.reportSlow();
      this.#runs.loops.sweep();
      if (this.failing + this.counters.parked === 0) this.#failingColumns.end();
      this.#scans.reportSlow();
    }
  }
}
