/**
 * The finding half of a worker: scans the notifications of its tables, round after round, and hands
 * what it finds to the running half (runs.ts).
 *
 *     table ─▶ batch ─▶ cells known already, or of a crowded column: left where they are
 *                 └──▶ rows locked against other scanners ─▶ handed over ─▶ rest, until there is room
 *
 * A scan never runs ahead of the runs by more than about a batch: what it finds again later it
 * does not have to remember. It passes over the cells of a crowded column only if the runs have not
 * made room for a while (P82, one column takes all).
 */
import {
  type Clock,
  isFinal,
  isRetryable,
  PercolatorError,
  type Random,
  type Warning,
  type Warnings,
} from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { type Context, isNotifyTable, isTableNotFound } from '../transaction/index.ts';
import type { Observer } from './observer.ts';
import type { Peers, ScanLocks } from './peers.ts';
import type { Notified } from './run-observer.ts';
import { nameOf, type ObserverRuns, type WorkerCounters } from './runs.ts';
import { type DirtyBatch, NotificationScanner } from './scanner.ts';
import { columnKey, type WorkerSettings } from './worker-options.ts';

/**
 * Rows locked at a time: few, so that two workers can share even a little work;
 * enough to be worth a call.
 */
const LOCKED_ROWS = 32;

export interface ScansServices {
  readonly context: Context;
  readonly observers: readonly Observer[];
  readonly settings: WorkerSettings;
  readonly counters: WorkerCounters;
  readonly warnings: Warnings;
  readonly runs: ObserverRuns;
  readonly peers: Peers;
  readonly rest: Rest;
  readonly locks: ScanLocks | undefined;
  readonly onMeeting: 'jump' | 'skip';
  /** Undefined if nothing is measured. */
  readonly findings: ScanFindings | undefined;
  /** Aborted when the worker is to stop. */
  readonly stopping: AbortSignal;
}

/** What a scan of all tables has found. */
interface Scanned {
  readonly dirty: number;
  /** Cells that were not known before. */
  readonly fresh: number;
  /** Every dirty cell was met, and there was room for it. */
  readonly isWhole: boolean;
}

export class Scans {
  readonly #services: ScansServices;
  readonly #scanners: readonly NotificationScanner[];
  readonly #listed: ListedColumns;
  readonly #batchRows: number;
  /** The call that has no answer yet. */
  #asking: { readonly table: string; readonly sinceMs: number } | undefined;
  /** Full rounds during which there was nothing to do. Only grows. */
  #empty = 0;
  /** Full rounds that have ended. Only grows. */
  #rounds = 0;

