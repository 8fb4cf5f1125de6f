/**
 * The running half of a worker: which cells wait, which run, and what becomes of each run.
 *
 *     found, by a scan ────┐
 *                          ├─▶ queue ─▶ at most `concurrency` runs ─▶ cleared
 *     committed by this ───┘              │ threw
 *     process                             └─▶ rests for a while; parked after too many failures
 *
 * A cell that is notified again while its observers run, runs once more: the run may not have seen
 * the change.
 */
import type { Clock, Warnings } from '../base/index.ts';
import {
  causeAfter,
  cellName,
  type CommittedNotification,
  type Context,
} from '../transaction/index.ts';
import { Failures, findStoreError, isAboutStore, Refusals, park } from './failures.ts';
import type { DirtyCell, Observer } from './observer.ts';
import { Queue } from './queue.ts';
import { type CommittedRun, DoubtfulRuns, type Notified, runObservers } from './run-observer.ts';
import type { ScanLocks } from './peers.ts';
import { columnKey, type ObserverFailure, type WorkerSettings } from './worker-options.ts';

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

export interface RunsServices {
  readonly context: Context;
  /** By column; none is empty. */
  readonly observers: ReadonlyMap<string, readonly Observer[]>;
  readonly settings: WorkerSettings;
  readonly counters: WorkerCounters;
  readonly warnings: Warnings;
  readonly locks: ScanLocks | undefined;
  readonly onFailure: (failure: ObserverFailure) => void;
  readonly onCommitted: (run: CommittedRun) => void;
  /** Called if a cell that no scan has found has no room: now a scan has to find it. */
  readonly onNoRoom: () => void;
  /** Called if the worker cannot go on. */
  readonly end: (error: unknown) => void;
}

interface RunningCell {
  readonly cell: Notified;
  readonly sinceMs: number;
  readonly ended: Promise<void>;
}

export class ObserverRuns {
  readonly failures: Failures;
  /** The refused cells, each of which `failures` remembers, too. */
  readonly refusals: Refusals;
  readonly loops: Loops;
  readonly #services: RunsServices;
  readonly #doubtful = new DoubtfulRuns();
  readonly #queue: Queue;
  /**
   * Begun and not yet cleared: scanning finds their notifications still there (P48, scan out of
   * date).
   */
  readonly #running = new Map<string, RunningCell>();
  /** Marked again while running: the run may not have seen it. */
  readonly #again = new Map<string, Notified>();
  /** How many runs have begun. Only grows. */
  #begun = 0;
  #beginsNoMore = false;
  /** Aborted when the queue is no longer than the scan wants it, or when no more runs begin. */
  #room: { readonly cells: number; readonly made: AbortController } | undefined;

  constructor(services: RunsServices) {
    const { context, settings, observers, warnings } = services;
    this.#services = services;
    this.failures = new Failures(context.clock, settings.failureBackoffMs);
    this.refusals = new Refusals(warnings);
    this.loops = new Loops(context.clock, settings, warnings);
    this.#queue = new Queue([...observers.keys()], settings);
  }

  get begun(): number {
    return this.#begun;
  }

