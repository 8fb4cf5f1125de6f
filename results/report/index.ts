/** The front door of the results: records, and the charts and pages made from them. */
export { UsageError } from './usage-error.ts';
export { firstErrorOf } from './usage-error.ts';
export { counted, formatCount, formatDigits, formatShare, printable } from './charts/format.ts';
export { createLatencyHistogram, mergeHistograms, percentileMs } from './histogram.ts';
export type { Histogram } from './histogram.ts';
export {
  countInterval,
  HEADLINE_SAMPLES_MIN,
  isStated,
  statedPercentileMs,
  tooFewSamples,
} from './histogram.ts';
export { formatJudged, SHARED, TARGETS } from './thresholds.ts';
export { createRun, defaultRunFolder, newRecord } from './run-in-progress.ts';
export type { Run, RunHeader } from './run-in-progress.ts';
export {
  column,
  dots,
  higher,
  line,
  lower,
  noNumbers,
  pair,
  resultTable,
  rowName,
  series,
} from './columns-and-series.ts';
export type { Column, FindingsParts, SeriesOf, Subject } from './columns-and-series.ts';
export { recordRun, type Recording } from './run-in-progress.ts';
export { type Html, html } from './page/html.ts';
export { pageColors } from './page/html-page.ts';
export { spansBetween } from './charts/shown-charts.ts';
export { buildAll, refreshAll } from './all/all-page.ts';
export { type Claim, CLAIM_IDS, claimsOf, medianMs, numberIn } from './all/claims.ts';
export { EXPERIMENTS, referenceRecords } from './all/experiments.ts';
export type { ExperimentName, KnownExperiment } from './all/experiments.ts';
export {
  REPRODUCTION_COLUMNS,
  reproductionOf,
  reproductionPage,
  summaryOf,
  toleranceText,
  type Reproduced,
} from './all/reproduction.ts';
export { trendPage, trendTable } from './all/trend-page.ts';
export type { TrendLine, TrendPoint } from './all/trend-page.ts';
export { writeFileAtomically } from './write-file.ts';
export { BATCH_RUN, figure7Findings, SUBJECT as FIGURE_7 } from './figure-7/findings.ts';
export { measuredPoint, pointsOf } from './figure-7/points.ts';
export type {
  Capacity,
  CrawlResult,
  MapreduceModel,
  MeasuredPoint,
  Point,
  ProgressRow,
  RepositoryDescription,
  Verdict,
} from './figure-7/points.ts';
export { buildReport, liveContent, livePage, type ReportFiles } from './report.ts';
export type { ChartSample, PageContent } from './page/live-script.ts';
export { readRecordFile, readRunRecord, RECORD_FILE, RECORD_SCHEMA } from './record-file.ts';
export {
  bytesIn,
  findRun,
  findRuns,
  isMeasuredHere,
  REFERENCE_FOLDER,
  RUNS_FOLDER,
} from './run-folders.ts';
export type { FoundRun } from './run-folders.ts';
export { mayBeMeasuring } from './environment.ts';
export { isVirtual, targetVerdict } from './run-record.ts';
export type * from './run-record.ts';
