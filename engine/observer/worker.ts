/**
 * The worker (section 2.4): scans for dirty cells and runs their observers.
 *
 *     scanner ─────┐
 *                  ├─▶ queue ─▶ at most `concurrency` runs ─▶ cleared
 *     commits of ──┘              │ threw
 *     this process               └─▶ rests for a while; parked after too many failures
 *
 * Notifications that this process commits go straight into the queue: their observers run
 * immediately, not only after the next scan. That is a short cut, not a promise; only the notify
 * cells count, and a scan finds every cell that the queue had no room for.
 *
 * Whatever goes wrong in a part of the work costs that part only, and is reported (P56): a table
 * that cannot be scanned, a callback that throws, an observer that hangs. Three things end the
 * worker: the store or the oracle was closed, an observer names a table that can never exist, or
 * there is a bug.
 */
import {
  hasCode,
  isFinal,
  isRetryable,
  type PercolatorError,
  type Trouble,
  Troubles,
} from '../base/index.ts';
import {
  cellName,
  type CommittedNotification,
  type Context,
  isTableNotFound,
} from '../transaction/index.ts';
import { storagesError } from './blame.ts';
import { DoubtfulRuns } from './doubtful-runs.ts';
import { Failures } from './failures.ts';
import { ListedColumns } from './listed-columns.ts';
import type { DirtyCell, Observer } from './observer.ts';
import { park } from './parking.ts';
import { Refusals } from './refusals.ts';
import { Rest } from './rest.ts';
import { type CommittedRun, type Notified, runObservers } from './run-observer.ts';
import { ScanLocks } from './scan-locks.ts';
import { type Batch, NotificationScanner } from './scanner.ts';
import {
  byColumn,
  columnKey,
  type ObserverFailure,
  type Settings,
  settingsOf,
  type WorkerOptions,
} from './worker-options.ts';

/** Counts since the worker started. */
export interface WorkerCounters {
  /** Observer runs that committed, as far as this worker knows: see `onCommitted`. */
  runs: number;
  /** Notifications that needed no run: their change had been seen, or was never committed. */
  clean: number;
  /**
   * Times that the observers of a cell failed; conflicts, lost answers and refusals of the storage
   * are no failures.
   */
  failures: number;
  /** Cells parked. */
  parked: number;
  /** Batches left to another worker's scanner, which was there first. */
  meetings: number;
}

/**
 * Rows locked at a time: few, so that two workers can share even a little work;
 * enough to be worth a call.
 */
const LOCKED_ROWS = 32;
/** Cells waiting in the queue beyond which new ones are left to the scanner. */
const QUEUE_MAX = 100_000;
/** Checks for slow runs and scans, per `slowMs`. */
const LOOKS_PER_SLOW = 2;

/** What a scan of all tables has found. */
interface Scanned {
  readonly dirty: number;
  /** Cells that were not known before. */
  readonly fresh: number;
  /** Every dirty cell was met. */
  readonly isWhole: boolean;
}

interface Running {
  readonly cell: Notified;
  readonly sinceMs: number;
  readonly ended: Promise<void>;
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
  readonly #observers: Map<string, Observer[]>;
  readonly #scanners: readonly NotificationScanner[];
  readonly #options: Settings;
  readonly #locks: ScanLocks | undefined;
  readonly #onMeeting: 'jump' | 'skip';
  readonly #batchRows: number;
  readonly #troubles: Troubles;
  readonly #listed: ListedColumns;
  readonly #onFailure: (failure: ObserverFailure) => void;
  readonly #onCommitted: (run: CommittedRun) => void;
  readonly #failures: Failures;
  readonly #doubtful = new DoubtfulRuns();
  /** The refused cells, each of which `#failures` remembers, too. */
  readonly #refusals: Refusals;
  readonly #rest: Rest;
  readonly #stopping = new AbortController();
  /** Aborted by `stop` when the last run has ended: until then slow runs are reported. */
  readonly #over = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** What ended the worker, if that was not `stop`. */
  #endedBy: { readonly error: unknown } | undefined;
  /** Found and not yet begun, in the order found. */
  readonly #queue = new Map<string, Notified>();
  /** Begun and not yet cleared: scanning finds their marks still there (P48). */
  readonly #running = new Map<string, Running>();
  /** Resolved when the next run ends, or when no more begin. */
  #runEnds: PromiseWithResolvers<void> | undefined;
  /** Marked again while running: the run may not have seen it. */
  readonly #again = new Map<string, Notified>();
  readonly #scanning: Promise<void>;
  /** The scan's call that has no answer yet. */
  #asking: { readonly table: string; readonly sinceMs: number } | undefined;
  /** How many runs have begun. Only grows. */
  #begun = 0;
  /** Full rounds of scanning during which there was nothing to do. Only grows. */
  #emptyScans = 0;
  /** Full rounds of scanning that have ended. Only grows. */
  #scans = 0;
  /** Whether the queue has had no room for a cell since the scan began. */
  #isFull = false;