  get running(): number {
    return this.#running.size;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether no cell waits or runs. */
  get isQuiet(): boolean {
    return this.#queue.size + this.#running.size === 0;
  }

  /** Begins no more runs. */
  beginNoMore(): void {
    this.#beginsNoMore = true;
    this.#queue.clear();
    this.#again.clear();
    this.#room?.made.abort('over');
  }

  /** Resolves when no run is in flight. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    }
  }

  /** Cells that a transaction of this process has notified. */
  notified({ strong, weak, commitTimestamp, cause, span }: CommittedNotification): void {
    const why = { timestamp: commitTimestamp, cause, span };
    for (const cell of strong) this.#hear({ ...cell, weak: false, ...why });
    for (const cell of weak) this.#hear({ ...cell, weak: true, ...why });
    this.fill();
  }

  /** Other workers may have observers for other columns of the table. */
  isObserved({ table, column }: DirtyCell): boolean {
    return this.#services.observers.has(columnKey(table, column));
  }

  /** Whether the cell waits, runs, or rests after a failure. */
  isKnown(name: string): boolean {
    return this.isInFlight(name) || this.failures.isResting(name);
  }

  isInFlight(name: string): boolean {
    return this.#running.has(name) || this.#queue.has(name);
  }

  /** The keys of the columns of which more than `cells` cells wait. */
  crowded(cells: number): ReadonlySet<string> {
    return new Set(this.#queue.crowded(cells));
  }

  /** Takes cells that a scan has found. */
  found(cells: readonly Notified[]): { readonly fresh: number; readonly isFull: boolean } {
    let fresh = 0;
    let isFull = false;
    for (const cell of cells) {
      // Of a transaction of this process that is committing: it will tell. To run now would be to
      // wait for its locks.
      const isOwn = this.#services.context.committing.isNotifying(cell.timestamp);
      const added = isOwn ? 'known' : this.#add(cell);
      if (added === 'added') fresh++;
      if (added === 'no room') isFull = true;
      // It will not run now.
      const name = nameOf(cell);
      if (added !== 'added' && !this.isInFlight(name)) this.#services.locks?.done(name);
    }
    return { fresh, isFull };
  }

  /**
   * Resolves when no more than `cells` cells of each column wait. With observers of several
   * columns, resolves after `msMax` at the latest: the one whose cells wait may be hanging, and
   * what the scan has not reached may be another one's (P82, one column takes all).
   */
  async untilShort(cells: number, msMax: number): Promise<void> {
    if (this.#beginsNoMore || this.#queue.crowded(cells).length === 0) return;
    // Not a race of the runs: each race would leave a reaction with a run that hangs.
    const made = new AbortController();
    this.#room = { cells, made };
    const { context, observers } = this.#services;
    const hasRoom = new Promise<void>((resolve) => {
      made.signal.addEventListener('abort', () => resolve());
    });
    await (observers.size > 1 ? context.clock.sleep(msMax, made.signal) : hasRoom);
    this.#room = undefined;
  }

  /** Begins as many runs as there are places. */
  fill(): void {
    while (!this.#beginsNoMore) {
      const next = this.#queue.begin();
      if (next === undefined) break;
      const { name, cell } = next;
      this.#begun++;
      const sinceMs = this.#services.context.clock.monotonicMs();
      const run = this.#run(name, cell).then(() => this.#hasRun(name, cell));
      // A run throws nothing that `#run` does not catch, except a bug, which ends the worker and is
      // reported.
      const ended = run.catch((error: unknown) => {
        this.#running.delete(name); // Or `stop` would wait forever.
        this.#services.end(error);
      });
      this.#running.set(name, { cell, sinceMs, ended });
    }
    if (this.#room !== undefined && this.#queue.crowded(this.#room.cells).length === 0) {
      this.#room.made.abort('room');
    }
  }

  /** Reports the runs that have lasted for `slowMs`. */
  reportSlow(): void {
    const { context, settings, warnings } = this.#services;
    const { slowMs, concurrency } = settings;
    const sinceMs = context.clock.monotonicMs() - slowMs;
    for (const [name, { cell, sinceMs: began }] of this.#running) {
      if (began > sinceMs) continue;
      const { table, row, column } = cell;
      const sentence = `the observers of column ${column} have been running for more than ${slowMs} ms for one row: 1 of ${concurrency} places is taken until they end`;
      warnings.begin(`run ${name}`, { kind: 'slow run', sentence, table, row, column });
    }
  }

  /** Takes a cell that no scan has found: the storage may not have hinted at it. */
  #hear(cell: Notified): void {
    if (this.#add(cell) === 'no room') this.#services.onNoRoom();
  }

  /** It is new unless it waits, runs, or rests after a failure. */
  #add(cell: Notified): 'added' | 'known' | 'no room' {
    const name = nameOf(cell);
    if (!this.isObserved(cell)) return 'known';
    if (this.#running.has(name)) {
      // The answer of a scan may be older than a change that this process has committed since.
      if (cell.timestamp > (this.#again.get(name)?.timestamp ?? 0)) this.#again.set(name, cell);
      return 'known';
    }
    if (this.failures.isResting(name) || this.#queue.renew(name, cell)) return 'known';
    return this.#queue.add({ name, cell }) ? 'added' : 'no room';
  }

  #hasRun(name: string, cell: Notified): void {
    this.#running.delete(name);
    this.#queue.ended(cell);
    this.#services.warnings.end(`run ${name}`);
    this.#services.locks?.done(name);
    const again = this.#again.get(name);
    this.#again.delete(name);
    if (again !== undefined && again.timestamp > cell.timestamp) this.#hear(again);
    this.fill();
  }

  async #run(name: string, cell: Notified): Promise<void> {
    const { context, observers, counters, onCommitted: tell } = this.#services;
    try {
      const onCommitted = (run: CommittedRun): void => {
        counters.runs++; // Counted even if another observer of the cell fails.
        tell(run);
      };
      const notes = { onCommitted, doubtful: this.#doubtful };
      const all = observers.get(columnKey(cell.table, cell.column)) ?? [];
      const runs = await runObservers(context, cell, all, notes);
      if (runs.length === 0) counters.clean++;
      else this.loops.hasRun(cell);
      this.failures.forget(name);
      this.refusals.end(name);
    } catch (error) {
      await this.#onError(name, cell, error);
    }
  }

  /**
   * After a conflict, without an answer, or if the storage refuses, the cell only rests; other
   * errors count towards parking.
   */
  async #onError(name: string, cell: Notified, error: unknown): Promise<void> {
    const { context, settings, counters, onFailure, end } = this.#services;
    const storeError = await findStoreError(context, cell, error);
    if (storeError?.isRefusal === true) {
      this.failures.refuse(name);
      this.refusals.begin(name, cell, storeError.error);
      return;
    }
    if (storeError !== undefined) {
      this.failures.rest(name);
      if (isAboutStore(storeError.error)) end(storeError.error); // No run will ever succeed.
      return;
    }
    const failures = this.failures.add(name);
    this.refusals.end(name);
    counters.failures++;
    const parked = failures >= settings.failuresMax;
    if (parked) await this.#park(name, cell, { failures, error });
    onFailure({ cell, error, failures, parked });
  }

  async #park(
    name: string,
    cell: Notified,
    { failures, error }: { readonly failures: number; readonly error: unknown },
  ): Promise<void> {
    const { context, counters } = this.#services;
    try {
      const entry = { failures, error: textOf(error) };
      if (await park(context.storeByUserName, cell, entry)) counters.parked++;
      this.failures.forget(name);
    } catch {
      // It stays where it is, rests as after any failure, and is parked the next time.
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

/**
 * The worker's name for a cell: weak and strong notifications of one cell have runs of their own.
 */
export function nameOf(cell: Notified): string {
  return `${cellName(cell)}\0${cell.weak ? 'weak' : 'strong'}`;
}

/*
 * Reports observers that trigger themselves without end (P83, endless loop): the warning of a
 * column begins when one of its cells has run `loopRuns` times in a row, each run caused by the one
 * before.
 *
 * It is over when the cell runs for another reason, or has not run for `slowMs`; not when a scan
 * finds nothing to do, because the loop may be in another process just then. After that, another
 * cell of the column may be reported: a loop may go through any number of cells, and this keeps one
 * for each column.
 */

interface Loop {
  readonly row: string;
  ranMs: number;
}

class Loops {
  readonly #clock: Clock;
  readonly #settings: WorkerSettings;
  readonly #warnings: Warnings;
  /** The reported cells, by column. */
  readonly #loops = new Map<string, Loop>();

  constructor(clock: Clock, settings: WorkerSettings, warnings: Warnings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#warnings = warnings;
  }

  /** A run for the cell has committed. */
  hasRun(cell: Notified): void {
    const { passes, steps } = causeAfter(cell.cause, cell);
    if (steps > 0) return; // The passes are those of another cell.
    const isLoop = passes + 1 >= this.#settings.loopRuns;
    const key = columnKey(cell.table, cell.column);
    const known = this.#loops.get(key);
    if (known === undefined && isLoop) this.#begin(key, cell);
    if (known?.row !== cell.row) return;
    if (isLoop) known.ranMs = this.#clock.monotonicMs();
    else this.#end(key);
  }

  /** Ends the warnings of cells that have not run for long. */
  sweep(): void {
    const untilMs = this.#clock.monotonicMs() - this.#settings.slowMs;
    for (const [key, { ranMs }] of this.#loops) if (ranMs <= untilMs) this.#end(key);
  }

  #begin(key: string, { table, row, column }: Notified): void {
    this.#loops.set(key, { row, ranMs: this.#clock.monotonicMs() });
    const sentence = `the observers of column ${column} of table ${table} have run for row ${row} ${this.#settings.loopRuns} times in a row without a change from outside: each run causes the next one, and if none stops writing, this never ends`;
    this.#warnings.begin(loopName(key), { kind: 'loop', sentence, table, row, column });
  }

  #end(key: string): void {
    this.#loops.delete(key);
    this.#warnings.end(loopName(key));
  }
}

function loopName(key: string): string {
  return `loop of ${key}`;
}

/*
 * Reports the failures of observers whose worker has no `onFailure`: one warning for each column,
 * with the first error. It is over when no cell of the worker fails, unless one was parked: its
 * change waits for an operator.
 */

export class FailingColumns {
  readonly #warnings: Warnings;
  readonly #failuresMax: number;
  readonly #reported = new Set<string>();

  constructor(warnings: Warnings, { failuresMax }: WorkerSettings) {
    this.#warnings = warnings;
    this.#failuresMax = failuresMax;
  }

  begin({ cell: { table, row, column }, error }: ObserverFailure): void {
    const name = `failing ${columnKey(table, column)}`;
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    const sentence = `an observer of column ${column} of table ${table} fails, first for row ${row}: ${textOf(error)}; the cell rests and is run again, and after ${this.#failuresMax} failures it is parked`;
    this.#warnings.begin(name, { kind: 'failure', sentence, table, row, column, error });
  }

  /** No cell fails any more. */
  end(): void {
    for (const name of this.#reported) this.#warnings.end(name);
    this.#reported.clear();
  }
}
