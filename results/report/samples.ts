/**
 * How many samples a number needs before a report states it.
 *
 * A percentile other than the median needs a hundred samples, and at least one beyond it: the 99th
 * percentile of 30 latencies is their maximum under another name. A headline needs thirty. A count
 * of events that come by chance is compared with another number by its interval.
 */
import { percentileMs, type Histogram } from './histogram.ts';

export const PERCENTILE_SAMPLES_MIN = 100;
export const HEADLINE_SAMPLES_MIN = 30;

/** Minimum and maximum (0 and 100) and the median may always be stated. */
export function isStated(percentile: number, samples: number): boolean {
  const tail = Math.min(percentile, 100 - percentile);
  if (tail === 0 || tail === 50) return true;
  // 100 - 99.9 is a little less than 0.1.
  const beyond = samples * (tail / 100) + 1e-6;
  return samples >= PERCENTILE_SAMPLES_MIN && beyond >= 1;
}

/** The percentile in milliseconds; null if it must not be stated, or if there are no samples. */
export function statedPercentileMs(histogram: Histogram, percentile: number): number | null {
  const samples = histogram.totalCount;
  return samples > 0 && isStated(percentile, samples) ? percentileMs(histogram, percentile) : null;
}

/**
 * The one reason for which a claim, a target or a comparison of two systems has no verdict whatever
 * was measured; null if there is none. Null samples: the number is no statistic.
 */
export function tooFewSamples(samples: number | null | undefined): string | null {
  if (samples === null || samples === undefined || samples >= HEADLINE_SAMPLES_MIN) return null;
  return `too few samples (${samples} of ${HEADLINE_SAMPLES_MIN})`;
}

/** The normal quantile of an interval that holds the true rate with 99 % confidence. */
const QUANTILE_99 = 2.576;

/**
 * The interval of the mean that a Poisson count came from, with 99 % confidence, by Byar's
 * approximation: it differs from the exact one by less than a tenth from five events on.
 */
export function countInterval(count: number): { readonly low: number; readonly high: number } {
  const byar = (n: number, sign: number): number =>
    n === 0 ? 0 : n * (1 - 1 / (9 * n) + (sign * QUANTILE_99) / (3 * Math.sqrt(n))) ** 3;
  return { low: byar(count, -1), high: byar(count + 1, 1) };
}
