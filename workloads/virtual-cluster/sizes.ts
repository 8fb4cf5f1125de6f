/** The sizes of bench:cluster, and guesses of how long they take on one core. */
import { sum } from 'simple-statistics';
import type { Sizes } from '#harness';
import { type Figure7Plan, repositoryOf } from './figure-7/measure.ts';
import type { Figure8Plan } from './figure-8/measure.ts';
import { type Figure9Plan, VARIED_TRADE_RESULTS } from './figure-9/figure-9.ts';
import type { Figure10Plan } from './figure-10/figure-10.ts';
import type { OraclePlan } from './oracle/oracle.ts';
import { PAUSES_MS } from './measured-costs/operations.ts';
import type { MeasuredCostsPlan } from './measured-costs/measured-costs.ts';
import { MODES, type ScannersPlan } from './scanners/scanners.ts';
import type { ValidationPlan } from './validation/validate.ts';

/** Times are virtual, except those of `costs`. */
export interface ClusterSize {
  readonly machines: number;
  readonly rates: readonly number[];
  readonly repositories: readonly [number, number];
  readonly times: Pick<Figure7Plan, 'warmUp' | 'seconds'>;
  readonly figure8: Omit<Figure8Plan, 'calibration' | 'seed' | 'valueBytes'>;
  readonly figure9: Pick<Figure9Plan, 'loads' | 'warmUp' | 'tradeResults'>;
  readonly figure10: Pick<Figure10Plan, 'load' | 'before' | 'after'>;
  readonly oracle: Pick<OraclePlan, 'callers' | 'seconds'>;
  readonly scanning: Pick<ScannersPlan, 'scanners' | 'rows'>;
  readonly validation: Omit<ValidationPlan, 'seed'>;
  readonly costs: MeasuredCostsPlan;
  /** Whether the assumed numbers are varied. */
  readonly isVaried: boolean;
}

const COSTS = { rows: 1_000_000, brokerage: 'quick' } as const;

export const SIZES: Sizes<ClusterSize> = {
  smoke: {
    machines: 6,
    rates: [10, 20, 300],
    repositories: [50_000, 100_000],
    times: { warmUp: 0.3, seconds: 0.6 },
    figure8: { rows: 1_000, clients: 4, callersPerClient: 64, warmUp: 0.1, seconds: 0.2 },
    figure9: { loads: [5, 10, 20], warmUp: 3, tradeResults: 20 },
    figure10: { load: 4, before: 6, after: 30 },
    oracle: { callers: [1, 64], seconds: 0.05 },
    scanning: { scanners: 20, rows: 2_000 },
    validation: { documents: 200, tradeResults: 20, repositoryMax: 50_000, isTiny: true },
    costs: {
      ...COSTS,
      rows: 2_000,
      rounds: 3, // With one round, a disturbed slice would be the quartile.
      operations: 300,
      afterPauses: 2,
      documents: 500,
      seconds: 0.5,
      brokerage: 'smoke',
    },
    isVaried: false,
  },
  quick: {
    machines: 240,
    rates: [1, 10, 40, 90],
    repositories: [2_000_000, 1_000_000],
    times: { warmUp: 0.3, seconds: 0.3 },
    figure8: { rows: 4_000, clients: 4, callersPerClient: 256, warmUp: 0.3, seconds: 1 },
    figure9: { loads: [10, 30, 100, 200], warmUp: 5, tradeResults: 200 },
    figure10: { load: 15, before: 20, after: 60 },
    oracle: { callers: [1, 8, 64, 256, 512], seconds: 0.3 },
    scanning: { scanners: 200, rows: 12_000 },
    validation: { documents: 10_000, tradeResults: 300, repositoryMax: 250_000, isTiny: false },
    costs: {
      ...COSTS,
      rounds: 7,
      operations: 2_000,
      afterPauses: 10,
      documents: 10_000,
      seconds: 6,
    },
    isVaried: false,
  },
  standard: {
    machines: 240,
    rates: [1, 2, 5, 10, 20, 40, 60, 80, 100, 120],
    repositories: [8_000_000, 4_000_000],
    times: { warmUp: 0.5, seconds: 1 },
    figure8: { rows: 20_000, clients: 4, callersPerClient: 256, warmUp: 0.5, seconds: 4 },
    figure9: { loads: [10, 30, 100, 300, 1_000, 3_000], warmUp: 4, tradeResults: 1_000 },
    figure10: { load: 25, before: 20, after: 60 },
    oracle: { callers: [1, 4, 16, 64, 256, 1_024], seconds: 1 },
    scanning: { scanners: 1_000, rows: 60_000 },
    validation: { documents: 40_000, tradeResults: 1_000, repositoryMax: 1e7, isTiny: false },
    costs: {
      ...COSTS,
      rounds: 25,
      operations: 4_000,
      afterPauses: 20,
      documents: 50_000,
      seconds: 20,
    },
    isVaried: true,
  },
  full: {
    machines: 240,
    rates: [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120],
    repositories: [16_000_000, 8_000_000],
    times: { warmUp: 1, seconds: 3 },
    figure8: { rows: 20_000, clients: 4, callersPerClient: 256, warmUp: 0.5, seconds: 20 },
    figure9: { loads: [10, 100, 1_000, 3_000, 6_000, 11_200], warmUp: 4, tradeResults: 3_000 },
    figure10: { load: 200, before: 30, after: 120 },
    oracle: { callers: [1, 4, 16, 64, 256, 1_024], seconds: 5 },
    scanning: { scanners: 1_000, rows: 200_000 },
    validation: { documents: 100_000, tradeResults: 3_000, repositoryMax: 1e7, isTiny: false },
    costs: {
      ...COSTS,
      rounds: 51,
      operations: 6_000,
      afterPauses: 20,
      documents: 100_000,
      seconds: 60,
    },
    isVaried: true,
  },
};

