/** The front door of the harness: what every script does in the same way. */
export {
  measureChecked,
  type Measuring,
  runExperiment,
  verdictOf,
} from './experiment/run-experiment.ts';
export type { ProfileName, RunPlan, Sizes } from './experiment/plan.ts';
export * from './experiment/shared-options.ts';
export { runCommand, parseCommandLine, type CommandContext } from './command-line/command-line.ts';
export {
  choice,
  flag,
  inputFile,
  inputFolder,
  integer,
  integerList,
  number,
  numberList,
  onlyWith,
  type Option,
  outputFolder,
  text,
  textList,
} from './command-line/options.ts';
export { startProgress, type Progress, type ProgressOptions } from './command-line/progress.ts';
export { live } from './watch/live.ts';
export { databaseProbes, workerProbes, type Probe } from './watch/probes.ts';
export { LiveTimes } from './watch/live-times.ts';
export { counted, UsageError } from '#results';
