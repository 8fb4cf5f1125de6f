/** Reads two cells in turns, each read in a snapshot of its own, so that nothing was read before. */
import { median } from 'simple-statistics';
import type { CellAddress, Percolator, Random } from '#engine';

export interface ReadTimes {
  /** Medians, in milliseconds: of the cell that was written once, and of the one that was rewritten. */
  readonly onceMs: number;
  readonly oftenMs: number;
  /** How many times as long the rewritten cell takes. */
  readonly ratio: number;
}

/** Reads before the measured ones: the code is compiled, the pages are in memory. */
const WARM_UP = 1_000;

/** @throws if a read does not give what the first one gave */
export async function readInTurns(
  percolator: Percolator,
  cells: { readonly once: CellAddress; readonly often: CellAddress },
  run: {
    readonly reads: number;
    readonly random: Random;
    readonly signal: AbortSignal;
    onProgress(done: number): void;
  },
): Promise<ReadTimes> {
  const once = await timerOf(percolator, cells.once);
  const often = await timerOf(percolator, cells.often);
  for (let i = 0; i < WARM_UP + run.reads && !run.signal.aborted; i++) {
    const order = run.random.fraction() < 0.5 ? [once, often] : [often, once];
    for (const timer of order) await timer.read(i >= WARM_UP);
    if (i % 100 === 0) run.onProgress(Math.max(0, i - WARM_UP));
  }
  run.onProgress(often.timesMs.length);
  const [onceMs, oftenMs] = [median(once.timesMs), median(often.timesMs)];
  return { onceMs, oftenMs, ratio: oftenMs / onceMs };
}

async function timerOf(
  percolator: Percolator,
  cell: CellAddress,
): Promise<{ timesMs: number[]; read(isMeasured: boolean): Promise<void> }> {
  const timesMs: number[] = [];
  await using first = await percolator.snapshot();
  const expected = await first.get(cell);
  return {
    timesMs,
    read: async (isMeasured) => {
      await using snapshot = await percolator.snapshot();
      const startedMs = performance.now();
      const value = await snapshot.get(cell);
      if (isMeasured) timesMs.push(performance.now() - startedMs);
      if (expected === undefined || value?.equals(expected) !== true) {
        throw new Error(`the value of ${cell.row} is not what it was`);
      }
    },
  };
}