  /** Starts at once. */
  constructor(context: Context, observers: readonly Observer[], options: WorkerOptions = {}) {
    this.#context = context;
    this.#observers = byColumn(observers);
    this.#options = settingsOf(options);
    const { rangeLocks, onMeeting = 'jump' } = options;
    this.#locks = rangeLocks && new ScanLocks(rangeLocks, context.clock);
    this.#onMeeting = onMeeting;
    const { scanRows } = this.#options;
    this.#batchRows = rangeLocks === undefined ? scanRows : Math.min(scanRows, LOCKED_ROWS);
    this.#troubles = new Troubles(options.onTrouble);
    this.#listed = new ListedColumns(context, observers, this.#troubles);
    this.#onFailure = this.#troubles.guard('onFailure', options.onFailure ?? (() => {}));
    this.#onCommitted = this.#troubles.guard('onCommitted', options.onCommitted ?? (() => {}));
    this.#failures = new Failures(context.clock, this.#options.failureBackoffMs);
    this.#refusals = new Refusals(this.#troubles);
    this.#rest = new Rest(context.clock, context.store, this.#options);
    // Each worker of this process has a stream of its own, or all would jump to the same places.
    const random = context.random.fork(`scanner ${context.workersStarted++}`);
    const tables = [...new Set(observers.map(({ table }) => table))];
    const jumps = rangeLocks !== undefined;
    this.#scanners = tables.map(
      (table) => new NotificationScanner(context.named, random, table, { jumps }),
    );
    context.notified.add(this.#onNotified);
    this.#scanning = this.#scan();
    // `ended`, `idle` and `stop` report it; until then it must not end the process as unhandled.
    this.#ended.promise.catch(() => {});
    this.#scanning.catch((error: unknown) => this.#end(error));
    void this.#watch();
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
    return this.#failures.size;
  }

  /** The current troubles: those that `onTrouble` was called for and that are not over. */
  get troubles(): readonly Trouble[] {
    return this.#troubles.current;
  }