  constructor(services: ScansServices) {
    const { context, observers, settings, locks, warnings } = services;
    this.#services = services;
    this.#batchRows =
      locks === undefined ? settings.scanRows : Math.min(settings.scanRows, LOCKED_ROWS);
    this.#listed = new ListedColumns(context, observers, warnings);
    // Each worker of this process has a stream of its own, or all would jump to the same places.
    const random: Random = context.random.fork(`scanner ${context.workersStarted++}`);
    const tables = [...new Set(observers.map(({ table }) => table))];
    this.#scanners = tables.map(
      (table) =>
        new NotificationScanner(context.storeByUserName, random, table, {
          jumps: locks !== undefined,
        }),
    );
  }

  /** Scans until the worker is to stop. Rejects with what keeps it from ever scanning again. */
  async run(): Promise<void> {
    const { context, runs, rest, stopping, findings } = this.#services;
    while (!stopping.aborted) {
      const wasQuiet = runs.isQuiet;
      const begunBefore = runs.begun;
      rest.scanBegins();
      const beganMs = context.clock.monotonicMs();
      const { dirty, fresh, isWhole } = await this.#scanTables();
      if (stopping.aborted) return; // The database may be closed: nothing more is asked.
      findings?.scanEnds(fresh);
      await this.#ask('percolator-leases', () => this.#services.peers.check());
      runs.failures.sweep({ beganMs, isWhole }, (name) => runs.isInFlight(name));
      const isEmpty = wasQuiet && dirty === 0 && runs.begun === begunBefore;
      if (isEmpty) this.#empty++;
      this.#sweepRefusals(isEmpty);
      this.#rounds++; // Only now: `untilEmpty` must not meet a refusal that is over.
      // A scan that finds only what is queued, running or resting has no reason to hurry.
      if (fresh === 0) await rest.sleep(stopping);
      else rest.wasBusy();
    }
  }

  /**
   * Resolves when a whole scan has found no dirty cells, except those that rest after a failure,
   * and nothing ran meanwhile; or when the worker is to stop. Rejects with the storage's error if a
   * table cannot be scanned, or runs are refused, and trying again will not help; and with the
   * reason of `signal`, soon after that aborts.
   */
  async untilEmpty(signal: AbortSignal | undefined): Promise<void> {
    const { context, runs, rest, stopping } = this.#services;
    // The first empty scan may have begun before the call, and passed a cell notified since.
    const enough = this.#empty + 2;
    const known = this.#rounds + 2;
    const refusals = runs.refusals.count;
    runs.failures.wakeRefused();
    while (this.#empty < enough && !stopping.aborted) {
      signal?.throwIfAborted();
      rest.wake(); // A caller is waiting.
      await context.clock.sleep(1, stopping);
      if (this.#rounds >= known) this.#throwIfRefused(runs.refusals.count > refusals);
    }
  }

  /** Reports the call that has had no answer for `slowMs`. */
  reportSlow(): void {
    const { context, settings, warnings } = this.#services;
    const { slowMs } = settings;
    if (this.#asking === undefined) return;
    const { table, sinceMs } = this.#asking;
    if (context.clock.monotonicMs() - sinceMs < slowMs) return;
    const sentence = `the scan of table ${table} has waited for more than ${slowMs} ms for the storage`;
    warnings.begin(`slow scan of ${table}`, { kind: 'slow scan', sentence, table });
  }

  /** @param alsoRuns false while refused runs, whose warnings name a column, may be over */
  #throwIfRefused(alsoRuns: boolean): void {
    const refused = this.#services.warnings.current.find(
      ({ kind, column, error }: Warning) =>
        kind === 'table' &&
        // A table that does not exist has no dirty cells; one whose runs are refused has some.
        (column === undefined ? !isTableNotFound(error) : alsoRuns) &&
        !isRetryable(error),
    );
    if (refused !== undefined) throw refused.error;
  }

  /**
   * A scan has ended. If it was empty, no refused cell is notified any more: it would have counted
   * as dirty.
   */
  #sweepRefusals(isEmpty: boolean): void {
    const { failures, refusals } = this.#services.runs;
    for (const name of refusals.names) {
      if (isEmpty) failures.forget(name);
      if (!failures.isRefused(name)) refusals.end(name);
    }
  }

  /** Scans every table for a full round. Cells that rest after a failure do not count as dirty. */
  async #scanTables(): Promise<Scanned> {
    const { runs, stopping } = this.#services;
    let dirty = 0;
    let fresh = 0;
    let isWhole = true;
    for (const scanner of this.#scanners) {
      if (stopping.aborted) break;
      await this.#ask(scanner.table, () => this.#listed.check(scanner.table));
      for (let isFullRound = false; !isFullRound && !stopping.aborted;) {
        const crowded = runs.crowded(this.#batchRows / 2);
        const batch = await this.#nextBatch(scanner);
        const cells = batch.cells.filter((cell) => runs.isObserved(cell));
        this.#services.findings?.found(cells);
        dirty += cells.filter((cell) => !runs.failures.hasFailed(nameOf(cell))).length;
        const wanted = cells.filter(({ table, column }) => !crowded.has(columnKey(table, column)));
        const isOthers = !(await this.#tryLock(wanted));
        const found = isOthers ? undefined : runs.found(wanted);
        fresh += found?.fresh ?? 0;
        if (!batch.isKnown || isOthers) dirty++; // Unknown, so assumed dirty.
        const isAllTaken = found?.isFull === false && wanted.length === cells.length;
        if (!batch.isKnown || !isAllTaken) isWhole = false;
        ({ isFullRound } = batch);
        if (isOthers && this.#meet(scanner)) isFullRound = true;
        runs.fill();
        await runs.untilShort(this.#batchRows / 2, this.#services.settings.idleMsMax);
      }
    }
    return { dirty, fresh, isWhole: isWhole && !stopping.aborted };
  }

  /**
   * If a table cannot be scanned, its state is unknown until the next scan, and the other tables go
   * on (P56, silent background failures). A table that does not exist is known to have no dirty
   * cells.
   */
  async #nextBatch(
    scanner: NotificationScanner,
  ): Promise<DirtyBatch & { readonly isKnown: boolean }> {
    const { warnings } = this.#services;
    const { table } = scanner;
    try {
      const batch = await this.#ask(table, () => scanner.nextBatch(this.#batchRows));
      warnings.end(`table ${table}`);
      return { ...batch, isKnown: true };
    } catch (error) {
      if (isFinal(error)) throw error;
      scanner.jump(); // When the table exists again, its next scan is a full round.
      this.#listed.doubt(table);
      const { code } = error as PercolatorError; // All others are final.
      const isMissing = isTableNotFound(error);
      const sentence = isMissing
        ? `table ${table} does not exist: until it is created, nothing runs ${this.#listed.namesOf(table)}`
        : `table ${table} cannot be scanned (${code}); every scan tries it again`;
      warnings.begin(`table ${table}`, { kind: 'table', sentence, table, error });
      return { cells: [], isFullRound: true, isKnown: isMissing };
    }
  }

  /** Makes a call; if its answer is late, `reportSlow` reports it. */
  async #ask<T>(table: string, call: () => Promise<T>): Promise<T> {
    const { context, warnings } = this.#services;
    this.#asking = { table, sinceMs: context.clock.monotonicMs() };
    try {
      return await call();
    } finally {
      this.#asking = undefined;
      warnings.end(`slow scan of ${table}`);
    }
  }

  /**
   * Locks the cells that this worker does not know yet.
   * False if another worker's scanner works on one of their rows.
   */
  async #tryLock(cells: readonly Notified[]): Promise<boolean> {
    const { locks, runs } = this.#services;
    if (locks === undefined) return true;
    const unknown = cells
      .map((cell) => ({ name: nameOf(cell), table: cell.table, row: cell.row }))
      .filter(({ name }) => !runs.isKnown(name));
    return locks.tryLock(unknown);
  }

  /** Another worker's scanner is at the same place. True if this one leaves. */
  #meet(scanner: NotificationScanner): boolean {
    const { counters, rest, onMeeting } = this.#services;
    counters.meetings++;
    rest.wasBusy(); // There is work, only not here.
    if (onMeeting === 'skip') return false;
    scanner.jump();
    return true;
  }
}

