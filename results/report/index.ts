/** The front door of the results: records, and the charts and pages made from them. */
export { UsageError } from './usage-error.ts';
export { firstErrorOf } from './first-error.ts';
export { counted, formatCount, formatDigits, formatShare, printable } from './charts/format.ts';
export { createLatencyHistogram, mergeHistograms, percentileMs } from './histogram.ts';
export type { Histogram } from './histogram.ts';
export {
  countInterval,
  HEADLINE_SAMPLES_MIN,
  isStated,
  statedPercentileMs,
  tooFewSamples,
} from './samples.ts';
export { formatJudged, SHARED, TARGETS } from './thresholds.ts';
export { createRun, defaultRunFolder } from './run-in-progress.ts';
export type { MeasuredPoint, Run, RunHeader } from './run-in-progress.ts';
export { higherIsBetter, lowerIsBetter } from './metric.ts';
export {
  noNumbers,
  recordRun,
  type FindingsParts,
  type Recording,
  type Subject,
} from './recorded-measurement.ts';
export { type Html, html } from './page/html.ts';
export { pageColors } from './page/html-page.ts';
export { captureEnvironment } from './environment.ts';
export { buildAll, refreshAll } from './all/build-all.ts';
export { claimsOf, medianMs, numberIn } from './all/claims.ts';
export { buildReport, headlineOf, type ReportFiles } from './report.ts';
export { readRecordFile, readRunRecord, RECORD_FILE } from './record-file.ts';
export {
  bytesIn,
  findRun,
  findRuns,
  isMeasuredHere,
  REFERENCE_FOLDER,
  RUNS_FOLDER,
} from './run-folders.ts';
export type { FoundRun } from './run-folders.ts';
export { mayBeMeasuring } from './run-process.ts';
export type { TimeSeriesRow } from './time-series.ts';
export { targetVerdict } from './run-record.ts';
export type * from './run-record.ts';
