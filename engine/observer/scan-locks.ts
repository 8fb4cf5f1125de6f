/**
 * The rows that this worker's scanner has found and its observers work on, locked against other
 * scanners (section 2.4).
 *
 *     batch found ──▶ first to last row locked ──▶ queued ──▶ run ──▶ last one done: released
 *                          └ refused: another scanner works there ──▶ jump elsewhere
 *
 * "When a scanning thread discovers that it is scanning the same row as another thread, it chooses
 * a new random location in the table to scan." That is the cure for platooning: scanners that
 * follow one another find only what the front one works on, and catch up with it, because it is
 * slowed down by what it finds.
 *
 * To the lock service a process is one owner, and an owner's locks are no obstacle to itself. So
 * the workers that share the locks of one client first lock among themselves. And the service may
 * serve several databases, whose tables have the same names: a lock names its database (P75).
 *
 * The locks are advisory (P49): they do not decide which rows are dirty or which run counts.
 */
import type { Clock } from '../base/index.ts';
import { type RangeLock, type RangeLocks, RangeLockTable } from '../lock-service/index.ts';

/** A cell that was found, with the worker's name for it. */
export interface FoundCell {
  readonly name: string;
  readonly table: string;
  readonly row: string;
}

interface LockedBatch {
  readonly lock: RangeLock;
  /** How many of its cells are not done yet. */
  left: number;
}

/** For each client of locks: the locks among the workers of this process that share it. */
const tables = new WeakMap<RangeLocks, RangeLockTable>();
let workers = 0;

export class ScanLocks {
  readonly #locks: RangeLocks;
  readonly #among: RangeLocks;
  /** Precedes the names of tables; no identity has a slash (P60). */
  readonly #database: string;
  /** By the name of each cell that is not done yet. */
  readonly #batches = new Map<string, LockedBatch>();

  /** @param database its identity; absent: the locks are of one database only */
  constructor(locks: RangeLocks, clock: Clock, database?: string) {
    this.#locks = locks;
    this.#database = database === undefined ? '' : `${database}/`;
    const table = tables.get(locks) ?? new RangeLockTable(clock);
    tables.set(locks, table);
    this.#among = table.of(String(++workers));
  }

  /**
   * Locks the rows of a batch, which is in order and of one table.
   * False if another scanner works on one of them.
   */
  async tryLock(cells: readonly FoundCell[]): Promise<boolean> {
    const [first, last] = [cells[0], cells.at(-1)];
    if (first === undefined || last === undefined) return true;
    const table = `${this.#database}${first.table}`;
    const lock = await this.#lockTwice({ table, from: first.row, to: last.row });
    if (lock === undefined) return false;
    const batch = { lock, left: cells.length };
    for (const { name } of cells) this.#batches.set(name, batch);
    return true;
  }

  /** Among the workers of this process, then among all. */
  async #lockTwice(range: Parameters<RangeLocks['tryLock']>[0]): Promise<RangeLock | undefined> {
    const own = await this.#among.tryLock(range);
    if (own === undefined) return undefined;
    try {
      const lock = await this.#locks.tryLock(range);
      if (lock !== undefined) return { release: () => [own, lock].forEach((one) => one.release()) };
    } catch {
      return own; // As if there were no service.
    }
    own.release();
    return undefined;
  }

  /** The cell has been run, or will not be. Cells that are in no batch have no effect. */
  done(name: string): void {
    const batch = this.#batches.get(name);
    if (batch === undefined) return;
    this.#batches.delete(name);
    batch.left--;
    if (batch.left === 0) batch.lock.release();
  }

  /** Releases all locks: nothing more will be done. */
  releaseAll(): void {
    for (const { lock } of new Set(this.#batches.values())) lock.release();
    this.#batches.clear();
  }
}
