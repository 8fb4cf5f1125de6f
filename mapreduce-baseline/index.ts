/**
 * The front door of the batch baseline: a MapReduce for one machine, with which the engine is
 * compared.
 *
 * Read job.ts for the contract, run-job.ts for the course of a job, then the files in the order in
 * which data meets them: input, tasks, grouping or external-merge, output.
 */
export { ByteBuilder, compareBytes, Slice } from './bytes.ts';
export {
  type ChainEngine,
  type ChainRun,
  type EngineSize,
  localEngine,
  outsideEngine,
  runProgram,
} from './engines/engine.ts';
export { hadoopEngine, type HadoopOptions } from './engines/hadoop.ts';
export { sortEngine, whyNoGnuSort } from './engines/sort.ts';
export { sparkEngine, type SparkOptions } from './engines/spark.ts';
export { filesOf, type Input, isUri } from './input.ts';
export { type ChainOptions, type JobChain, loadChain, runChain } from './job-chain.ts';
export {
  type CreateJob,
  MapReduceError,
  type MapReduceErrorCode,
  type MapReduceJob,
  type Output,
  type ValueCursor,
} from './job.ts';
export { type JobOptions, type JobReport, runJob } from './run-job.ts';
export { streamMap, streamReduce } from './streaming.ts';
export type { Grouping, JobModule } from './tasks.ts';
export { openWorkerPool, type WorkerPool, type WorkerPoolOptions } from './worker-pool.ts';
