/**
 * The garbage collector: it deletes old versions, tombstones, rollback records and acknowledgments.
 *
 *     move the horizon ─▶ wait ─▶ resolve all locks below ─▶ collect all rows ─▶ begin again
 *     (horizon.ts)                 │ one of them is alive        (collect-row.ts)
 *                                  └─ try again; delete nothing meanwhile
 *
 * Why wait? No transaction below the deletion horizon D is in use any more, but a second copy of a
 * prewrite that such a transaction sent may still be in flight, and the rollback record or the
 * newer write record must stop that copy (P4, P14). It was sent before D was fixed: a transaction
 * below D that sends anything later receives its commit timestamp with a horizon above its start,
 * and does not commit (commit.ts). So the copy is gone after the longest time that a message can be
 * in flight, counted on our own clock. Or the storage itself ends what is left in flight, with a
 * fence (P84, message outlives its sender): then a caller that waits for the collection waits for
 * nothing but its work. Everything else that may arrive late is conditional on its own lock (P9,
 * late second phase), or does no harm.
 *
 * Why resolve locks first, in all tables? A lock's fate is written at its primary, as a write
 * record or a rollback record. Collecting that before the lock is resolved would roll back half of
 * a committed transaction (P30, evidence collected first). Locks that appear below D later belong
 * to transactions that will not commit. The tables are listed after the horizon was moved: a table
 * created since has no lock that matters. A lock that this engine did not write, or that was
 * damaged, is skipped, and if it names a primary, the evidence there is collected. A row in which a
 * damaged record was read is not collected. fsck reports such locks and records.
 *
 * Why pass over rows (P68, rows passed over)? Most have not changed since the last cycle, which
 * resolved all locks below its own D. What it left in a row is needed, and becomes garbage only by
 * a newer record of that row. So where the storage knows which rows are old, a cycle looks for
 * locks and changes from that D on. It misses what came late: a copy of a prewrite, the rollback
 * record of a transaction that was rolled back long after, a tombstone for which an observer had
 * yet to run. Nothing depends on such garbage; it waits for one of the cycles that look at every
 * row.
 *
 * The collector works in steps of some rows, each of which may be its last. Its progress is kept in
 * the storage (horizon.ts), and repeating a step is harmless. It deletes by exact timestamps.
 * Several collectors may work at a time: that is safe, but they repeat each other's work.
 */
import { hasCode } from '../base/index.ts';
import {
  type Bigtable,
  type CellFilter,
  keyAfter,
  restOf,
  type Row,
  type Timestamp,
} from '../bigtable/index.ts';
import { type LeaseWatch, noteAt, processOf } from '../leases/index.ts';
import {
  type CellAddress,
  columnOf,
  type Context,
  DATA,
  everywhere,
  isOf,
  isTableNotFound,
  isWithoutPrimary,
  type Lock,
  LOCK,
  type Resolution,
  readLock,
  resolveLock,
  ROLLBACK,
  WRITE,
} from '../transaction/index.ts';
import { batchFilters, type CollectionTarget, collectRows } from './collect-row.ts';
import {
  type EarlierCycles,
  moveHorizon,
  NOTHING_DONE,
  type Progress,
  readProgress,
  writeProgress,
} from './horizon.ts';
import type { CollectorSettings } from './options.ts';

/** What the collector works with. */
export interface CollectorServices {
  readonly context: Context;
  readonly watch: LeaseWatch;
  /**
   * The storage's names of the Percolator tables, those being dropped included,
   * companions excluded; with `locks`, also of tables that have lost their definition.
   */
  listTables(needs?: 'locks'): Promise<readonly string[]>;
}

/** Counts since the collector was made. Each only grows. */
export interface CollectorCounters {
  /** Cycles that ended, those with nothing to do included. */
  cycles: number;
  rowsVisited: number;
  cellsDeleted: number;
  locksResolved: number;
}

/** What keeps versions from being collected. */
export interface HeldBack {
  /** The liveness token of the process that the lease or the lock belongs to. */
  readonly process: string;
  /** The bound of the lease, or the start timestamp of the lock. */
  readonly timestamp: Timestamp;
  /** Absent for a lease. */
  readonly lock?: CellAddress | undefined;
}

