/** All settings of a run of the benchmark, decided before it begins. */
import type { DatabaseValues, EngineSettings } from '../harness/engine-settings.ts';
import type { Size } from './profiles.ts';

export interface Plan extends Size {
  readonly stores: readonly string[];
  /** Region servers of an HBase that the run starts. */
  readonly regionServers: number;
  readonly seed: number;
  readonly valueBytes: number;
  readonly concurrency: number;
  /**
   * Client processes of figure 8, in addition to oracle and lock service; 0 for one process that
   * contains all of them.
   */
  readonly processes: number;
  /** Whether the embedded store waits for the disk. */
  readonly fsync: boolean;
  /** Settings of the measured database; the paper's has no batching. */
  readonly engine: EngineSettings;
  /** The settings as they were given. */
  readonly engineValues: DatabaseValues;
  readonly figureOnly: boolean;
  readonly conditionalBatch: boolean;
  readonly profileCpu: boolean;
  /** The folder of the profiles that are kept. */
  readonly out: string;
  /** The folder of the databases. */
  readonly work: string;
}
