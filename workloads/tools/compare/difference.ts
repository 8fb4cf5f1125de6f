/**
 * The difference of a metric between two sides, its confidence interval, and the verdict.
 *
 * The interval is one of the ratio B / A, at 95 %, by the first of two methods that applies:
 *
 *   1. Both sides have at least three repeats or runs: Welch's t on their logarithms, because times
 *      and rates vary by factors.
 *   2. Both sides have an interval of their own, from the record or from their repeats: the
 *      logarithms of the two are combined (Zou and Donner 2008, "MOVER"), whatever method the two
 *      come from, and also if they are not symmetric.
 *
 * Without either there is no interval, and without an interval no verdict: one value says nothing
 * about the spread.
 *
 * A metric is better or worse only if chance does not explain that among all metrics that are
 * compared: one interval in forty misses the truth on the worse side, about four of the 178 of a
 * small `bench:micro`, so many comparisons of equal versions would find a worse metric. Such a
 * verdict therefore asks for a wider interval: all of the wider ones together hold the truth 95
 * times in 100 (Bonferroni). The interval shown is that of the metric alone, and it is enough for
 * the verdict "same".
 */
import type { Interval } from '#results';
import jstat from 'jstat';
import { sampleVariance } from 'simple-statistics';
import { estimate, intervalOf, studentT } from '../../harness/statistics.ts';
import type { Metric } from './metrics.ts';

export type Verdict = 'better' | 'same' | 'worse' | 'no verdict';

export interface Difference {
  readonly name: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly a: number | null;
  readonly b: number | null;
  /**
   * The difference of B from A; positive if B is higher. Null if a value is missing or infinite, or
   * if only A is 0.
   */
  readonly percent: number | null;
  readonly interval: Interval | null;
  readonly verdict: Verdict;
  /** Where the interval comes from, or why there is no verdict. */
  readonly because: string;
}

const SAMPLES_MIN = 3;

export interface Judgement {
  /** Percent by which a metric may differ and still be the same. */
  readonly threshold: number;
  /** How many metrics are compared at once. */
  readonly metrics: number;
}

const CONFIDENCE = 0.95;

export function differenceOf(a: Metric, b: Metric, { threshold, metrics }: Judgement): Difference {
  const { name, unit, better } = a;
  const known = { name, unit, better, a: a.value, b: b.value, percent: null, interval: null };
  const undecided = (because: string): Difference => ({ ...known, verdict: 'no verdict', because });
  if (a.value === null) return undecided(`A: ${a.missing}`);
  if (b.value === null) return undecided(`B: ${b.missing}`);
  if (a.value === Infinity || b.value === Infinity) return { ...known, ...unbounded(a, b) };
  if (a.value === 0 && b.value !== 0) return undecided('A is 0, so there is no percentage');
  const percent = a.value === b.value ? 0 : (100 * (b.value - a.value)) / Math.abs(a.value);
  const found = intervalBetween(a, b, CONFIDENCE);
  if (found === null) return { ...undecided(whyNoInterval(a, b)), percent };
  const alone = verdictOf(found.interval, better, threshold);
  const together = intervalBetween(a, b, 1 - (1 - CONFIDENCE) / metrics)?.interval;
  const isBeyondChance =
    alone === 'same' || (together && verdictOf(together, better, threshold) === alone);
  if (isBeyondChance) return { ...known, percent, ...found, verdict: alone };
  const because = `${found.because}; ${alone} alone, but one of ${metrics}`;
  return {
    ...undecided(alone === 'no verdict' ? found.because : because),
    percent,
    interval: found.interval,
  };
}

function unbounded(a: Metric, b: Metric): Pick<Difference, 'verdict' | 'because'> {
  if (a.value === b.value) return { verdict: 'no verdict', because: 'neither kept up' };
  return b.value === Infinity
    ? { verdict: 'worse', because: 'A kept up, B did not' }
    : { verdict: 'better', because: 'B kept up, A did not' };
}