/** How a step ended. blocked: by a lock that is alive; the next step tries again. */
export type StepResult = 'more' | 'blocked' | 'cycle ended';

export class GarbageCollector {
  readonly counters: CollectorCounters = {
    cycles: 0,
    rowsVisited: 0,
    cellsDeleted: 0,
    locksResolved: 0,
  };
  readonly #services: CollectorServices;
  readonly #context: Context;
  readonly #settings: CollectorSettings;
  readonly #began: Timestamp | undefined;
  /** Undefined until it was read. The storage has this progress, or earlier progress. */
  #progress: Progress | undefined;
  /** A deletion horizon that was fixed, and since when we wait for messages to be gone. */
  #waiting: { readonly deletionHorizon: Timestamp; readonly sinceMs: number } | undefined;
  #deletionHorizon: Timestamp = 0;
  /** The lease that kept the horizon from moving further when it was moved last. */
  #lease: HeldBack | undefined;
  /**
   * The tables whose locks are being resolved, listed once a cycle: one that loses its definition
   * meanwhile stays. Undefined before, and after a step that failed: then they are listed again.
   */
  #tablesWithLocks: readonly string[] | undefined;
  /** The live lock at which the last step stopped. */
  #lock: HeldBack | undefined;

  /** @param began when the caller has asked for one cycle; default: when the cycle begins */
  constructor(services: CollectorServices, settings: CollectorSettings, began?: Timestamp) {
    this.#services = services;
    this.#context = services.context;
    this.#settings = settings;
    this.#began = began;
  }

  /** Persisted: snapshots below may have lost versions. */
  get horizon(): Timestamp {
    return this.#context.oracle.horizon;
  }

  /** What is being deleted, or was deleted last, lies below. */
  get deletionHorizon(): Timestamp {
    return this.#deletionHorizon;
  }

  get heldBackBy(): HeldBack | undefined {
    return this.#lock ?? this.#lease;
  }

  /** Whether the storage has no cycle to be continued. */
  async isBetweenCycles(): Promise<boolean> {
    this.#progress ??= await this.#readProgress();
    return this.#progress.phase === 'done';
  }

  /**
   * Runs one step. If it fails, it may be tried again.
   * A `signal` that aborts ends a wait early; it must abort when the database is closing.
   */
  async step(signal: AbortSignal = this.#context.closing.signal): Promise<StepResult> {
    this.#progress ??= await this.#readProgress();
    const { phase } = this.#progress;
    // What is deleted in the store of another database does not come back (P74, another store in
    // place).
    if (phase !== 'done') await this.#context.identity?.check();
    if (phase === 'resolving') return this.#resolve(this.#progress);
    if (phase === 'collecting') return this.#collect(this.#progress);
    if (this.#waiting === undefined) return this.#begin(this.#progress);
    return this.#wait(this.#progress, this.#waiting, signal);
  }

  /** What short cycles have done does not count for a collector that is to look at every row. */
  async #readProgress(): Promise<Progress> {
    const { store, oracle } = this.#context;
    const progress = await readProgress(store);
    const counts = progress.after === undefined || this.#settings.shortCyclesMax > 0;
    if (!counts) return NOTHING_DONE;
    // A collector that continues a cycle does not move the horizon, so it has to ask for it.
    if (progress.phase !== 'done') await oracle.readHorizon();
    return progress;
  }

  async #begin({ deletionHorizon: done }: Progress): Promise<StepResult> {
    const { oracle, leases, clock } = this.#context;
    const began = this.#began ?? (await oracle.next());
    await leases.renew(); // Otherwise this process's own earlier bound would hold the horizon back.
    const { historyMs } = this.#settings;
    const kept = historyMs === 0 ? undefined : await this.#historyFrom(historyMs);
    const moved = await moveHorizon(oracle, this.#services.watch, { began, kept });
    const { heldBackBy: lease } = moved;
    this.#lease = lease && { process: processOf(lease.token), timestamp: lease.bound };
    this.#deletionHorizon = Math.max(moved.deletionHorizon, done);
    if (moved.deletionHorizon <= done) return this.#endCycle();
    this.#waiting = { deletionHorizon: moved.deletionHorizon, sinceMs: clock.monotonicMs() };
    return 'more';
  }

