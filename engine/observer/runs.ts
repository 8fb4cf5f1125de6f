/**
 * The running half of a worker: which cells wait, which run, and what becomes of each run.
 *
 *     found, by a scan ────┐
 *                          ├─▶ queue ─▶ at most `concurrency` runs ─▶ cleared
 *     committed by this ───┘              │ threw
 *     process                             └─▶ rests for a while; parked after too many failures
 *
 * A cell that is marked again while its observers run, runs once more: the run may not have seen
 * the change.
 */
import type { Troubles } from '../base/index.ts';
import { cellName, type CommittedNotification, type Context } from '../transaction/index.ts';
import { isAboutStore, storagesError } from './blame.ts';
import { DoubtfulRuns } from './doubtful-runs.ts';
import { Failures } from './failures.ts';
import { Loops } from './loops.ts';
import type { DirtyCell, Observer } from './observer.ts';
import { park } from './parking.ts';
import { Queue } from './queue.ts';
import { Refusals } from './refusals.ts';
import { type CommittedRun, type Notified, runObservers } from './run-observer.ts';
import type { ScanLocks } from './scan-locks.ts';
import { columnKey, type ObserverFailure, type Settings } from './worker-options.ts';

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
  readonly settings: Settings;
  readonly counters: WorkerCounters;
  readonly troubles: Troubles;
  readonly locks: ScanLocks | undefined;
  readonly onFailure: (failure: ObserverFailure) => void;
  readonly onCommitted: (run: CommittedRun) => void;
  /** Called if the worker cannot go on. */
  readonly end: (error: unknown) => void;
}

interface Running {
  readonly cell: Notified;
  readonly sinceMs: number;
  readonly ended: Promise<void>;
}

export class Runs {
  readonly failures: Failures;
  /** The refused cells, each of which `failures` remembers, too. */
  readonly refusals: Refusals;
  readonly loops: Loops;
  readonly #services: RunsServices;
  readonly #doubtful = new DoubtfulRuns();
  readonly #queue: Queue;
  /** Begun and not yet cleared: scanning finds their marks still there (P48). */
  readonly #running = new Map<string, Running>();
  /** Marked again while running: the run may not have seen it. */
  readonly #again = new Map<string, Notified>();
  /** How many runs have begun. Only grows. */
  #begun = 0;
  #beginsNoMore = false;
  /** Aborted when the queue is no longer than the scan wants it, or when no more runs begin. */
  #room: { readonly cells: number; readonly made: AbortController } | undefined;

  constructor(services: RunsServices) {
    const { context, settings, observers, troubles } = services;
    this.#services = services;
    this.failures = new Failures(context.clock, settings.failureBackoffMs);
    this.refusals = new Refusals(troubles);
    this.loops = new Loops(context.clock, settings, troubles);
    this.#queue = new Queue([...observers.keys()], settings);
  }

  get begun(): number {
    return this.#begun;
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

  /** Cells that a transaction of this process has marked. */
  marked({ strong, weak, commitTimestamp: timestamp, cause }: CommittedNotification): void {
    for (const cell of strong) this.#add({ ...cell, weak: false, timestamp, cause });
    for (const cell of weak) this.#add({ ...cell, weak: true, timestamp, cause });
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
      const added = this.#add(cell);
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
   * what the scan has not reached may be another one's (P82).
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
        this.#running.delete(name); // Or `stop` would wait for ever.
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
    const { context, settings, troubles } = this.#services;
    const { slowMs, concurrency } = settings;
    const sinceMs = context.clock.monotonicMs() - slowMs;
    for (const [name, { cell, sinceMs: began }] of this.#running) {
      if (began > sinceMs) continue;
      const { table, row, column } = cell;
      const sentence = `the observers of column ${column} have been running for more than ${slowMs} ms for one row: 1 of ${concurrency} places is taken until they end`;
      troubles.begin(`run ${name}`, { kind: 'slow run', sentence, table, row, column });
    }
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
    this.#services.troubles.end(`run ${name}`);
    this.#services.locks?.done(name);
    const again = this.#again.get(name);
    this.#again.delete(name);
    if (again !== undefined && again.timestamp > cell.timestamp) this.#add(again);
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
    const storages = await storagesError(context, cell, error);
    if (storages?.isRefusal === true) {
      this.failures.refuse(name);
      this.refusals.begin(name, cell, storages.error);
      return;
    }
    if (storages !== undefined) {
      this.failures.rest(name);
      if (isAboutStore(storages.error)) end(storages.error); // No run will ever succeed.
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
      if (await park(context.named, cell, entry)) counters.parked++;
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

/** The worker's name for a cell: weak and strong marks of one cell have runs of their own. */
export function nameOf(cell: Notified): string {
  return `${cellName(cell)}\0${cell.weak ? 'weak' : 'strong'}`;
}
