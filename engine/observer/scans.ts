/**
 * The finding half of a worker: scans the notifications of its tables, round after round, and hands
 * what it finds to the running half (runs.ts).
 *
 *     table ─▶ batch ─▶ cells known already, or of a crowded column: left where they are
 *                 └──▶ rows locked against other scanners ─▶ handed over ─▶ rest, until there is room
 *
 * A scan never runs ahead of the runs by more than about a batch: what it finds again later it
 * need not remember. It passes over the cells of a crowded column only if the runs have not made
 * room for a while (P82).
 */
import {
  isFinal,
  isRetryable,
  type PercolatorError,
  type Random,
  type Trouble,
  type Troubles,
} from '../base/index.ts';
import { type Context, isTableNotFound } from '../transaction/index.ts';
import { ListedColumns } from './listed-columns.ts';
import type { Observer } from './observer.ts';
import type { Peers } from './peers.ts';
import type { Rest } from './rest.ts';
import type { Notified } from './run-observer.ts';
import { nameOf, type Runs, type WorkerCounters } from './runs.ts';
import type { ScanLocks } from './scan-locks.ts';
import { type Batch, NotificationScanner } from './scanner.ts';
import { columnKey, type Settings } from './worker-options.ts';

/**
 * Rows locked at a time: few, so that two workers can share even a little work;
 * enough to be worth a call.
 */
const LOCKED_ROWS = 32;

export interface ScansServices {
  readonly context: Context;
  readonly observers: readonly Observer[];
  readonly settings: Settings;
  readonly counters: WorkerCounters;
  readonly troubles: Troubles;
  readonly runs: Runs;
  readonly peers: Peers;
  readonly rest: Rest;
  readonly locks: ScanLocks | undefined;
  readonly onMeeting: 'jump' | 'skip';
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
    const { context, observers, settings, locks, troubles } = services;
    this.#services = services;
    this.#batchRows =
      locks === undefined ? settings.scanRows : Math.min(settings.scanRows, LOCKED_ROWS);
    this.#listed = new ListedColumns(context, observers, troubles);
    // Each worker of this process has a stream of its own, or all would jump to the same places.
    const random: Random = context.random.fork(`scanner ${context.workersStarted++}`);
    const tables = [...new Set(observers.map(({ table }) => table))];
    this.#scanners = tables.map(
      (table) =>
        new NotificationScanner(context.named, random, table, { jumps: locks !== undefined }),
    );
  }

  /** Scans until the worker is to stop. Rejects with what keeps it from ever scanning again. */
  async run(): Promise<void> {
    const { context, runs, rest, stopping } = this.#services;
    while (!stopping.aborted) {
      const wasQuiet = runs.isQuiet;
      const begunBefore = runs.begun;
      rest.scanBegins();
      const beganMs = context.clock.monotonicMs();
      const { dirty, fresh, isWhole } = await this.#scanTables();
      if (stopping.aborted) return; // The database may be closed: nothing more is asked.
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
   * table cannot be scanned, or runs are refused, and trying again will not help.
   */
  async untilEmpty(): Promise<void> {
    const { context, runs, rest, stopping } = this.#services;
    // The first empty scan may have begun before the call, and passed a cell marked since.
    const enough = this.#empty + 2;
    const known = this.#rounds + 2;
    const refusals = runs.refusals.count;
    runs.failures.wakeRefused();
    while (this.#empty < enough && !stopping.aborted) {
      rest.wake(); // A caller is waiting.
      await context.clock.sleep(1, stopping);
      if (this.#rounds >= known) this.#throwIfRefused(runs.refusals.count > refusals);
    }
  }

  /** Reports the call that has had no answer for `slowMs`. */
  reportSlow(): void {
    const { context, settings, troubles } = this.#services;
    const { slowMs } = settings;
    if (this.#asking === undefined) return;
    const { table, sinceMs } = this.#asking;
    if (context.clock.monotonicMs() - sinceMs < slowMs) return;
    const sentence = `the scan of table ${table} has waited for more than ${slowMs} ms for the storage`;
    troubles.begin(`slow scan of ${table}`, { kind: 'slow scan', sentence, table });
  }

  /** @param alsoRuns false while refused runs, whose troubles name a column, may be over */
  #throwIfRefused(alsoRuns: boolean): void {
    const refused = this.#services.troubles.current.find(
      ({ kind, column, error }: Trouble) =>
        kind === 'table' &&
        // A table that does not exist has no dirty cells; one whose runs are refused has some.
        (column === undefined ? !isTableNotFound(error) : alsoRuns) &&
        !isRetryable(error),
    );
    if (refused !== undefined) throw refused.error;
  }

  /**
   * A scan has ended. If it was empty, no refused cell is marked any more: it would have counted as
   * dirty.
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
      for (let comeRound = false; !comeRound && !stopping.aborted;) {
        const crowded = runs.crowded(this.#batchRows / 2);
        const batch = await this.#nextBatch(scanner);
        const cells = batch.cells.filter((cell) => runs.isObserved(cell));
        dirty += cells.filter((cell) => !runs.failures.hasFailed(nameOf(cell))).length;
        const wanted = cells.filter(({ table, column }) => !crowded.has(columnKey(table, column)));
        const isOthers = !(await this.#tryLock(wanted));
        const found = isOthers ? undefined : runs.found(wanted);
        fresh += found?.fresh ?? 0;
        if (!batch.isKnown || isOthers) dirty++; // Unknown, so assumed dirty.
        const isAllTaken = found?.isFull === false && wanted.length === cells.length;
        if (!batch.isKnown || !isAllTaken) isWhole = false;
        ({ comeRound } = batch);
        if (isOthers && this.#meet(scanner)) comeRound = true;
        runs.fill();
        await runs.untilShort(this.#batchRows / 2, this.#services.settings.idleMsMax);
      }
    }
    return { dirty, fresh, isWhole: isWhole && !stopping.aborted };
  }

  /**
   * If a table cannot be scanned, its state is unknown until the next scan, and the other tables go
   * on (P56). A table that does not exist is known to have no dirty cells.
   */
  async #nextBatch(scanner: NotificationScanner): Promise<Batch & { readonly isKnown: boolean }> {
    const { troubles } = this.#services;
    const { table } = scanner;
    try {
      const batch = await this.#ask(table, () => scanner.nextBatch(this.#batchRows));
      troubles.end(`table ${table}`);
      return { ...batch, isKnown: true };
    } catch (error) {
      if (isFinal(error)) throw error;
      scanner.jump(); // When the table exists again, its next scan is a full round.
      this.#listed.doubt(table);
      const { code } = error as PercolatorError; // All others are final.
      const sentence = `table ${table} cannot be scanned (${code}); every scan tries it again`;
      troubles.begin(`table ${table}`, { kind: 'table', sentence, table, error });
      return { cells: [], comeRound: true, isKnown: isTableNotFound(error) };
    }
  }

  /** Makes a call; if its answer is late, `reportSlow` reports it. */
  async #ask<T>(table: string, call: () => Promise<T>): Promise<T> {
    const { context, troubles } = this.#services;
    this.#asking = { table, sinceMs: context.clock.monotonicMs() };
    try {
      return await call();
    } finally {
      this.#asking = undefined;
      troubles.end(`slow scan of ${table}`);
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
