/** The front door of the results: records, and the charts and pages made from them. */
export { UsageError } from './usage-error.ts';
export { createLatencyHistogram, mergeHistograms, percentileMs } from './histogram.ts';
export type { Histogram } from './histogram.ts';
export { countInterval, HEADLINE_SAMPLES_MIN, statedPercentileMs } from './samples.ts';
export { createRun, defaultRunFolder } from './run.ts';
export type { MeasuredPoint, Run, RunHeader } from './run.ts';
export { higherIsBetter, lowerIsBetter } from './metric.ts';
export { recordFindings } from './record-findings.ts';
export { recordRun, type FindingsParts, type Recording, type Subject } from './record-run.ts';
export { captureEnvironment } from './environment.ts';
export { buildReport, type ReportFiles } from './report.ts';
export { readRunRecord } from './record-file.ts';
export type { TimeSeriesRow } from './time-series.ts';
export { targetVerdict } from './run-record.ts';
export type * from './run-record.ts';
