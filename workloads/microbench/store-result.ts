/** The results of one store. */
import type { ConditionalBatchPoint } from './conditional-batch.ts';
import type { CpuProfile } from './cpu-profile.ts';
import type { Figure8 } from './figure-8.ts';
import type { InProcessCost } from './in-process.ts';
import type { Sweeps } from './sweeps.ts';

export interface StoreResult {
  readonly name: string;
  readonly durability: string;
  readonly figure8: Figure8;
  /** Empty without `--conditional-batch`, or if the store sends each conditional mutation alone. */
  readonly conditionalBatch: readonly ConditionalBatchPoint[];
  /** Null with `--figure-only`. */
  readonly sweeps: Sweeps | null;
  /** By the name of the case; null unless requested. */
  readonly profiles: ReadonlyMap<string, CpuProfile> | null;
  /** One caller at a time; null with `--figure-only`, or if the storage is another process. */
  readonly inProcess: readonly InProcessCost[] | null;
  /** The errors that the check found, one sentence each. */
  readonly wrong: readonly string[];
}
