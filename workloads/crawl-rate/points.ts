/**
 * What the measurements say: the repeats of one rate become a point (histograms merged, one
 * verdict), all points give the batch's model and the capacity of each system, and these are
 * compared with the targets.
 */
import { linearRegression, max, mean, median, min, sum } from 'simple-statistics';
import {
  type Capacity,
  counted,
  formatCount,
  formatJudged,
  type MapreduceModel,
  type MeasuredPoint,
  measuredPoint,
  mergeHistograms,
  percentileMs,
  type Point,
  type RunRecord,
  type Target,
  TARGETS,
  type Verdict,
} from '#results';
import { documentsPerSecond } from '../harness/load/schedule.ts';
import { CYCLES_MIN, type MapReducePoint } from './batch/point.ts';
import type { PercolatorPoint } from './percolator/point.ts';
import type { Plan } from './plan.ts';
import type { KeptUp } from './saturation.ts';

/**
 * Highest allowed lateness of the generator in milliseconds. Above it, the run measured the
 * generator, and a point that is not saturated is invalid.
 */
const LAG_MS_MAX = 10;

/** @param repeats at least one */
export function percolatorPoint(
  plan: Pick<Plan, 'repository' | 'seconds'>,
  rate: number,
  repeats: readonly PercolatorPoint[],
): MeasuredPoint {
  const lagMs = Math.max(...repeats.map((point) => point.generatorLagP99Ms));
  const verdict = verdictOf(repeats, lateness(lagMs));
  return measuredPoint(
    {
      system: 'percolator',
      ...commonFields(plan, rate, repeats),
      ...verdict,
      documentsPerSecondCompleted: mean(repeats.map((point) => point.completedPerSecond)),
      documents: sum(repeats.map(({ histogram }) => histogram.totalCount)),
      seconds: plan.seconds * repeats.length,
      generatorLagP99Ms: lagMs,
      cpuSecondsPerDocument: meanCost(repeats),
      cyclesMeasured: null,
    },
    mergeHistograms(repeats.map(({ histogram }) => histogram)),
  );
}

/** @param repeats at least one */
export function mapReducePoint(
  plan: Pick<Plan, 'repository'>,
  rate: number,
  repeats: readonly MapReducePoint[],
): MeasuredPoint {
  const seconds = sum(repeats.map((point) => point.seconds));
  const documents = sum(repeats.map((point) => point.documents));
  return measuredPoint(
    {
      system: 'mapreduce',
      ...commonFields(plan, rate, repeats),
      ...verdictOf(repeats, shortage(repeats)),
      documentsPerSecondCompleted: seconds > 0 ? documents / seconds : 0,
      documents,
      seconds,
      generatorLagP99Ms: null,
      cpuSecondsPerDocument: meanCost(repeats),
      cyclesMeasured: sum(repeats.map(({ cycles }) => cycles.length)),
    },
    mergeHistograms(repeats.map(({ histogram }) => histogram)),
  );
}

/** The mean of those that are known; null if none is. */
function meanCost(
  repeats: readonly Pick<PercolatorPoint, 'cpuSecondsPerDocument'>[],
): number | null {
  const costs = repeats.flatMap(({ cpuSecondsPerDocument }) => cpuSecondsPerDocument ?? []);
  return costs.length > 0 ? mean(costs) : null;
}

function lateness(lagMs: number): string | null {
  if (lagMs <= LAG_MS_MAX) return null;
  return `the generator was ${lagMs.toFixed(1)} ms late (99th percentile; at most ${LAG_MS_MAX} ms)`;
}

function shortage(repeats: readonly MapReducePoint[]): string | null {
  const runs = Math.min(...repeats.map(({ cycles }) => cycles.length));
  if (runs >= CYCLES_MIN) return null;
  return `the prepared documents ran out after ${counted(runs, 'measured runs')} (at least ${CYCLES_MIN})`;
}

interface JudgedPoint {
  readonly keptUp: KeptUp;
  readonly histogram: Parameters<typeof percentileMs>[0];
  readonly series: MeasuredPoint['progress'];
}

function commonFields(
  plan: Pick<Plan, 'repository'>,
  rate: number,
  repeats: readonly JudgedPoint[],
): Pick<
  MeasuredPoint,
  'ratePercentPerHour' | 'documentsPerSecondOffered' | 'repeatMediansMs' | 'progress'
> {
  const measured = repeats.filter(({ histogram }) => histogram.totalCount > 0);
  return {
    ratePercentPerHour: rate,
    documentsPerSecondOffered: documentsPerSecond(plan.repository, rate),
    progress: repeats[0]?.series ?? [],
    repeatMediansMs:
      measured.length > 1 ? measured.map(({ histogram }) => percentileMs(histogram, 50)) : [],
  };
}

/**
 * One repeat that did not keep up makes the point saturated; otherwise `whyInvalid`, if there is
 * one, makes it invalid.
 */
