/** The engines that run a chain of MapReduces: ours, GNU sort, and those found on this machine. */
import {
  type ChainEngine,
  type EngineSize,
  hadoopEngine,
  localEngine,
  sortEngine,
  sparkEngine,
  whyNoGnuSort,
} from '#mapreduce';
import { UsageError } from '#results';
import { findHadoop } from './jvm/hadoop.ts';
import { findSpark } from './jvm/spark.ts';

export const BATCH_ENGINES = ['local', 'sort', 'hadoop', 'spark'] as const;
export type BatchEngineName = (typeof BATCH_ENGINES)[number];

export interface BatchEngineOptions extends EngineSize {
  /** Settings of Hadoop or Spark. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** @throws UsageError if the engine is not on this machine; the sentence says what is missing */
export async function openBatchEngine(
  name: BatchEngineName,
  options: BatchEngineOptions,
): Promise<ChainEngine> {
  const engine = await findBatchEngine(name, options);
  if (typeof engine === 'string') throw new UsageError(engine);
  return engine;
}

/** The engine, or a sentence that says what is missing. */
export async function findBatchEngine(
  name: BatchEngineName,
  { settings = {}, ...size }: BatchEngineOptions,
): Promise<ChainEngine | string> {
  if (name === 'local') return localEngine(size);
  if (name === 'sort') return (await whyNoGnuSort()) ?? sortEngine(size);
  if (name === 'hadoop') {
    const hadoop = await findHadoop(size.memoryBytes);
    return typeof hadoop === 'string' ? hadoop : hadoopEngine({ ...hadoop, ...size, settings });
  }
  const command = await findSpark();
  return typeof command === 'string' ? command : sparkEngine({ command, ...size, settings });
}