/*
 * Whether the tables list the columns that a worker observes. A column that is not listed leaves no
 * notification, so its observers never run, and nothing else would ever report it.
 *
 * Definitions are in the storage, and the process keeps those that it has read. The worker asks for
 * a table's columns before its first scan of the table, when the table exists again after it was
 * dropped, and every ten seconds: the table may have been dropped and created again in between. The
 * scan notices that, and the process then reads the new definition.
 *
 * A missing column is a warning and not a refusal: weak notifications need no listed column, and
 * the table may be about to be created.
 */

/** Milliseconds after which the worker asks again. Smaller: more work. Larger: reported later. */
const LOOK_MS = 10_000;

class ListedColumns {
  readonly #clock: Clock;
  readonly #isListed: Context['isObserved'];
  readonly #warnings: Warnings;
  readonly #observers: ReadonlyMap<string, readonly Observer[]>;
  /** When the worker last asked for each table's columns; absent if it is to ask now. */
  readonly #lookedMs = new Map<string, number>();

  constructor(context: Context, observers: readonly Observer[], warnings: Warnings) {
    this.#clock = context.clock;
    this.#isListed = (table, column) => context.isObserved(table, column);
    this.#warnings = warnings;
    this.#observers = Map.groupBy(observers, ({ table }) => table);
  }

  /**
   * Asks for the table's columns if it is time to.
   * If the storage refuses, the scan meets that as well and reports it.
   */
  async check(table: string): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#lookedMs.get(table) ?? -Infinity) < LOOK_MS) return;
    try {
      for (const observer of this.#observers.get(table) ?? []) await this.#look(observer);
      this.#lookedMs.set(table, nowMs);
    } catch (error) {
      if (!(error instanceof PercolatorError)) throw error;
    }
  }

  /** The observers of a table, for a sentence. */
  namesOf(table: string): string {
    const names = (this.#observers.get(table) ?? []).map(({ name }) => name);
    return `${names.length === 1 ? 'observer' : 'observers'} ${names.join(', ')}`;
  }

  /** The table may be a different one when it can be scanned again. */
  doubt(table: string): void {
    this.#lookedMs.delete(table);
  }

  async #look({ name, table, column }: Observer): Promise<void> {
    const warning = `column ${JSON.stringify([table, column, name])}`;
    if (await this.#isListed(table, column)) {
      this.#warnings.end(warning);
      return;
    }
    const message = `table ${table} does not list ${column} under observedColumns`;
    const error = new PercolatorError('INVALID_ARGUMENT', message);
    const sentence = `${message}: its changes leave no notification, and do not run observer ${name}`;
    this.#warnings.begin(warning, { kind: 'column', sentence, table, column, error });
  }
}

