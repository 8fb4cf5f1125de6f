/** Everything that decides a run of the benchmark, settled before it begins. */
import type { DatabaseValues, EngineSettings } from '../harness/engine-settings.ts';
import type { ProfileName, Scale } from './profiles.ts';

export interface Plan extends Scale {
  readonly profile: ProfileName | 'custom';
  readonly stores: readonly string[];
  readonly seed: number;
  readonly valueBytes: number;
  readonly concurrency: number;
  /** Client processes of figure 8, beside oracle and lock service; 0 for one process that is all of them. */
  readonly processes: number;
  /** Whether the embedded store waits for the disk. */
  readonly fsync: boolean;
  /** Of the database that is measured; the paper's is without batching. */
  readonly engine: EngineSettings;
  /** As they were given. */
  readonly engineValues: DatabaseValues;
  readonly figureOnly: boolean;
  readonly profileCpu: boolean;
  readonly out: string;
}
