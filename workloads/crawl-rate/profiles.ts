/**
 * The sizes of the experiment.
 *
 *     smoke      seconds       in every test run: does it still work?
 *     quick      5 minutes     the default: a first look, one repeat, labelled exploratory
 *     standard   20 minutes    the paper's shape at a million documents, each point twice
 *     full       hours         more rates, longer intervals, five repeats
 */
export interface Scale {
  /** Documents in the repository before the crawl. */
  readonly repository: number;
  /** Crawl rates in percent of the repository per hour. */
  readonly rates: readonly number[];
  /** Measured seconds per point. */
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Measured seconds of back-to-back batch runs per point. */
  readonly batchSeconds: number;
  readonly repeats: number;
}

export const PROFILES = ['smoke', 'quick', 'standard', 'full'] as const;

export type ProfileName = (typeof PROFILES)[number];

export const SCALES: Readonly<Record<ProfileName, Scale>> = {
  smoke: {
    repository: 2_000,
    rates: [5_000, 30_000],
    seconds: 1.5,
    warmupSeconds: 0.5,
    batchSeconds: 0.5,
    repeats: 1,
  },
  quick: {
    repository: 250_000,
    rates: [1, 10, 100, 1_000, 4_500, 10_000],
    seconds: 15,
    warmupSeconds: 3,
    batchSeconds: 12,
    repeats: 1,
  },
  standard: {
    repository: 1_000_000,
    rates: [1, 10, 100, 400, 800, 2_500],
    seconds: 30,
    warmupSeconds: 8,
    batchSeconds: 12,
    repeats: 2,
  },
  full: {
    repository: 1_000_000,
    rates: [1, 2, 4, 10, 20, 40, 100, 200, 400, 700, 1_000, 1_500, 2_500],
    seconds: 120,
    warmupSeconds: 15,
    batchSeconds: 60,
    repeats: 5,
  },
};