function verdictOf(
  repeats: readonly JudgedPoint[],
  whyInvalid: string | null,
): {
  readonly verdict: Verdict;
  readonly verdictReason: string;
  readonly backlogGrowthPerSecond: number;
} {
  const saturated = repeats.find(({ keptUp }) => keptUp.saturated)?.keptUp;
  if (saturated !== undefined) {
    const growths = repeats.map(({ keptUp }) => keptUp.backlogGrowthPerSecond);
    return {
      verdict: 'saturated',
      verdictReason: saturated.reason,
      backlogGrowthPerSecond: Math.max(0, ...growths),
    };
  }
  const backlogGrowthPerSecond = mean(repeats.map(({ keptUp }) => keptUp.backlogGrowthPerSecond));
  if (whyInvalid !== null) {
    return { verdict: 'invalid', verdictReason: whyInvalid, backlogGrowthPerSecond };
  }
  return {
    verdict: 'sustained',
    verdictReason: 'the backlog did not grow',
    backlogGrowthPerSecond,
  };
}

/*
 * Results derived from the points: the batch's model T = F + V·size, and the capacity of each
 * system.
 */

export interface MeasuredPoints {
  /** By rate, one entry for each repeat. */
  readonly percolator: Map<number, PercolatorPoint[]>;
  readonly mapreduce: Map<number, MapReducePoint[]>;
}

/** Sizes must differ by this share of the repository for a meaningful line through them. */
const SPREAD_MIN = 0.02;

/**
 * Least squares over the runs of all points that passed their check, with costs of at least 0. Null
 * for fewer than five runs, for runs of about the same size, and if larger runs took no longer.
 */
export function fitBatchModel(
  plan: Pick<Plan, 'repository'>,
  { mapreduce }: MeasuredPoints,
): MapreduceModel | null {
  const cycles = checked(mapreduce).flatMap((point) => point.cycles);
  const points = cycles.map(({ documents, seconds }) => [documents / plan.repository, seconds]);
  const sizes = points.map(([size = 0]) => size);
  if (points.length < 5 || max(sizes) - min(sizes) < SPREAD_MIN) return null;
  const { m, b } = linearRegression(points);
  if (m <= 0) return null;
  if (b >= 0) return { fixedSeconds: b, perRepositorySeconds: m };
  // The sizes differ by so little that chance can put the start of the line below 0.
  const products = sum(points.map(([size = 0, seconds = 0]) => size * seconds));
  return { fixedSeconds: 0, perRepositorySeconds: products / sum(sizes.map((size) => size ** 2)) };
}

/**
 * For Percolator, the highest completion rate of a point that passed its check; for the batch, the
 * median rate of the runs of such points.
 */
export function capacityOf({ percolator, mapreduce }: MeasuredPoints): Capacity {
  const completed = checked(percolator).map(({ completedPerSecond }) => completedPerSecond);
  const rates = checked(mapreduce)
    .flatMap(({ cycles }) => cycles)
    .map(({ documents, seconds }) => documents / seconds);
  const ours = completed.length === 0 ? null : Math.max(...completed);
  const batch = rates.length === 0 ? null : median(rates);
  const costRatio = ours !== null && ours > 0 && batch !== null ? batch / ours : null;
  return {
    percolatorDocumentsPerSecond: ours,
    mapreduceDocumentsPerSecond: batch,
    costRatio,
  };
}

/** The points whose result was right, of all rates and repeats. */
function checked<T extends { readonly check: { readonly passed: boolean } }>(
  points: ReadonlyMap<number, readonly T[]>,
): readonly T[] {
  return [...points.values()].flat().filter(({ check }) => check.passed);
}

/*
 * The experiment's targets, chosen for a machine of 2 cores, next to its measurements. A target is
 * judged only if the run had the load that the target speaks of.
 */

const {
  documentsPerSecondMin: DOCUMENTS_PER_SECOND,
  latencyRatioMin: RATIO,
  lowRateMedianMsMax: LOW_RATE_MEDIAN_MS,
} = TARGETS.crawlRate;
const RATIO_REPOSITORY = 1_000_000;
const RATIO_RATE = 1;
/** At higher rates, in percent per hour, documents wait for one another. */
const LOW_RATE_MAX = 10;

export interface JudgedFigure7 {
  readonly points: readonly Point[];
  readonly capacity: Capacity;
  readonly store: RunRecord['store'];
  /** Of the repository. */
  readonly documents: number;
}

export function targetsOf(figure: JudgedFigure7): readonly Target[] {
  return [capacityTarget(figure), lowRateTarget(figure), ratioTarget(figure)];
}

