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
 * The locks are advisory (P49): they do not decide which rows are dirty or which run counts.
 */
import type { RangeLock, RangeLocks } from '../lock-service/index.ts';

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

export class ScanLocks {
  readonly #locks: RangeLocks;
  /** By the name of each cell that is not done yet. */
  readonly #batches = new Map<string, LockedBatch>();

  constructor(locks: RangeLocks) {
    this.#locks = locks;
  }

  /** Locks the rows of a batch, which is in order and of one table.
   * False if another scanner works on one of them. */
  async tryLock(cells: readonly FoundCell[]): Promise<boolean> {
    const [first, last] = [cells[0], cells.at(-1)];
    if (first === undefined || last === undefined) return true;
    let lock: RangeLock | undefined;
    try {
      lock = await this.#locks.tryLock({ table: first.table, from: first.row, to: last.row });
    } catch {
      return true; // The batch is scanned without a lock, as if there were no service.
    }
    if (lock === undefined) return false;
    const batch = { lock, left: cells.length };
    for (const { name } of cells) this.#batches.set(name, batch);
    return true;
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
