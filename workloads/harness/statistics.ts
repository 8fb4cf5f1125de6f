/**
 * A mean of ratios, with its 95 % confidence interval.
 *
 * Each round measures both sides one after the other, so a disturbance affects both, and the ratio
 * of a round is less noisy than the rates. Ratios multiply, so their logarithms are averaged, and
 * Student's t gives the interval. With fewer than three rounds the interval would be meaningless.
 */
import jstat from 'jstat';
import { mean, sampleStandardDeviation } from 'simple-statistics';
import type { Interval } from '#results';

export interface Estimate {
  readonly value: number;
  /** Null with fewer than three rounds. */
  readonly low: number | null;
  readonly high: number | null;
  /** The number of values that it is the mean of. */
  readonly samples: number;
}

/** The interval of an estimate, for the record; null if it has none. */
export function intervalOf({ low, high }: Estimate): Interval | null {
  return low === null || high === null ? null : { low, high };
}

/** The geometric mean of positive numbers, such as ratios or rates. */
export function estimate(values: readonly number[]): Estimate {
  const logarithms = values.map((value) => Math.log(value));
  const middle = mean(logarithms);
  const value = Math.exp(middle);
  if (values.length < 3) return { value, low: null, high: null, samples: values.length };
  const standardError = sampleStandardDeviation(logarithms) / Math.sqrt(values.length);
  const off = studentT(values.length - 1) * standardError;
  return {
    value,
    low: Math.exp(middle - off),
    high: Math.exp(middle + off),
    samples: values.length,
  };
}

/** The mean ratio of the results of two sides in the same rounds. */
export function estimateRatio(
  numerators: readonly number[],
  denominators: readonly number[],
): Estimate {
  return estimate(numerators.map((value, round) => value / (denominators[round] ?? Number.NaN)));
}

/**
 * The quantile of Student's t that a two-sided interval of this confidence reaches to.
 *
 * @param confidence above 0 and below 1; by default that of all our intervals
 */
export function studentT(degreesOfFreedom: number, confidence = 0.95): number {
  return jstat.studentt.inv((1 + confidence) / 2, degreesOfFreedom);
}

/**
 * The number with `digits` significant digits, for tables; null for null, and for a number that is
 * not finite.
 */
export function rounded(value: number | null, digits = 4): number | null {
  return value !== null && Number.isFinite(value) ? Number(value.toPrecision(digits)) : null;
}

/** The arithmetic mean; 0 if there are no values. */
export function meanOrZero(values: readonly number[]): number {
  return values.length === 0 ? 0 : mean(values);
}