  /**
   * Begins no more runs, and resolves when those in flight have ended (P50): never, if an observer
   * hangs for ever. Rejects with what ended the worker, if that was not the stop.
   */
  async stop(): Promise<void> {
    this.#beginNoMore();
    try {
      while (this.#running.size > 0) await Promise.all(this.#runs());
      await this.#scanning;
      if (this.#endedBy !== undefined) throw this.#endedBy.error;
      this.#ended.resolve();
    } finally {
      this.#over.abort();
      this.#locks?.releaseAll();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Resolves when a whole scan has found no dirty cells, except those that rest after a failure,
   * and nothing ran meanwhile; or when the worker is stopped. A table that does not exist has no
   * dirty cells. Rejects with what ended the worker, if that was not `stop`, and with the storage's
   * error if a table cannot be scanned, or runs are refused, and trying again will not help. Runs
   * that were refused before the call are tried again first.
   */
  async idle(): Promise<void> {
    const { signal } = this.#stopping;
    // The first empty scan may have begun before the call, and passed a cell marked since.
    const enough = this.#emptyScans + 2;
    const known = this.#scans + 2;
    const refusals = this.#refusals.count;
    this.#failures.wakeRefused();
    while (this.#emptyScans < enough && !signal.aborted) {
      this.#rest.wake(); // A caller is waiting.
      await this.#context.clock.sleep(1, signal);
      if (this.#scans >= known) this.#throwIfRefused(this.#refusals.count > refusals);
    }
    if (signal.aborted) await this.#scanning;
    if (this.#endedBy !== undefined) throw this.#endedBy.error;
  }

  /** @param alsoRuns false while refused runs, whose troubles name a column, may be over */
  #throwIfRefused(alsoRuns: boolean): void {
    const refused = this.#troubles.current.find(
      ({ kind, column, error }) =>
        kind === 'table' &&
        // A table that does not exist has no dirty cells; one whose runs are refused has some.
        (column === undefined ? !isTableNotFound(error) : alsoRuns) &&
        !isRetryable(error),
    );
    if (refused !== undefined) throw refused.error;
  }

  /** The worker cannot go on. */
  #end(error: unknown): void {
    this.#endedBy ??= { error };
    this.#beginNoMore();
    const sentence = 'the worker has ended: it scans nothing and runs no observer any more';
    this.#troubles.begin('worker', { kind: 'ended', sentence, error });
    this.#ended.reject(error);
  }

  #beginNoMore(): void {
    this.#stopping.abort();
    this.#rest.end();
    this.#context.notified.delete(this.#onNotified);
    this.#queue.clear();
    this.#again.clear();
    this.#runEnds?.resolve();
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
      const beganMs = this.#context.clock.monotonicMs();
      this.#isFull = false;
      const { dirty, fresh, isWhole } = await this.#scanTables();
      this.#failures.sweep({ beganMs, isWhole: isWhole && !this.#isFull }, (name) =>
        this.#isInFlight(name),
      );
      const isEmpty = wasQuiet && dirty === 0 && this.#begun === begunBefore;
      if (isEmpty) this.#emptyScans++;
      this.#sweepRefusals(isEmpty);
      this.#scans++; // Only now: `idle` must not meet a refusal that is over.
      // A scan that finds only what is queued, running or resting has no reason to hurry.
      if (fresh === 0) await this.#rest.sleep(signal);
      else this.#rest.wasBusy();
    }
  }

  /**
   * A scan has ended. If it was empty, no refused cell is marked any more: it would have counted as
   * dirty.
   */
  #sweepRefusals(isEmpty: boolean): void {
    for (const name of this.#refusals.names) {
      if (isEmpty) this.#failures.forget(name);
      if (!this.#failures.isRefused(name)) this.#refusals.end(name);
    }
  }

