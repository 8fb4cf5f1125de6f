/** All parameters of a run of the experiment, fixed before it begins. */
import type { BatchEngineName } from '../harness/batch-engines.ts';
import type { EngineValues } from '../harness/engine-settings.ts';
import type { SyntheticOptions } from './documents/index.ts';
import type { Size } from './profiles.ts';

export interface Plan extends Size {
  readonly seed: number;
  readonly documentBytes: number;
  /** The store of Percolator, as the user named it. */
  readonly store: string;
  /** Region servers of an HBase that is started here. */
  readonly regionServers: number;
  /** Observer runs in flight in all processes of the engine together. */
  readonly concurrency: number;
  /** Batching, prefetching, and the number of workers that share the runs in flight. */
  readonly engine: EngineValues;
  /**
   * Worker processes of the engine, in addition to oracle, lock service and loader; undefined for
   * one process that does everything.
   */
  readonly processes: number | undefined;
  /** What runs the batch. */
  readonly batch: BatchEngineName;
  /** Worker processes of the batch. */
  readonly workers: number;
  /** A real crawl to cluster as well. */
  readonly input: string;
}

export function syntheticOptions(plan: Plan): SyntheticOptions {
  const { repository, documentBytes, seed } = plan;
  return { repository, documentBytes, seed };
}

/** Identifies the measurement of a point among the repeats. */
export interface Measurement {
  readonly system: 'percolator' | 'mapreduce';
  readonly rate: number;
  readonly repeat: number;
}