/** Documents clustered, and operations, that one core simulates in a second; guesses. */
const DOCUMENTS_PER_SECOND = 1_000;
const OPERATIONS_PER_SECOND = 20_000;
/** Dirty rows, loaded and cleaned. */
const DIRTY_PER_SECOND = 300;
/** Trade-Results, with all that comes with them, of a brokerage that is small in memory. */
const TRADES_PER_SECOND = 50;
/** Trade-Results per second whose brokerage is so large that each of them takes twice as long. */
const LARGE_LOAD = 8_000;
/** In a virtual second of all four cases: an operation takes a tablet server 1/15 ms, or less. */
const FIGURE_8_OPERATIONS = 70_000;
/** Operations of a variation of figure 8. */
const FIGURE_8_VARIATION = 80_000;
/** Variations of figure 8; also the numbers that figure 9 varies. */
const VARIATIONS = 40;
/** Failures of figure 10, at most (`variantsOf`). */
const FIGURE_10_VARIANTS = 4;
/** Variations of figure 7, and how long one takes. */
const CAPACITY_VARIATIONS = 70;
const CAPACITY_SECONDS = 16;

export function secondsOf(
  options: Omit<ClusterSize, 'machines' | 'rates' | 'repositories'> &
    Pick<Figure7Plan, 'machines' | 'rates'> & { readonly figure: string },
  jobs: number,
): number {
  const { figure, figure9, figure10, oracle, isVaried } = options;
  if (figure === '7') return figure7Seconds(options, jobs);
  if (figure === '8') return figure8Seconds(options);
  if (figure === 'oracle') return 2 + 4 * oracle.seconds * oracle.callers.length;
  if (figure === 'scanners') return 5 + (MODES.length * options.scanning.rows) / DIRTY_PER_SECOND;
  if (figure === 'costs') return costsSeconds(options.costs);
  if (figure === 'validation') return validationSeconds(options.validation);
  const { load, before, after } = figure10;
  const trades =
    figure === '10'
      ? FIGURE_10_VARIANTS * load * (before + after)
      : figure9.loads.reduce(
          (total, one) =>
            total +
            (1 + one / LARGE_LOAD) * (one * figure9.warmUp + Math.max(one, figure9.tradeResults)),
          isVaried ? 2 * VARIATIONS * VARIED_TRADE_RESULTS : 0,
        );
  return 5 + trades / TRADES_PER_SECOND;
}

function figure7Seconds(
  {
    machines,
    rates,
    times,
    isVaried,
  }: Pick<ClusterSize, 'times' | 'isVaried'> & Pick<Figure7Plan, 'machines' | 'rates'>,
  jobs: number,
): number {
  const perPercent = repositoryOf(machines) / 100 / 3600;
  const documents = sum(rates) * perPercent * (times.warmUp + times.seconds);
  const varied = isVaried ? CAPACITY_VARIATIONS * CAPACITY_SECONDS : 0;
  return 10 + (documents / DOCUMENTS_PER_SECOND + varied) / jobs;
}

function figure8Seconds({ figure8, isVaried }: Pick<ClusterSize, 'figure8' | 'isVaried'>): number {
  const operations = (figure8.warmUp + figure8.seconds) * FIGURE_8_OPERATIONS + 4 * figure8.rows;
  const varied = isVaried ? VARIATIONS * FIGURE_8_VARIATION : 0;
  return 2 + (operations + varied) / OPERATIONS_PER_SECOND;
}

/** Some thirty cases, in real time. */
function costsSeconds(plan: MeasuredCostsPlan): number {
  const { rows, rounds, operations, afterPauses, documents, seconds } = plan;
  const pausesMs = 3 * sum(PAUSES_MS);
  const ofRound = (30 * operations) / 20_000 + (afterPauses * pausesMs) / 1000;
  return 5 + rows / 20_000 + rounds * ofRound + documents / 2_000 + 2 * seconds;
}

/** For some six crawl rates, the highest of them up to five times, and for two loads. */
function validationSeconds({ documents, tradeResults }: ClusterSize['validation']): number {
  return 15 + (10 * documents) / DOCUMENTS_PER_SECOND + (2.5 * tradeResults) / TRADES_PER_SECOND;
}