  /** Scans every table for a full round. Cells that rest after a failure do not count as dirty. */
  async #scanTables(): Promise<Scanned> {
    let dirty = 0;
    let fresh = 0;
    let isWhole = true;
    for (const scanner of this.#scanners) {
      await this.#ask(scanner.table, () => this.#listed.check(scanner.table));
      for (let comeRound = false; !comeRound && !this.#stopping.signal.aborted;) {
        const batch = await this.#nextBatch(scanner);
        const cells = batch.cells.filter((cell) => this.#isObserved(cell));
        dirty += cells.filter((cell) => !this.#failures.hasFailed(nameOf(cell))).length;
        const isOthers = this.#locks !== undefined && !(await this.#tryLock(cells, this.#locks));
        if (!isOthers) fresh += this.#enqueueAll(cells);
        if (!batch.isKnown || isOthers) {
          dirty++; // Unknown, so assumed dirty.
          isWhole = false;
        }
        ({ comeRound } = batch);
        if (isOthers && this.#meet(scanner)) comeRound = true;
        this.#fill();
        await this.#untilQueueIsShort();
      }
    }
    return { dirty, fresh, isWhole: isWhole && !this.#stopping.signal.aborted };
  }

  /**
   * If a table cannot be scanned, its state is unknown until the next scan, and the other tables go
   * on (P56). A table that does not exist is known to have no dirty cells.
   */
  async #nextBatch(scanner: NotificationScanner): Promise<Batch & { readonly isKnown: boolean }> {
    const { table } = scanner;
    try {
      const batch = await this.#ask(table, () => scanner.nextBatch(this.#batchRows));
      this.#troubles.end(`table ${table}`);
      return { ...batch, isKnown: true };
    } catch (error) {
      if (isFinal(error)) throw error;
      scanner.jump(); // When the table exists again, its next scan is a full round.
      this.#listed.doubt(table);
      const { code } = error as PercolatorError; // All others are final.
      const sentence = `table ${table} cannot be scanned (${code}); every scan tries it again`;
      this.#troubles.begin(`table ${table}`, { kind: 'table', sentence, table, error });
      return { cells: [], comeRound: true, isKnown: isTableNotFound(error) };
    }
  }

  /** Makes a call of the scan; if its answer is late, `#watch` reports it. */
  async #ask<T>(table: string, call: () => Promise<T>): Promise<T> {
    this.#asking = { table, sinceMs: this.#context.clock.monotonicMs() };
    try {
      return await call();
    } finally {
      this.#asking = undefined;
      this.#troubles.end(`slow scan of ${table}`);
    }
  }

  /**
   * Locks the cells that this worker does not know yet.
   * False if another worker's scanner works on one of their rows.
   */
  async #tryLock(cells: readonly Notified[], locks: ScanLocks): Promise<boolean> {
    const unknown = cells
      .map((cell) => ({ name: nameOf(cell), table: cell.table, row: cell.row }))
      .filter(({ name }) => !this.#isKnown(name));
    return locks.tryLock(unknown);
  }

  #isKnown(name: string): boolean {
    return this.#isInFlight(name) || this.#failures.isResting(name);
  }

