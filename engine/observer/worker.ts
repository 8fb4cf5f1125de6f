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
import { isRetryable, PercolatorError } from '../base/index.ts';
import { cellName, type CommittedNotification, type Context } from '../transaction/index.ts';
import { Failures } from './failures.ts';
import type { DirtyCell, Observer } from './observer.ts';
import { park } from './parking.ts';
import { Rest } from './rest.ts';
import { type CommittedRun, type Notified, runObservers } from './run-observer.ts';
import { ScanLocks } from './scan-locks.ts';
import { type Batch, NotificationScanner } from './scanner.ts';
import {
  type ObserverFailure,
  type Settings,
  settingsOf,
  type WorkerOptions,
} from './worker-options.ts';

/** Counts since the worker started. */
export interface WorkerCounters {
  /** Observer runs that committed. */
  runs: number;
  /** Notifications found to be seen already. */
  clean: number;
  failures: number;
  parked: number;
  /** Batches that were left to another worker's scanner, which was there already. */
  meetings: number;
}

/** Rows that are locked at a time: few, so that two workers can share a little work; enough to be worth a call. */
const LOCKED_ROWS = 32;
/** Cells waiting in the queue beyond which new ones are left to the scanner. */
const QUEUE_MAX = 100_000;

export class Worker implements AsyncDisposable {
  readonly counters: WorkerCounters = {
    runs: 0,
    clean: 0,
    failures: 0,
    parked: 0,
    meetings: 0,
  };
  readonly #context: Context;
  readonly #observers: Map<string, Observer[]>;
  readonly #scanners: readonly NotificationScanner[];
  readonly #options: Settings;
  readonly #locks: ScanLocks | undefined;
  readonly #onMeeting: 'jump' | 'skip';
  readonly #batchRows: number;
  readonly #onFailure: (failure: ObserverFailure) => void;
  readonly #onCommitted: (run: CommittedRun) => void;
  readonly #failures: Failures;
  readonly #rest: Rest;
  readonly #stopping = new AbortController();
  /** Found and not yet begun, in the order found. */
  readonly #queue = new Map<string, Notified>();
  /** Begun and not yet cleared: scanning finds their marks still there (P48). */
  readonly #running = new Map<string, Promise<void>>();
  /** Marked again while running: the run may not have seen it. */
  readonly #again = new Map<string, Notified>();
  readonly #scanning: Promise<void>;
  /** Runs begun. Only grows. */
  #begun = 0;
  /** Scans all round during which there was nothing to do. Only grows. */
  #emptyScans = 0;

