/** The front door of the results: what a script of this project may use. */
export { runCommand, parseCommandLine, type CommandContext } from './command-line.ts';
export { choice, flag, inputFile, inputFolder, integer, number } from './options.ts';
export { numberList, outputFolder, text, textList, type Option } from './options.ts';
export { UsageError } from './usage-error.ts';
export { createLatencyHistogram, mergeHistograms, percentileMs } from './histogram.ts';
export type { Histogram } from './histogram.ts';
export { createRun, defaultRunFolder } from './run.ts';
export type { MeasuredPoint, Run, RunHeader } from './run.ts';
export { recordFindings, type Found } from './record-findings.ts';
export { startProgress, type Progress, type ProgressOptions } from './progress.ts';
export { captureEnvironment } from './environment.ts';
export { buildReport, type ReportFiles } from './report.ts';
export { readRunRecord } from './record-file.ts';
export type { TimeSeriesRow } from './time-series.ts';
export type * from './run-record.ts';
