/**
 * The rows that this worker's scanner has found and its observers are at, locked against other scanners (section 2.4).
 *
 *     batch found ──▶ first to last row locked ──▶ queued ──▶ run ──▶ the last one is done: released
 *                          └ refused: another scanner is there ──▶ jump elsewhere
 *
 * "When a scanning thread discovers that it is scanning the same row as another thread, it chooses a new random location
 * in the table to scan." That is the cure for platooning: scanners that follow one another find nothing but what the one
 * in front is at, and catch up with it, because it is slowed down by what it finds.
 *
 * The locks are advisory (P49): which rows are dirty, and which run counts, is decided without them.
 */
import type { RangeLock, RangeLocks } from '../lock-service/index.ts';

/** A cell that was found, by the name that the worker knows it by. */
export interface FoundCell {
  readonly name: string;
  readonly table: string;
  readonly row: string;
}

interface LockedBatch {
  readonly lock: RangeLock;
  /** Cells that are not done yet. */
  left: number;
}

export class ScanLocks {
  readonly #locks: RangeLocks;
  /** By the name of each cell that is not done yet. */
  readonly #batches = new Map<string, LockedBatch>();

  constructor(locks: RangeLocks) {
    this.#locks = locks;
  }

  /** Locks the rows of a batch, which is in order and of one table. False if another scanner is at one of them. */
  async tryLock(cells: readonly FoundCell[]): Promise<boolean> {
    const [first, last] = [cells[0], cells.at(-1)];
    if (first === undefined || last === undefined) return true;
    let lock: RangeLock | undefined;
    try {
      lock = await this.#locks.tryLock({ table: first.table, from: first.row, to: last.row });
    } catch {
      return true; // Scanned without a lock, as if there were no service.
    }
    if (lock === undefined) return false;
    const batch = { lock, left: cells.length };
    for (const { name } of cells) this.#batches.set(name, batch);
    return true;
  }

  /** The cell has been run, or will not be. Cells that no batch has brought are of no consequence. */
  done(name: string): void {
    const batch = this.#batches.get(name);
    if (batch === undefined) return;
    this.#batches.delete(name);
    batch.left--;
    if (batch.left === 0) batch.lock.release();
  }

  /** Nothing more will be done. */
  releaseAll(): void {
    for (const { lock } of new Set(this.#batches.values())) lock.release();
    this.#batches.clear();
  }
}