  /** Starts at once. */
  constructor(context: Context, observers: readonly Observer[], options: WorkerOptions = {}) {
    this.#context = context;
    this.#observers = Map.groupBy(observers, ({ table, column }) => `${table}\0${column}`);
    this.#options = settingsOf(options);
    const { rangeLocks, onMeeting = 'jump' } = options;
    this.#locks = rangeLocks === undefined ? undefined : new ScanLocks(rangeLocks);
    this.#onMeeting = onMeeting;
    const { scanRows } = this.#options;
    this.#batchRows = rangeLocks === undefined ? scanRows : Math.min(scanRows, LOCKED_ROWS);
    this.#onFailure = options.onFailure ?? (() => {});
    this.#onCommitted = options.onCommitted ?? (() => {});
    this.#failures = new Failures(context.clock, this.#options.failureBackoffMs);
    this.#rest = new Rest(context.clock, context.store, this.#options);
    // A stream of its own for each worker of this process, or they would all jump to the same places.
    const random = context.random.fork(`scanner ${context.notified.size}`);
    const tables = [...new Set(observers.map(({ table }) => table))];
    const jumps = rangeLocks !== undefined;
    this.#scanners = tables.map(
      (table) => new NotificationScanner(context.store, random, table, { jumps }),
    );
    context.notified.add(this.#onNotified);
    this.#scanning = this.#scan();
    // `stop` reports it; until then it is nobody's unhandled rejection.
    this.#scanning.catch(() => {
      this.#stopping.abort();
      this.#rest.end();
    });
  }

  /**
   * Begins no more runs, and resolves when those in flight have ended. Rejects with what ended the
   * scanning, if that was not the stop.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#rest.end();
    this.#context.notified.delete(this.#onNotified);
    this.#queue.clear();
    this.#again.clear();
    await Promise.all(this.#running.values());
    await this.#scanning;
    this.#locks?.releaseAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Resolves when a whole scan has found no dirty cell that is not resting after a failure, and nothing
   * ran meanwhile. Rejects with what ended the scanning, if that was not `stop`.
   */
  async idle(): Promise<void> {
    const { signal } = this.#stopping;
    // The first one may have begun before the call, and have passed a cell that was marked since.
    const enough = this.#emptyScans + 2;
    while (this.#emptyScans < enough && !signal.aborted) {
      this.#rest.wake(); // Somebody is waiting.
      await this.#context.clock.sleep(1, signal);
    }
    if (signal.aborted) await this.#scanning;
  }

  readonly #onNotified = ({ strong, weak, commitTimestamp }: CommittedNotification): void => {
    const timestamp = commitTimestamp;
    for (const cell of strong) this.#enqueue({ ...cell, weak: false, timestamp });
    for (const cell of weak) this.#enqueue({ ...cell, weak: true, timestamp });
    this.#fill();
  };

  async #scan(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const wasQuiet = this.#queue.size + this.#running.size === 0;
      const begunBefore = this.#begun;
      this.#rest.scanBegins();
      const { dirty, fresh } = await this.#scanTables();
      if (wasQuiet && dirty === 0 && this.#begun === begunBefore) this.#emptyScans++;
      // A scan that finds only what is queued, running or resting has nothing to hurry for.
      if (fresh === 0) await this.#rest.sleep(signal);
      else this.#rest.wasBusy();
    }
  }

  /** Every table once, all round. Cells that only rest after a failure do not count as dirty. */
  async #scanTables(): Promise<{ readonly dirty: number; readonly fresh: number }> {
    let dirty = 0;
    let fresh = 0;
    for (const scanner of this.#scanners) {
      for (let comeRound = false; !comeRound && !this.#stopping.signal.aborted;) {
        const batch = await this.#nextBatch(scanner);
        const cells = batch.cells.filter((cell) => this.#isObserved(cell));
        dirty += cells.filter((cell) => !this.#failures.hasFailed(nameOf(cell))).length;
        const isOthers = this.#locks !== undefined && !(await this.#tryLock(cells, this.#locks));
        if (!isOthers) fresh += this.#enqueueAll(cells);
        if (!batch.isKnown || isOthers) dirty++; // Who knows.
        ({ comeRound } = batch);
        if (isOthers && this.#meet(scanner)) comeRound = true;
        this.#fill();
        await this.#untilQueueIsShort();
      }
    }
    return { dirty, fresh };
  }

  /** If the storage is unavailable for a moment, nothing is known of the table until the next scan. */
  async #nextBatch(scanner: NotificationScanner): Promise<Batch & { readonly isKnown: boolean }> {
    try {
      return { ...(await scanner.nextBatch(this.#batchRows)), isKnown: true };
    } catch (error) {
      if (!isRetryable(error)) throw error;
      return { cells: [], comeRound: true, isKnown: false };
    }
  }

  /** Of those cells that this worker does not know. False if another worker's scanner is at one of their rows. */
  async #tryLock(cells: readonly Notified[], locks: ScanLocks): Promise<boolean> {
    const unknown = cells
      .map((cell) => ({ name: nameOf(cell), table: cell.table, row: cell.row }))
      .filter(({ name }) => !this.#isKnown(name));
    return locks.tryLock(unknown);
  }

  #isKnown(name: string): boolean {
    return this.#isUnderway(name) || this.#failures.isResting(name);
  }

  #isUnderway(name: string): boolean {
    return this.#running.has(name) || this.#queue.has(name);
  }

  /** Another scanner is where this one is. True if it leaves. */
  #meet(scanner: NotificationScanner): boolean {
    this.counters.meetings++;
    this.#rest.wasBusy(); // There is something to do, only not here.
    if (this.#onMeeting === 'skip') return false;
    scanner.jump();
    return true;
  }

  /** Other workers may have observers for other columns of the table. */
  #isObserved({ table, column }: DirtyCell): boolean {
    return this.#observers.has(`${table}\0${column}`);
  }

  /** How many of the cells are new. */
  #enqueueAll(cells: readonly Notified[]): number {
    let fresh = 0;
    for (const cell of cells) {
      if (this.#enqueue(cell)) fresh++;
      else if (!this.#isUnderway(nameOf(cell))) this.#locks?.done(nameOf(cell)); // It will not be run now.
    }
    return fresh;
  }

  /** Whether the cell is new: neither queued, nor running, nor resting after a failure. */
  #enqueue(cell: Notified): boolean {
    const name = nameOf(cell);
    if (!this.#isObserved(cell)) return false;
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
      this.#begun++;
      const run = this.#run(name, cell).finally(() => {
        this.#running.delete(name);
        this.#locks?.done(name);
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
      const runs = await runObservers(this.#context, cell, observers, (run) => {
        this.counters.runs++; // Counted also if another observer of the cell fails.
        this.#onCommitted(run);
      });
      if (runs.length === 0) this.counters.clean++;
      this.#failures.forget(name);
    } catch (error) {
      await this.#onError(name, cell, error);
    }
  }

  /** After a conflict, or without an answer, it only rests; what the observer throws counts towards parking. */
  async #onError(name: string, cell: Notified, error: unknown): Promise<void> {
    if (isRetryable(error) || isUnanswered(error)) {
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
    while (this.#queue.size > this.#batchRows / 2 && !this.#stopping.signal.aborted) {
      await Promise.race(this.#running.values());
    }
  }
}

/**
 * The storage lost an answer. A run that may have committed can be run again all the same: if it
 * has, its acknowledgment says so.
 */
function isUnanswered(error: unknown): boolean {
  if (!(error instanceof PercolatorError)) return false;
  return error.code === 'COMMIT_UNKNOWN' || error.code === 'STORE_IN_DOUBT';
}

function nameOf(cell: Notified): string {
  return `${cellName(cell)}\0${cell.weak ? 'weak' : 'strong'}`;
}