/** Judged on the embedded store, if the load reached the target or saturated the engine. */
function capacityTarget({ capacity, points, store }: JudgedFigure7): Target {
  const measured = capacity.percolatorDocumentsPerSecond ?? 0;
  const ours = points.filter(({ system }) => system === 'percolator');
  const offered = Math.max(0, ...ours.map((point) => point.documentsPerSecondOffered));
  const isAsked =
    offered >= DOCUMENTS_PER_SECOND || ours.some(({ verdict }) => verdict === 'saturated');
  return {
    name: 'throughput of the engine',
    target: `at least ${formatCount(DOCUMENTS_PER_SECOND)} documents/s clustered, with durable commits`,
    measured: `${formatCount(measured)} documents/s`,
    ...(!store.name.startsWith('embedded')
      ? { met: null, reason: `the store is ${store.name}` }
      : isAsked
        ? { met: measured >= DOCUMENTS_PER_SECOND }
        : { met: null, reason: `only ${formatCount(offered)} documents/s were offered` }),
  };
}

function lowRateTarget({ points }: JudgedFigure7): Target {
  const [point] = byRate(points, 'percolator');
  const medianMs = point?.latency?.medianMs;
  const rate = point?.ratePercentPerHour ?? Infinity;
  return {
    name: 'latency at the lowest rate',
    target: `milliseconds, not scan intervals: a median below ${LOW_RATE_MEDIAN_MS} ms`,
    measured:
      medianMs === undefined
        ? 'no latency'
        : `${formatJudged(medianMs, 2, isLow)} ms at ${rate} %/hour`,
    ...(rate > LOW_RATE_MAX
      ? { met: null, reason: `no rate was ${LOW_RATE_MAX} %/hour or lower` }
      : judged([point], medianMs !== undefined && isLow(medianMs))),
    samples: samplesOf(point),
  };
}

function isLow(medianMs: number): boolean {
  return medianMs < LOW_RATE_MEDIAN_MS;
}

/** The fewest documents of these points; null if one has no latency. */
function samplesOf(...points: readonly (Point | undefined)[]): number | null {
  const counts = points.map((point) => point?.latency?.count ?? null);
  return counts.includes(null) ? null : Math.min(...counts.map(Number));
}

function ratioTarget({ points, documents }: JudgedFigure7): Target {
  const { ours, batch } = lowestOfBoth(points);
  const rate = batch?.ratePercentPerHour ?? Infinity;
  const ratio =
    ours?.latency && batch?.latency ? batch.latency.medianMs / ours.latency.medianMs : undefined;
  const isAsked = documents >= RATIO_REPOSITORY && rate <= RATIO_RATE && ours !== undefined;
  return {
    name: 'latency compared with the batch',
    target: `at ${RATIO_RATE} %/hour of ${formatCount(RATIO_REPOSITORY)} documents, a median ${formatCount(RATIO)} times below the batch's`,
    measured:
      ratio === undefined
        ? 'no ratio'
        : `${formatCount(ratio)} times, with ${formatCount(documents)} documents at ${rate} %/hour`,
    ...(isAsked
      ? (withoutBatch(ours, batch) ?? judged([ours, batch], ratio !== undefined && ratio >= RATIO))
      : {
          met: null,
          reason: 'the repository was smaller, or no rate was that low on both systems',
        }),
    samples: samplesOf(ours, batch),
  };
}

/**
 * Why the ratio is not judged although the engine has a latency: the batch did not keep
 * up. Undefined otherwise; `judged` tells of a batch that was not measured.
 */
function withoutBatch(ours: Point, batch?: Point): Pick<Target, 'met' | 'reason'> | undefined {
  if (ours.latency === null || batch === undefined) return undefined;
  const { verdict, verdictReason } = batch;
  if (verdict !== 'saturated') return undefined;
  return { met: null, reason: `the batch did not keep up: ${verdictReason}` };
}

/** The verdict, unless one of the points that it rests on was not measured. */
function judged(
  points: readonly (Point | undefined)[],
  met: boolean,
): Pick<Target, 'met' | 'reason'> {
  const [reason] = points.flatMap((point) => (point && whyNotMeasured(point)) ?? []);
  return reason === undefined ? { met } : { met: null, reason };
}

/** Undefined if the point says something about the system. */
function whyNotMeasured({ verdict, verdictReason, latency }: Point): string | undefined {
  if (verdict === 'saturated') return undefined;
  if (verdict === 'invalid') return verdictReason;
  return latency === null ? 'no document was measured' : undefined;
}

/** At the lowest rate of both systems: an interrupted run measured some rates on one of them. */
function lowestOfBoth(points: readonly Point[]): { readonly ours?: Point; readonly batch?: Point } {
  const ours = byRate(points, 'percolator');
  const pairs = byRate(points, 'mapreduce').flatMap((batch) =>
    ours
      .filter(({ ratePercentPerHour: rate }) => rate === batch.ratePercentPerHour)
      .map((one) => ({ ours: one, batch })),
  );
  return pairs[0] ?? {};
}

function byRate(points: readonly Point[], system: Point['system']): readonly Point[] {
  return points
    .filter((point) => point.system === system)
    .toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour);
}
