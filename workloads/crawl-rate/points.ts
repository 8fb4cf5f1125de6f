/**
 * Turns the repeats of a measurement into one point of the run record: merges the histograms, takes
 * the time series of the first repeat, and derives one verdict.
 */
import { mean } from 'simple-statistics';
import { counted, mergeHistograms, percentileMs, type Run, type Verdict } from '#results';
import type { Check } from './check.ts';
import { CYCLES_MIN, type MapReducePoint } from './batch/point.ts';
import type { PercolatorPoint } from './percolator/point.ts';
import type { Plan } from './plan.ts';
import type { KeptUp } from './saturation.ts';
import { documentsPerSecond } from '../harness/load/schedule.ts';

/**
 * Highest allowed lateness of the generator in milliseconds. Above it, the run measured the
 * generator, and a point that is not saturated is invalid.
 */
const LAG_MS_MAX = 10;

export function addPercolatorPoint(
  run: Run,
  plan: Plan,
  rate: number,
  repeats: readonly PercolatorPoint[],
): void {
  if (repeats.length === 0) return;
  const lagMs = Math.max(...repeats.map((point) => point.generatorLagP99Ms));
  const verdict = verdictOf(repeats, lateness(lagMs));
  run.addPoint(
    {
      system: 'percolator',
      ...commonFields(plan, rate, repeats),
      ...verdict,
      documentsPerSecondCompleted: mean(repeats.map((point) => point.completedPerSecond)),
      documents: repeats.reduce((sum, { histogram }) => sum + histogram.totalCount, 0),
      seconds: plan.seconds * repeats.length,
      generatorLagP99Ms: lagMs,
      cpuSecondsPerDocument: meanCost(repeats),
    },
    mergeHistograms(repeats.map(({ histogram }) => histogram)),
    repeats[0]?.series,
  );
}

export function addMapReducePoint(
  run: Run,
  plan: Plan,
  rate: number,
  repeats: readonly MapReducePoint[],
): void {
  if (repeats.length === 0) return;
  const seconds = repeats.reduce((sum, point) => sum + point.seconds, 0);
  const documents = repeats.reduce((sum, point) => sum + point.documents, 0);
  run.addPoint(
    {
      system: 'mapreduce',
      ...commonFields(plan, rate, repeats),
      ...verdictOf(repeats, shortage(repeats)),
      documentsPerSecondCompleted: seconds > 0 ? documents / seconds : 0,
      documents,
      seconds,
      cpuSecondsPerDocument: meanCost(repeats),
      cyclesMeasured: repeats.reduce((sum, { cycles }) => sum + cycles.length, 0),
    },
    mergeHistograms(repeats.map(({ histogram }) => histogram)),
    repeats[0]?.series,
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
  readonly check: Check;
  readonly histogram: Parameters<typeof percentileMs>[0];
}

function commonFields(
  plan: Plan,
  rate: number,
  repeats: readonly JudgedPoint[],
): {
  readonly ratePercentPerHour: number;
  readonly documentsPerSecondOffered: number;
  readonly check: Check;
  readonly repeatMediansMs: readonly number[];
} {
  const measured = repeats.filter(({ histogram }) => histogram.totalCount > 0);
  return {
    ratePercentPerHour: rate,
    documentsPerSecondOffered: documentsPerSecond(plan.repository, rate),
    // One failed repeat fails the point.
    check: repeats.find(({ check }) => !check.passed)?.check ??
      repeats[0]?.check ?? { passed: false, detail: 'not measured' },
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
