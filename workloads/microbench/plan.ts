/** Everything that decides a run of the benchmark, settled before it begins. */
import type { EngineSettings, EngineValues } from '../tuning/engine-settings.ts';
import type { ProfileName, Scale } from './profiles.ts';

export interface Plan extends Scale {
  readonly profile: ProfileName | 'custom';
  readonly stores: readonly string[];
  readonly seed: number;
  readonly valueBytes: number;
  readonly concurrency: number;
  /** Whether the embedded store waits for the disk. */
  readonly fsync: boolean;
  /** Of the database that is measured; the paper's is without batching. */
  readonly engine: EngineSettings;
  /** As they were given. */
  readonly engineValues: EngineValues;
  readonly figureOnly: boolean;
  readonly profileCpu: boolean;
  readonly out: string;
}
