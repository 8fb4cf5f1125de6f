/** Everything that decides a run of the benchmark, settled before it begins. */
import type { ProfileName, Scale } from './profiles.ts';

export interface Plan extends Scale {
  readonly profile: ProfileName | 'custom';
  readonly stores: readonly string[];
  readonly seed: number;
  readonly valueBytes: number;
  readonly concurrency: number;
  /** Whether the embedded store waits for the disk. */
  readonly fsync: boolean;
  readonly figureOnly: boolean;
  readonly profileCpu: boolean;
  readonly out: string;
}