  #isInFlight(name: string): boolean {
    return this.#running.has(name) || this.#queue.has(name);
  }

  /** Another worker's scanner is at the same place. True if this one leaves. */
  #meet(scanner: NotificationScanner): boolean {
    this.counters.meetings++;
    this.#rest.wasBusy(); // There is work, only not here.
    if (this.#onMeeting === 'skip') return false;
    scanner.jump();
    return true;
  }

  /** Other workers may have observers for other columns of the table. */
  #isObserved({ table, column }: DirtyCell): boolean {
    return this.#observers.has(columnKey(table, column));
  }

  /** Returns how many of the cells are new. */
  #enqueueAll(cells: readonly Notified[]): number {
    let fresh = 0;
    for (const cell of cells) {
      if (this.#enqueue(cell)) fresh++;
      // It will not run now.
      else if (!this.#isInFlight(nameOf(cell))) this.#locks?.done(nameOf(cell));
    }
    return fresh;
  }

  /** Whether the cell is new: neither queued, nor running, nor resting after a failure. */
  #enqueue(cell: Notified): boolean {
    const name = nameOf(cell);
    if (!this.#isObserved(cell)) return false;
    if (this.#running.has(name)) {
      // The answer of a scan may be older than a change that this process has committed since.
      if (cell.timestamp > (this.#again.get(name)?.timestamp ?? 0)) this.#again.set(name, cell);
      return false;
    }
    if (this.#queue.has(name) || this.#failures.isResting(name)) return false;
    if (this.#queue.size >= QUEUE_MAX) {
      this.#isFull = true;
      return false;
    }
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
      const sinceMs = this.#context.clock.monotonicMs();
      const run = this.#run(name, cell).then(() => this.#hasRun(name, cell));
      // A run throws nothing that `#run` does not catch, except a bug, which ends the worker and is
      // reported.
      const ended = run.catch((error: unknown) => {
        this.#running.delete(name); // Or `stop` would wait for ever.
        this.#end(error);
      });
      this.#running.set(name, { cell, sinceMs, ended });
    }
  }

  #hasRun(name: string, cell: Notified): void {
    this.#running.delete(name);
    this.#troubles.end(`run ${name}`);
    this.#locks?.done(name);
    const again = this.#again.get(name);
    this.#again.delete(name);
    if (again !== undefined && again.timestamp > cell.timestamp) this.#enqueue(again);
    this.#fill();
    this.#runEnds?.resolve();
  }

  #runs(): readonly Promise<void>[] {
    return [...this.#running.values()].map(({ ended }) => ended);
  }

  async #run(name: string, cell: Notified): Promise<void> {
    const observers = this.#observers.get(columnKey(cell.table, cell.column)) ?? [];
    try {
      const onCommitted = (run: CommittedRun): void => {
        this.counters.runs++; // Counted even if another observer of the cell fails.
        this.#onCommitted(run);
      };
      const notes = { onCommitted, doubtful: this.#doubtful };
      const runs = await runObservers(this.#context, cell, observers, notes);
      if (runs.length === 0) this.counters.clean++;
      this.#failures.forget(name);
      this.#refusals.end(name);
    } catch (error) {
      await this.#onError(name, cell, error);
    }
  }

  /**
   * After a conflict, without an answer, or if the storage refuses, the cell only rests; other
   * errors count towards parking.
   */
  async #onError(name: string, cell: Notified, error: unknown): Promise<void> {
    const storages = await storagesError(this.#context, cell, error);
    if (storages?.isRefusal === true) {
      this.#failures.refuse(name);
      this.#refusals.begin(name, cell, storages.error);
      return;
    }
    if (storages !== undefined) {
      this.#failures.rest(name);
      if (hasCode(storages.error, 'STORE_CLOSED')) this.#end(storages.error); // No run will ever succeed.
      return;
    }
    const failures = this.#failures.add(name);
    this.#refusals.end(name);
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
      const entry = { failures, error: textOf(error) };
      if (await park(this.#context.named, cell, entry)) this.counters.parked++;
      this.#failures.forget(name);
    } catch {
      // It stays where it is, rests as after any failure, and is parked the next time.
    }
  }

  /**
   * Reports a slow run or scan while it lasts:
   * a report at its end would come too late, or never.
   */
  async #watch(): Promise<void> {
    const { clock } = this.#context;
    const { slowMs } = this.#options;
    const { signal } = this.#over;
    while (!signal.aborted) {
      await clock.sleep(slowMs / LOOKS_PER_SLOW, signal, { background: true });
      const sinceMs = clock.monotonicMs() - slowMs;
      for (const [name, run] of this.#running) if (run.sinceMs <= sinceMs) this.#isSlow(name, run);
      if (this.#asking === undefined || this.#asking.sinceMs > sinceMs) continue;
      const { table } = this.#asking;
      const sentence = `the scan of table ${table} has waited for more than ${slowMs} ms for the storage`;
      this.#troubles.begin(`slow scan of ${table}`, { kind: 'slow scan', sentence, table });
    }
  }

  #isSlow(name: string, { cell: { table, row, column } }: Running): void {
    const { slowMs, concurrency } = this.#options;
    const sentence = `the observers of column ${column} have been running for more than ${slowMs} ms for one row: 1 of ${concurrency} places is taken until they end`;
    this.#troubles.begin(`run ${name}`, { kind: 'slow run', sentence, table, row, column });
  }

  async #untilQueueIsShort(): Promise<void> {
    while (this.#queue.size > this.#batchRows / 2 && !this.#stopping.signal.aborted) {
      // Not a race of the runs: each race would leave a reaction with a run that hangs.
      this.#runEnds = Promise.withResolvers<void>();
      await this.#runEnds.promise;
    }
  }
}

/** An observer may throw anything, also an object that cannot be converted. */
function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'a value that has no text';
  }
}

function nameOf(cell: Notified): string {
  return `${cellName(cell)}\0${cell.weak ? 'weak' : 'strong'}`;
}
