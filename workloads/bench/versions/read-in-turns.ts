/** Reads two cells in turns, each read in a new snapshot, so that no cell is cached. */
import { median } from 'simple-statistics';
import type { CellAddress, Percolator, Random } from '#engine';

export interface WrittenCell {
  readonly cell: CellAddress;
  /** The value that was written last. */
  readonly value: Uint8Array;
}

export interface ReadTimes {
  /** Medians in milliseconds: of the cell that was written once, and of the rewritten one. */
  readonly onceMs: number;
  readonly oftenMs: number;
  /** Read time of the rewritten cell relative to the other one. */
  readonly ratio: number;
  /** Reads of each cell. */
  readonly reads: number;
}

/** Unmeasured reads at the start: they compile the code and load the pages into memory. */
const WARM_UP = 1_000;

/** @throws if a read gives another value than the one that was written last */
export async function readInTurns(
  percolator: Pick<Percolator, 'snapshot'>,
  cells: { readonly once: WrittenCell; readonly often: WrittenCell },
  run: {
    readonly reads: number;
    readonly random: Random;
    readonly signal: AbortSignal;
    onProgress(done: number): void;
  },
): Promise<ReadTimes> {
  const once = timerOf(percolator, cells.once);
  const often = timerOf(percolator, cells.often);
  for (let i = 0; i < WARM_UP + run.reads && !run.signal.aborted; i++) {
    const order = run.random.fraction() < 0.5 ? [once, often] : [often, once];
    for (const timer of order) await timer.read(i >= WARM_UP);
    if (i % 100 === 0) run.onProgress(Math.max(0, i - WARM_UP));
  }
  run.onProgress(often.timesMs.length);
  const [onceMs, oftenMs] = [median(once.timesMs), median(often.timesMs)];
  return { onceMs, oftenMs, ratio: oftenMs / onceMs, reads: once.timesMs.length };
}

function timerOf(
  percolator: Pick<Percolator, 'snapshot'>,
  { cell, value: written }: WrittenCell,
): { readonly timesMs: number[]; read(isMeasured: boolean): Promise<void> } {
  const timesMs: number[] = [];
  return {
    timesMs,
    read: async (isMeasured) => {
      await using snapshot = await percolator.snapshot();
      const startedMs = performance.now();
      const value = await snapshot.get(cell);
      if (isMeasured) timesMs.push(performance.now() - startedMs);
      if (value?.equals(written) === true) return;
      throw new Error(`a read of ${cell.row} gave another value than the one written last`);
    },
  };
}
