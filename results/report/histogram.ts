/**
 * Latency histograms: recorded in microseconds, merged across repeats.
 *
 * They keep three significant digits: any percentile is right to 0.1 %. Percentiles are never
 * averaged; repeats are merged first. A number is stated only if it rests on enough samples.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Hdr from 'hdr-histogram-js';
import { UsageError } from './usage-error.ts';

export type Histogram = Hdr.Histogram;

const require = createRequire(import.meta.url);

/** Loaded by the first histogram: many scripts make none. */
function hdr(): typeof Hdr {
  return require('hdr-histogram-js') as typeof Hdr;
}

/** An empty histogram: `recordValue` takes whole microseconds from 0 to years. */
export function createLatencyHistogram(): Histogram {
  return hdr().build({ numberOfSignificantValueDigits: 3 });
}

/** One histogram with the values of all `histograms`, such as those of several repeats. */
export function mergeHistograms(histograms: readonly Histogram[]): Histogram {
  const merged = createLatencyHistogram();
  for (const histogram of histograms) merged.add(histogram);
  return merged;
}

/** The latency that `percentile` percent of the documents did not exceed, in milliseconds. */
export function percentileMs(histogram: Histogram, percentile: number): number {
  return histogram.getValueAtPercentile(percentile) / 1000;
}

/** Reads a file of a record of figure 7 of before December 2026. */
export function readHistogram(file: string): Histogram {
  try {
    const histogram = new (hdr().HistogramLogReader)(
      readFileSync(file, 'utf8'),
    ).nextIntervalHistogram();
    // A log without intervals yields null, and only some kinds of histogram can be merged.
    if (histogram === null || !('totalCount' in histogram)) throw new Error('it has no interval');
    return histogram;
  } catch (error) {
    // The reader of the format fails with errors of JavaScript, which say nothing to a user.
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new UsageError(
      `The histogram file ${file} must be an HdrHistogram log, but ${isMissing ? 'does not exist' : 'is damaged'}.`,
      { cause: error },
    );
  }
}

/*
 * How many samples a number needs before a report states it.
 *
 * A percentile other than the median needs a hundred samples, and at least one beyond it: the 99th
 * percentile of 30 latencies is their maximum under another name. A headline needs thirty. A count
 * of events that come by chance is compared with another number by its interval.
 */

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
