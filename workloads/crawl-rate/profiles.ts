/** The sizes of the experiment, and how long they take. */
import type { Sizes } from '#harness';

export interface Size {
  /** Documents in the repository before the crawl. */
  readonly repository: number;
  /** Crawl rates in percent of the repository per hour. */
  readonly rates: readonly number[];
  /** Measured seconds per point. */
  readonly seconds: number;
  /** Seconds of warm-up before the measured ones. */
  readonly warmUp: number;
  /** Measured seconds of back-to-back batch runs per point. */
  readonly batchSeconds: number;
  readonly repeats: number;
}

export const SIZES: Sizes<Size> = {
  smoke: {
    repository: 2_000,
    rates: [5_000, 30_000],
    seconds: 1.5,
    warmUp: 0.5,
    batchSeconds: 0.5,
    repeats: 1,
  },
  quick: {
    repository: 250_000,
    rates: [1, 10, 100, 1_000, 4_500, 10_000],
    seconds: 15,
    warmUp: 3,
    batchSeconds: 12,
    repeats: 1,
  },
  standard: {
    repository: 1_000_000,
    rates: [1, 10, 100, 400, 800, 4_000],
    seconds: 30,
    warmUp: 8,
    batchSeconds: 12,
    repeats: 2,
  },
  full: {
    repository: 1_000_000,
    rates: [1, 2, 4, 10, 20, 40, 100, 200, 400, 700, 1_000, 1_500, 4_000],
    seconds: 120,
    warmUp: 15,
    batchSeconds: 60,
    repeats: 5,
  },
};

/** Documents that are loaded, or copied and checked, in a second; guesses on two cores. */
const LOADED_PER_SECOND = 10_000;
const CHECKED_PER_SECOND = 25_000;

/** The expected duration of a run. */
export function expectedSeconds(size: Size): number {
  const { repository, rates, seconds, warmUp, batchSeconds, repeats } = size;
  const perPoint = warmUp + seconds + batchSeconds + repository / CHECKED_PER_SECOND;
  return 5 + repository / LOADED_PER_SECOND + repeats * rates.length * perPoint;
}
