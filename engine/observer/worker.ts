/**
 * The worker (section 2.4): scans for dirty cells and runs their observers.
 *
 *     scanner ─────┐
 *                  ├─▶ queue ─▶ at most `concurrency` runs ─▶ cleared
 *     commits of ──┘              │ threw
 *     this process               └─▶ left alone for a while, and parked in the end
 *
 * Notifications that this process commits go straight into the queue: their observers run at once, not
 * when a scan comes by. That is a short cut, not a promise; the notify cells are what counts,
 * and what the queue forgets a scan finds.
 */
import { isRetryable } from '../base/index.ts';
import { cellName, type CommittedNotification, type Context } from '../transaction/index.ts';
import { Failures } from './failures.ts';
import type { DirtyCell, Observer } from './observer.ts';
import { park } from './parking.ts';
import { type CommittedRun, type Notified, runObservers } from './run-observer.ts';
import { NotificationScanner } from './scanner.ts';

export interface WorkerOptions {
  /**
   * Observer runs in flight at a time. Default 64. Too small: the storage idles. Too large: more
   * runs meet one another's locks, and memory.
   */
  readonly concurrency?: number | undefined;
  /** Rows per scanned batch. Default 256. Too small: scans cost more than runs. Too large: late marks wait. */
  readonly scanRows?: number | undefined;
  /**
   * Milliseconds of rest after a scan that found nothing new. Default 5. It is the latency of
   * changes made by other processes; too small, an idle worker burns CPU on empty scans.
   */
  readonly idleMs?: number | undefined;
  /** Failures of an observer for one cell before the cell is parked. Default 8. */
  readonly failuresMax?: number | undefined;
  /** First rest of a cell whose observer failed, in milliseconds; doubles with each failure. Default 50. */
  readonly failureBackoffMs?: number | undefined;
  /** Told of every failure of an observer. Default: nobody. */
  readonly onFailure?: ((failure: ObserverFailure) => void) | undefined;
  /** Told of every run that has committed, as soon as it has. Default: nobody. */
  readonly onCommitted?: ((run: CommittedRun) => void) | undefined;
}

export interface ObserverFailure {
  readonly cell: DirtyCell;
  readonly error: unknown;
  readonly failures: number;
  readonly parked: boolean;
}

/** The options that are numbers, with their defaults filled in. */
interface Settings {
  readonly concurrency: number;
  readonly scanRows: number;
  readonly idleMs: number;
  readonly failuresMax: number;
  readonly failureBackoffMs: number;
}

/** Counts since the worker started. */
export interface WorkerCounters {
  /** Observer runs that committed. */
  runs: number;
  /** Notifications found to be seen already. */
  clean: number;
  failures: number;
  parked: number;
}

/** Cells waiting in the queue beyond which new ones are left to the scanner. */
const QUEUE_MAX = 100_000;

export class Worker implements AsyncDisposable {
  readonly counters: WorkerCounters = { runs: 0, clean: 0, failures: 0, parked: 0 };
  readonly #context: Context;
  readonly #observers: Map<string, Observer[]>;
  readonly #scanners: readonly NotificationScanner[];
  readonly #options: Settings;
  readonly #onFailure: (failure: ObserverFailure) => void;
  readonly #onCommitted: (run: CommittedRun) => void;
  readonly #failures: Failures;
  readonly #stopping = new AbortController();
  /** Found and not yet begun, in the order found. */
  readonly #queue = new Map<string, Notified>();
  /** Begun and not yet cleared: scanning finds their marks still there (P48). */
  readonly #running = new Map<string, Promise<void>>();
  /** Marked again while running: the run may not have seen it. */
  readonly #again = new Map<string, Notified>();
  readonly #scanning: Promise<void>;