function verdictOf({ low, high }: Interval, better: Metric['better'], threshold: number): Verdict {
  if (low >= -threshold && high <= threshold) return 'same';
  if (low > threshold) return better === 'higher' ? 'better' : 'worse';
  if (high < -threshold) return better === 'higher' ? 'worse' : 'better';
  return 'no verdict';
}

type FoundInterval = Pick<Difference, 'interval' | 'because'> & { readonly interval: Interval };

function intervalBetween(a: Metric, b: Metric, confidence: number): FoundInterval | null {
  const isRepeated = Math.min(a.samples.length, b.samples.length) >= SAMPLES_MIN;
  if (isRepeated && isConstant(a.samples) && isConstant(b.samples) && a.value === b.value) {
    return { interval: { low: 0, high: 0 }, because: repeatsText(a, b) };
  }
  if ([a, b].some(({ value, samples }) => (value ?? 0) <= 0 || samples.some((one) => one <= 0))) {
    return null;
  }
  const middle = Math.log((b.value ?? 0) / (a.value ?? 0));
  if (isRepeated) {
    const off = welchHalfWidth(a.samples.map(Math.log), b.samples.map(Math.log), confidence);
    return { interval: percents(middle - off, middle + off), because: repeatsText(a, b) };
  }
  const [ofA, ofB] = [ownInterval(a), ownInterval(b)];
  if (ofA === null || ofB === null) return null;
  const wider = normalReach(confidence) / normalReach(CONFIDENCE);
  const down = wider * Math.hypot(ofB.down, ofA.up);
  const up = wider * Math.hypot(ofB.up, ofA.down);
  return {
    interval: percents(middle - down, middle + up),
    because: 'both records',
  };
}

/** How far an interval reaches, in standard errors, if the number of its samples is not known. */
function normalReach(confidence: number): number {
  return jstat.normal.inv((1 + confidence) / 2, 0, 1);
}

function isConstant(samples: readonly number[]): boolean {
  return samples.every((one) => one === samples[0]);
}

function repeatsText(a: Metric, b: Metric): string {
  return `${a.samples.length} and ${b.samples.length} repeats`;
}

function percents(low: number, high: number): Interval {
  return { low: 100 * Math.expm1(low), high: 100 * Math.expm1(high) };
}

/** Rounds the degrees of freedom down, which widens the interval. */
function welchHalfWidth(a: readonly number[], b: readonly number[], confidence: number): number {
  const [ofA, ofB] = [a, b].map((samples) => sampleVariance([...samples]) / samples.length);
  const [varianceA = 0, varianceB = 0] = [ofA, ofB];
  const variance = varianceA + varianceB;
  if (variance === 0) return 0;
  const freedom =
    variance ** 2 / (varianceA ** 2 / (a.length - 1) + varianceB ** 2 / (b.length - 1));
  return studentT(Math.max(1, Math.floor(freedom)), confidence) * Math.sqrt(variance);
}

/** How far the interval of one side reaches from its value, in logarithms. */
function ownInterval(metric: Metric): { readonly down: number; readonly up: number } | null {
  const value = metric.value ?? 0;
  const repeats = metric.samples.length >= SAMPLES_MIN ? estimate(metric.samples) : null;
  const interval = repeats === null ? metric.interval : intervalOf(repeats);
  if (interval === null || interval.low <= 0) return null;
  const around = repeats?.value ?? value;
  return {
    down: Math.max(0, Math.log(around / interval.low)),
    up: Math.max(0, Math.log(interval.high / around)),
  };
}

function whyNoInterval(a: Metric, b: Metric): string {
  if ((a.value ?? 0) <= 0 || (b.value ?? 0) <= 0) return 'a value is not positive';
  if ([a, b].some(({ samples }) => samples.some((one) => one <= 0))) {
    return 'a repeat is not positive';
  }
  const few = [a, b].find((one) => one.samples.length < SAMPLES_MIN && one.interval === null);
  if (few === undefined) return 'an interval reaches to 0';
  const count = Math.max(1, few.samples.length);
  return count === 1 ? 'one repeat' : `${count} repeats`;
}