  /** The timestamp from which on history is kept. */
  async #historyFrom(historyMs: number): Promise<Timestamp> {
    const { store, clock } = this.#context;
    return (await noteAt(store, clock.wallMs() - historyMs))?.timestamp ?? 0;
  }

  async #wait(
    done: Progress,
    { deletionHorizon, sinceMs }: { deletionHorizon: Timestamp; sinceMs: number },
    signal: AbortSignal,
  ): Promise<StepResult> {
    const { store } = this.#context;
    if (this.#settings.fences && store.fence !== undefined) await store.fence();
    else if (!(await this.#sleepUntil(sinceMs + this.#settings.messageLifetimeMs, signal))) {
      return 'more';
    }
    const after = this.#afterwards(done);
    await this.#moveTo({ phase: 'resolving', deletionHorizon, table: '', row: '', after });
    this.#waiting = undefined;
    return 'more';
  }

  /** False if the signal has ended it early. */
  async #sleepUntil(endMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock, closing } = this.#context;
    // Timers may wake early, and then a message could still be in flight.
    while (clock.monotonicMs() < endMs) {
      await clock.sleep(endMs - clock.monotonicMs(), signal);
      closing.refuseNew();
      if (signal.aborted) return false;
    }
    return true;
  }

  /** What the cycle after `done` may rely on. */
  #afterwards({ deletionHorizon: collected, after }: Progress): EarlierCycles | undefined {
    const count = (after?.count ?? 0) + 1;
    return collected === 0 || count > this.#settings.shortCyclesMax
      ? undefined
      : { collected, count };
  }

  /** Resolves the locks below D of some rows. */
  async #resolve(progress: Progress): Promise<StepResult> {
    this.#deletionHorizon = progress.deletionHorizon;
    const tables = this.#tablesWithLocks ?? (await this.#services.listTables('locks'));
    this.#tablesWithLocks = undefined;
    const place = placeIn(tables, progress);
    if (place === undefined) {
      await this.#moveTo({ ...progress, phase: 'collecting', table: '', row: '' });
      return 'more';
    }
    const rows = await this.#rows(place, lockFilters(progress));
    const alive = await this.#resolveLocks(place.table, rows);
    if (alive !== undefined) {
      this.#lock = alive;
      this.#tablesWithLocks = tables;
      return 'blocked';
    }
    await this.#moveTo(this.#placeAfter(place, rows));
    this.#tablesWithLocks = tables;
    return 'more';
  }

  /**
   * Returns the first lock that is alive. Looks at the others, too, so that their ages begin: a
   * process that died may have left many, and each seems alive for its time to live.
   */
  async #resolveLocks(table: string, rows: readonly Row[]): Promise<HeldBack | undefined> {
    let alive: HeldBack | undefined;
    for (const { key: row, cells } of rows) {
      for (const cell of cells.filter((one) => isOf(LOCK, one))) {
        const address = { table, row, column: columnOf(cell) };
        const lock = readLock(cell);
        if (lock === undefined) continue; // Damaged: fsck reports it.
        if ((await this.#resolution(address, lock)) === 'alive') {
          alive ??= { process: lock.owner, timestamp: lock.startTimestamp, lock: address };
        } else this.counters.locksResolved++;
      }
    }
    return alive;
  }

  /**
   * If another program deleted the primary's table, or damaged the lock or the primary's record,
   * the lock cannot be resolved: like a live one it stays, and holds the collector back.
   */
  async #resolution(cell: CellAddress, lock: Lock): Promise<Resolution> {
    try {
      return await resolveLock(this.#context, cell, lock);
    } catch (error) {
      if (isWithoutPrimary(error) || hasCode(error, 'TABLE_MISMATCH')) return 'alive';
      throw error;
    }
  }

  async #collect(progress: Progress): Promise<StepResult> {
    const { deletionHorizon } = progress;
    this.#deletionHorizon = deletionHorizon;
    const place = placeIn(await this.#services.listTables(), progress);
    if (place === undefined) {
      await this.#moveTo({ ...progress, phase: 'done', table: '', row: '' });
      return this.#endCycle();
    }
    const target = { table: place.table, deletionHorizon };
    const rows = await this.#rows(place, visitFilters(place));
    this.counters.cellsDeleted += await this.#collectRows(target, rows, place.after);
    this.counters.rowsVisited += rows.length;
    await this.#moveTo(this.#placeAfter(place, rows));
    return 'more';
  }

  async #collectRows(
    target: CollectionTarget,
    found: readonly Row[],
    after: EarlierCycles | undefined,
  ): Promise<number> {
    const { store } = this.#context;
    try {
      const rows = after === undefined ? found : await readWhole(store, target, found);
      return await collectRows(store, target, rows);
    } catch (error) {
      if (!isTableNotFound(error) || (await this.#isThere(target.table))) throw error;
      return 0; // Dropped since the rows were read.
    }
  }

  /** Where only the companion is missing, the table is there, and its rows are not collected. */
  async #isThere(table: string): Promise<boolean> {
    const stored = await this.#context.store.listTables();
    return stored.includes(table) && (await this.#services.listTables()).includes(table);
  }

  #endCycle(): StepResult {
    this.counters.cycles++;
    return 'cycle ended';
  }

  #placeAfter(place: Progress, rows: readonly Row[]): Progress {
    const row = restOf({ limit: this.#settings.rowsPerStep }, rows)?.start;
    return row === undefined
      ? { ...place, table: keyAfter(place.table), row: '' }
      : { ...place, row };
  }

  /**
   * A table that was dropped meanwhile has no rows. The storage may say by mistake that a table is
   * missing, and its locks would be passed over, so the list of tables has to confirm it.
   */
  async #rows(place: Progress, filters: readonly CellFilter[]): Promise<readonly Row[]> {
    const { store } = this.#context;
    const range = { start: place.row, limit: this.#settings.rowsPerStep };
    try {
      return await store.readRange(place.table, range, filters);
    } catch (error) {
      if (!isTableNotFound(error) || (await store.listTables()).includes(place.table)) throw error;
      return [];
    }
  }

  /**
   * If the storage loses the answer, the old progress may still be stored,
   * which only means more work.
   */
  async #moveTo(progress: Progress): Promise<void> {
    await writeProgress(this.#context.store, progress);
    this.#progress = progress;
    this.#lock = undefined; // The lock is gone, or its table.
  }
}

/**
 * The table to continue with: that of the progress or, if there is none or it is gone,
 * the one after it.
 */
function placeIn(tables: readonly string[], progress: Progress): Progress | undefined {
  if (tables.includes(progress.table)) return progress;
  const table = tables.toSorted().find((one) => one > progress.table);
  return table === undefined ? undefined : { ...progress, table, row: '' };
}

/**
 * The locks below D. Where every row is looked at, also the newest record and rollback record of
 * each column: then rows without locks count towards the limit of a range, which so limits the
 * work.
 */
function lockFilters({ deletionHorizon, after }: Progress): readonly CellFilter[] {
  const locks = { ...everywhere(LOCK), to: deletionHorizon - 1 };
  if (after !== undefined) return [{ ...locks, from: after.collected }];
  return [locks, { ...everywhere(WRITE), versions: 1 }, { ...everywhere(ROLLBACK), versions: 1 }];
}

/** What to read of a table: all of its rows, or what is new in those that have changed. */
function visitFilters({ deletionHorizon, after }: Progress): readonly CellFilter[] {
  if (after === undefined) return batchFilters(deletionHorizon);
  const { collected } = after;
  return [
    { ...everywhere(WRITE), from: collected + 1, versions: 1 },
    { ...everywhere(ROLLBACK), from: collected, versions: 1 },
    { ...everywhere(DATA), from: collected, versions: 1 },
  ];
}

async function readWhole(
  store: Bigtable,
  { table, deletionHorizon }: CollectionTarget,
  found: readonly Row[],
): Promise<readonly Row[]> {
  const keys = found.map(({ key }) => key);
  const rows = await store.readRows(table, keys, batchFilters(deletionHorizon));
  return rows.filter((row) => row !== undefined);
}
