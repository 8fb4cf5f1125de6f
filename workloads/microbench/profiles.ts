/** The sizes of the benchmark, and how long they take. */
import type { Sizes } from '#harness';

export interface Size {
  /** Number of rows that are read, and of rows that are written. */
  readonly rows: number;
  readonly repeats: number;
  /** Measured seconds of each case in each repeat, in sweeps too. */
  readonly seconds: number;
  /** Seconds of warm-up before each case is measured; a third of that in sweeps. */
  readonly warmUp: number;
  /** Measurements of each point of a sweep. */
  readonly sweepRepeats: number;
  /** Cells per transaction. */
  readonly cells: readonly number[];
  /** Versions of each cell that is read. */
  readonly versions: readonly number[];
  /** Numbers of rows, of which each transaction writes one: the fewer, the more conflicts. */
  readonly hotRows: readonly number[];
  /** Operations in flight. */
  readonly concurrencies: readonly number[];
  /** Offered load of the open loop, as a share of the measured throughput. */
  readonly loads: readonly number[];
}

const STANDARD: Size = {
  rows: 50_000,
  repeats: 40,
  seconds: 0.5,
  warmUp: 2,
  sweepRepeats: 8,
  cells: [1, 2, 4, 8, 16, 32],
  versions: [1, 10, 100, 1_000],
  hotRows: [4_096, 1_024, 256, 64, 16],
  concurrencies: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  loads: [0.1, 0.3, 0.5, 0.7],
};

export const SIZES: Sizes<Size> = {
  smoke: {
    rows: 600,
    repeats: 3,
    seconds: 0.02,
    warmUp: 0.05,
    sweepRepeats: 1,
    cells: [1, 4],
    versions: [1, 10],
    hotRows: [8],
    concurrencies: [1, 64],
    loads: [0.3],
  },
  quick: {
    rows: 20_000,
    repeats: 15,
    seconds: 0.25,
    warmUp: 1,
    sweepRepeats: 3,
    cells: [1, 2, 4, 8, 16, 32],
    versions: [1, 10, 100, 1_000],
    hotRows: [4_096, 512, 64, 16],
    concurrencies: [1, 4, 16, 64, 256],
    loads: [0.3, 0.7],
  },
  standard: STANDARD,
  full: { ...STANDARD, rows: 100_000, repeats: 100, seconds: 1, warmUp: 3, sweepRepeats: 20 },
};

/** The nine cases; counting messages and checking what was written count as one more. */
const FIGURE_8_CASES = 10;
/** Three sizes of transaction, with batching off and on, with conditional batches off and on. */
const CONDITIONAL_BATCH_CASES = 12;
/** Kinds of operation at each load of the open loop, and the duration of each, in slices. */
const OPEN_LOOPS = 4;
export const OPEN_LOOP_SLICES = 8;
/** The four operations of figure 8, without and with batching. */
const BATCHING_CASES = 8;
const LOADED_PER_SECOND = 2_000;

/** The expected duration for one store, without `--profile-cpu`. */
export function expectedSeconds(
  size: Size,
  parts: { readonly figureOnly: boolean; readonly conditionalBatch: boolean },
): number {
  const { rows, repeats, seconds, warmUp, sweepRepeats, loads } = size;
  const { cells, versions, concurrencies, hotRows } = size;
  const oneCase = repeats * seconds + warmUp;
  const figure8 =
    2 +
    rows / LOADED_PER_SECOND +
    FIGURE_8_CASES * oneCase +
    (parts.conditionalBatch ? CONDITIONAL_BATCH_CASES * oneCase : 0);
  if (parts.figureOnly) return figure8;
  const cases = 2 * cells.length + 2 * versions.length + 4 * concurrencies.length + hotRows.length;
  const sweeps = (cases + BATCHING_CASES) * (sweepRepeats * seconds + warmUp / 3);
  return figure8 + sweeps + loads.length * OPEN_LOOPS * OPEN_LOOP_SLICES * seconds;
}
