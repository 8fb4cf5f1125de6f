/**
 * Latency histograms: recorded in microseconds, merged across repeats, kept as `.hlog` files.
 *
 * The files are HdrHistogram interval logs (V2, compressed), which every HdrHistogram tool reads.
 * They keep three significant digits: any percentile is right to 0.1 %. Percentiles are never
 * averaged; repeats are merged first.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Hdr from 'hdr-histogram-js';
import type { Latency } from './run-record.ts';
import { UsageError } from './usage-error.ts';
import { writeFileAtomically } from './write-file.ts';

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

/** The numbers for the record, from a histogram that is not empty. */
export function summarize(histogram: Histogram, histogramFile: string): Latency {
  return {
    minMs: percentileMs(histogram, 0),
    meanMs: histogram.mean / 1000,
    medianMs: percentileMs(histogram, 50),
    p90Ms: percentileMs(histogram, 90),
    p99Ms: percentileMs(histogram, 99),
    maxMs: percentileMs(histogram, 100),
    count: histogram.totalCount,
    histogramFile,
  };
}

/** The latency that `percentile` percent of the documents did not exceed, in milliseconds. */
export function percentileMs(histogram: Histogram, percentile: number): number {
  return histogram.getValueAtPercentile(percentile) / 1000;
}

/** Writes one histogram as an interval log of one interval. */
export function writeHistogram(file: string, histogram: Histogram, comment: string): void {
  let log = '';
  const writer = new (hdr().HistogramLogWriter)((chunk) => {
    log += chunk;
  });
  writer.outputComment(`${comment}; values are microseconds`);
  writer.outputLogFormatVersion();
  writer.outputLegend();
  writer.outputIntervalHistogram(histogram, 0, 0);
  writeFileAtomically(file, log);
}

/** Reads a file of `writeHistogram`. */
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
