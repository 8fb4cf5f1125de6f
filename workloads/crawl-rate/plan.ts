/** Everything that decides a run of the experiment, settled before it begins. */
import type { EngineValues } from '../harness/engine-settings.ts';
import type { SyntheticOptions } from './documents/index.ts';
import type { ProfileName, Scale } from './profiles.ts';

export interface Plan extends Scale {
  readonly profile: ProfileName | 'custom';
  readonly seed: number;
  readonly documentBytes: number;
  /** Observer runs in flight in all processes of the engine. */
  readonly concurrency: number;
  /** Batching, prefetching, and how many workers share the runs in flight. */
  readonly engine: EngineValues;
  /**
   * Worker processes of the engine, beside oracle, lock service and loader; undefined for one that
   * is all of them.
   */
  readonly processes: number | undefined;
  /** Worker processes of the batch. */
  readonly workers: number;
  readonly out: string;
  /** A real crawl to cluster as well. */
  readonly input: string;
}

export function syntheticOptions(plan: Plan): SyntheticOptions {
  const { repository, documentBytes, seed } = plan;
  return { repository, documentBytes, seed };
}

/** Names a point among the repeats. */
export interface Measurement {
  readonly system: 'percolator' | 'mapreduce';
  readonly rate: number;
  readonly repeat: number;
}
