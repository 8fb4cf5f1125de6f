/**
 * The front door of the batch baseline: a MapReduce for one machine, with which the engine is
 * compared.
 *
 * Read job.ts for the contract, run-job.ts for the course of a job, then the files in the order in
 * which data meets them: input-splits, record-reader, map-task, spill-file, reduce-task,
 * group-by-hash or group-by-sort, external-merge, sorted-run, run-merge, line-output.
 */
export { ByteBuilder, compareBytes, Slice } from './bytes.ts';
export { MapReduceError, type MapReduceErrorCode } from './errors.ts';
export {
  type ChainEngine,
  type ChainRun,
  type EngineSize,
  outsideEngine,
} from './engines/engine.ts';
export { runProgram } from './engines/program.ts';
export { hadoopEngine, type HadoopOptions } from './engines/hadoop.ts';
export { localEngine } from './engines/local.ts';
export { sortEngine, whyNoGnuSort } from './engines/sort.ts';
export { sparkEngine, type SparkOptions } from './engines/spark.ts';
export { filesOf, isUri } from './input-files.ts';
export type { Input } from './input-splits.ts';
export { type ChainOptions, type JobChain, loadChain, runChain } from './job-chain.ts';
export type { CreateJob, MapReduceJob, Output, Values } from './job.ts';
export type { JobOptions } from './job-options.ts';
export type { JobReport } from './job-report.ts';
export { runJob } from './run-job.ts';
export { streamMap, streamReduce } from './streaming.ts';
export type { Grouping, JobModule } from './tasks.ts';
export { openWorkerPool, type WorkerPool, type WorkerPoolOptions } from './worker-pool.ts';