  /** Starts at once. */
  constructor(context: Context, observers: readonly Observer[], options: WorkerOptions = {}) {
    this.#context = context;
    this.#observers = Map.groupBy(observers, ({ table, column }) => `${table}\0${column}`);
    this.#options = {
      concurrency: options.concurrency ?? 64,
      scanRows: options.scanRows ?? 256,
      idleMs: options.idleMs ?? 5,
      failuresMax: options.failuresMax ?? 8,
      failureBackoffMs: options.failureBackoffMs ?? 50,
    };
    this.#onFailure = options.onFailure ?? (() => {});
    this.#onCommitted = options.onCommitted ?? (() => {});
    this.#failures = new Failures(context.clock, this.#options.failureBackoffMs);
    const random = context.random.fork('scanner');
    const tables = [...new Set(observers.map(({ table }) => table))];
    this.#scanners = tables.map((table) => new NotificationScanner(context.store, random, table));
    context.notified.add(this.#onNotified);
    this.#scanning = this.#scan();
    // `stop` reports it; until then it is nobody's unhandled rejection.
    this.#scanning.catch(() => {
      this.#stopping.abort();
    });
  }

  /**
   * Begins no more runs, and resolves when those in flight have ended. Rejects with what ended the
   * scanning, if that was not the stop.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#context.notified.delete(this.#onNotified);
    this.#queue.clear();
    this.#again.clear();
    await Promise.all(this.#running.values());
    await this.#scanning;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Resolves when a whole scan has found no dirty cell that is not parked or resting after a failure. */
  async idle(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const before = this.#emptyScans;
      await this.#context.clock.sleep(1, this.#stopping.signal);
      if (this.#emptyScans > before && this.#queue.size + this.#running.size === 0) return;
    }
  }

  /** Scans that came round without a dirty cell in them. Only grows. */
  #emptyScans = 0;

  readonly #onNotified = ({ strong, weak, commitTimestamp }: CommittedNotification): void => {
    const timestamp = commitTimestamp;
    for (const cell of strong) this.#enqueue({ ...cell, weak: false, timestamp });
    for (const cell of weak) this.#enqueue({ ...cell, weak: true, timestamp });
    this.#fill();
  };

  async #scan(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const found = await this.#scanOnce();
      this.#fill();
      // A scan that finds only what is queued, running or resting has nothing to hurry for.
      if (!found) await this.#context.clock.sleep(this.#options.idleMs, signal);
      else await this.#untilQueueIsShort();
    }
  }

  /** One batch of every table; true if there was anything new in it, or more to come. */
  async #scanOnce(): Promise<boolean> {
    let found = false;
    let dirty = 0;
    let allRound = true;
    for (const scanner of this.#scanners) {
      try {
        const { cells, comeRound } = await scanner.nextBatch(this.#options.scanRows);
        dirty += cells.filter((cell) => !this.#failures.isKnown(nameOf(cell))).length;
        for (const cell of cells) if (this.#enqueue(cell)) found = true;
        if (!comeRound) allRound = false;
      } catch (error) {
        if (!isRetryable(error)) throw error; // The storage is unavailable for a moment: scan again later.
      }
    }
    if (allRound && dirty === 0) this.#emptyScans++;
    return found || !allRound;
  }

  /** Whether the cell is new: neither queued, nor running, nor resting after a failure. */
  #enqueue(cell: Notified): boolean {
    const name = nameOf(cell);
    if (!this.#observers.has(`${cell.table}\0${cell.column}`)) return false;
    if (this.#running.has(name)) {
      this.#again.set(name, cell);
      return false;
    }
    if (this.#queue.has(name) || this.#failures.isResting(name)) return false;
    if (this.#queue.size >= QUEUE_MAX) return false;
    this.#queue.set(name, cell);
    return true;
  }

  #fill(): void {
    while (this.#running.size < this.#options.concurrency && !this.#stopping.signal.aborted) {
      const [next] = this.#queue;
      if (next === undefined) return;
      const [name, cell] = next;
      this.#queue.delete(name);
      const run = this.#run(name, cell).finally(() => {
        this.#running.delete(name);
        const again = this.#again.get(name);
        this.#again.delete(name);
        if (again !== undefined && again.timestamp > cell.timestamp) this.#enqueue(again);
        this.#fill();
      });
      this.#running.set(name, run);
    }
  }

  async #run(name: string, cell: Notified): Promise<void> {
    const observers = this.#observers.get(`${cell.table}\0${cell.column}`) ?? [];
    try {
      const runs = await runObservers(this.#context, cell, observers, this.#onCommitted);
      this.counters.runs += runs.length;
      if (runs.length === 0) this.counters.clean++;
      this.#failures.forget(name);
    } catch (error) {
      await this.#onError(name, cell, error);
    }
  }

  /** Conflicts only rest; what the observer itself throws counts towards parking. */
  async #onError(name: string, cell: Notified, error: unknown): Promise<void> {
    if (isRetryable(error)) {
      this.#failures.rest(name);
      return;
    }
    const failures = this.#failures.add(name);
    this.counters.failures++;
    const parked = failures >= this.#options.failuresMax;
    if (parked) await this.#park(name, cell, { failures, error });
    this.#onFailure({ cell, error, failures, parked });
  }

  async #park(
    name: string,
    cell: Notified,
    { failures, error }: { readonly failures: number; readonly error: unknown },
  ): Promise<void> {
    try {
      await park(this.#context.store, cell, { failures, error: String(error) });
      this.#failures.forget(name);
      this.counters.parked++;
    } catch {
      // It stays where it is, rests as after any failure, and is parked the next time.
    }
  }

  async #untilQueueIsShort(): Promise<void> {
    while (this.#queue.size > this.#options.scanRows / 2 && !this.#stopping.signal.aborted) {
      await Promise.race(this.#running.values());
    }
  }
}

function nameOf(cell: Notified): string {
  return `${cellName(cell)}\0${cell.weak ? 'weak' : 'strong'}`;
}