/*
 * How long a worker rests between two scans that find nothing new.
 *
 *     changes come:     ──scan─5ms─scan─5ms─scan──
 *     none for long:    ──scan─────────250ms─────────scan──
 *     a hint:           ──scan───────╳scan─────────250ms─────────scan──
 *
 * A rest is a fraction of the time since anything happened. So a change waits at most that fraction
 * of the pause before it, and a worker with nothing to do for long costs almost nothing. Where the
 * storage hints that a cell is notified (`Bigtable.onChange`), the rest ends at once: the hint
 * comes when the notification can be seen. Hints of other changes end no rest: an oracle that
 * renews its lease, or transactions that no observer asks for, must not keep every worker busy. Nor
 * does a hint count as something happening, as it may be about the cells of others. Notifications
 * of which a worker of their own process is told give no hint. A hint that is lost costs one rest.
 *
 * After a scan that finds nothing new there is at least the shortest rest, whatever is hinted: a
 * busy storage hints without pause.
 */

/** A rest as a fraction of the time in which nothing has happened. */
const PART = 1 / 16;

export class Rest {
  readonly #clock: Clock;
  readonly #settings: WorkerSettings;
  readonly #endHints: () => void;
  /** Whether a reason to scan has come since the last scan began. */
  #isWoken = false;
  /** Aborted by such a reason; undefined while none can end a rest. */
  #resting: AbortController | undefined;
  /** When anything last happened, on our clock. Only grows. */
  #busyMs: number;

  constructor(clock: Clock, store: Bigtable, settings: WorkerSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#busyMs = clock.monotonicMs();
    const grows = settings.idleMsMax > settings.idleMs; // Otherwise no hint can shorten a rest.
    const endHints = grows ? store.onChange?.((tables) => this.#hear(tables)) : undefined;
    this.#endHints = endHints ?? (() => {});
  }

  /** Called before each scan: the scan may miss what comes from now on. */
  scanBegins(): void {
    this.#isWoken = false;
  }

  /** There is a reason to scan soon. */
  wake(): void {
    this.#isWoken = true;
    this.#resting?.abort('woken'); // Without a reason, each hint would make an error with a stack.
  }

  /** The scan found something to do. */
  wasBusy(): void {
    this.#busyMs = this.#clock.monotonicMs();
  }

  /** Resolves when it is time to scan again, or at once when `signal` aborts. */
  async sleep(signal: AbortSignal): Promise<void> {
    const { idleMs, idleMsMax } = this.#settings;
    const beganMs = this.#clock.monotonicMs();
    const restMs = Math.min(idleMsMax, (beganMs - this.#busyMs) * PART);
    if (restMs > idleMs && !this.#isWoken) {
      this.#resting = new AbortController();
      await this.#clock.sleep(restMs, this.#resting.signal);
      this.#resting = undefined;
    }
    const leftMs = beganMs + idleMs - this.#clock.monotonicMs();
    if (leftMs > 0) await this.#clock.sleep(leftMs, signal);
  }

  /** Ends the hints and the rest. */
  end(): void {
    this.#endHints();
    this.wake();
  }

  #hear(tables: ReadonlySet<string> | undefined): void {
    if (tables === undefined || tables.values().some(isNotifyTable)) this.wake();
  }
}

/*
 * What scans find, for metrics. The age of a notification is taken when a scan finds it: what was
 * found may be done a moment later, and must not seem to grow older.
 */

export class ScanFindings {
  /** Notifications that were not known before, and scans that have ended. Both only grow. */
  fresh = 0;
  scans = 0;
  readonly #ages: ReturnType<Telemetry['agesOf']>;
  readonly #oracle: Context['oracle'];
  /** Seconds, of the scan in progress and of the last one. */
  #oldest = 0;
  #lastOldest = 0;

  constructor(telemetry: Telemetry, oracle: Context['oracle']) {
    this.#ages = telemetry.agesOf(oracle);
    this.#oracle = oracle;
  }

  /** Seconds: the age of the oldest notification, when it was found; at least. */
  get oldest(): number {
    return Math.max(this.#oldest, this.#lastOldest);
  }

  found(cells: readonly Notified[]): void {
    for (const { timestamp } of cells) {
      this.#oldest = Math.max(this.#oldest, this.#ages.secondsSince(timestamp));
    }
  }

  scanEnds(fresh: number): void {
    this.fresh += fresh;
    this.scans++;
    this.#lastOldest = this.#oldest;
    this.#oldest = 0;
    // A worker whose runs hang asks for no timestamp, and would not see the time pass.
    if (this.#ages.isDue) this.#oracle.next().catch(() => {});
  }
}
