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
import { findSpark, isSparkLocal } from './jvm/spark.ts';
import { cpuSecondsOf } from './processes/processor-time.ts';

export const BATCH_ENGINES = ['local', 'sort', 'hadoop', 'spark'] as const;
export type BatchEngineName = (typeof BATCH_ENGINES)[number];

export interface BatchEngine extends ChainEngine {
  /**
   * Whether the engine may work in processes that this process has not started, such as those of a
   * cluster.
   */
  readonly mayWorkElsewhere?: boolean;
}

export interface BatchEngineOptions extends EngineSize {
  /** Settings of Hadoop or Spark. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** @throws UsageError if the engine is not on this machine; the sentence says what is missing */
export async function openBatchEngine(
  name: BatchEngineName,
  options: BatchEngineOptions,
): Promise<BatchEngine> {
  const engine = await findBatchEngine(name, options);
  if (typeof engine === 'string') throw new UsageError(engine);
  return engine;
}

/** The engine, or a sentence that says what is missing. */
export async function findBatchEngine(
  name: BatchEngineName,
  { settings = {}, ...size }: BatchEngineOptions,
): Promise<BatchEngine | string> {
  if (name === 'local') return localEngine(size);
  if (name === 'sort') return (await whyNoGnuSort()) ?? sortEngine(size);
  if (name === 'hadoop') {
    const hadoop = await findHadoop(size.memoryBytes);
    if (typeof hadoop === 'string') return hadoop;
    const engine = hadoopEngine({ ...hadoop, ...size, settings });
    return { ...engine, mayWorkElsewhere: !hadoop.isLocal };
  }
  const command = await findSpark();
  if (typeof command === 'string') return command;
  const engine = sparkEngine({ command, ...size, settings });
  return { ...engine, mayWorkElsewhere: !isSparkLocal(settings) };
}

/**
 * CPU seconds so far of this process and all its descendants, the engine's among them; null if the
 * engine may work elsewhere, or the system does not report them.
 * @param serverPids descendants that do not work for the engine, and do not count
 */
export function batchCpuSeconds(
  { mayWorkElsewhere = false }: BatchEngine,
  serverPids: readonly number[] = [],
): number | null {
  if (mayWorkElsewhere) return null;
  const [all, servers] = [cpuSecondsOf([process.pid]), cpuSecondsOf(serverPids)];
  return all === null || servers === null ? null : all - servers;
}
