/**
 * The sizes of the benchmark.
 *
 *     smoke      seconds      in every test run: does the benchmark still work?
 *     quick      5 minutes    the default
 *     standard   20 minutes   narrower intervals, longer sweeps
 */
export interface Scale {
  /** Number of rows that are read, and of rows that are written. */
  readonly rows: number;
  readonly rounds: number;
  readonly sliceSeconds: number;
  readonly warmupSeconds: number;
  readonly sweepRounds: number;
  /** Cells per transaction. */
  readonly cells: readonly number[];
  /** Versions of each cell that is read. */
  readonly versions: readonly number[];
  /** Number of rows that all transactions write: the fewer, the more conflicts. */
  readonly hotRows: readonly number[];
  /** Operations in flight. */
  readonly concurrencies: readonly number[];
  /** Offered load of the open loop, as a share of the measured throughput. */
  readonly loads: readonly number[];
}

export const PROFILES = ['smoke', 'quick', 'standard'] as const;

export type ProfileName = (typeof PROFILES)[number];

export const SCALES: Readonly<Record<ProfileName, Scale>> = {
  smoke: {
    rows: 600,
    rounds: 3,
    sliceSeconds: 0.02,
    warmupSeconds: 0.05,
    sweepRounds: 1,
    cells: [1, 4],
    versions: [1, 10],
    hotRows: [8],
    concurrencies: [1, 16],
    loads: [0.3],
  },
  quick: {
    rows: 20_000,
    rounds: 15,
    sliceSeconds: 0.25,
    warmupSeconds: 1,
    sweepRounds: 3,
    cells: [1, 2, 4, 8, 16, 32],
    versions: [1, 10, 100, 1_000],
    hotRows: [4_096, 512, 64, 16],
    concurrencies: [1, 4, 16, 64, 256],
    loads: [0.3, 0.7],
  },
  standard: {
    rows: 50_000,
    rounds: 40,
    sliceSeconds: 0.5,
    warmupSeconds: 2,
    sweepRounds: 8,
    cells: [1, 2, 4, 8, 16, 32],
    versions: [1, 10, 100, 1_000],
    hotRows: [4_096, 1_024, 256, 64, 16],
    concurrencies: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    loads: [0.1, 0.3, 0.5, 0.7],
  },
};
