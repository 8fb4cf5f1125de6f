/** What was measured on one store. */
import type { CpuProfile } from './cpu-profile.ts';
import type { Figure8 } from './figure-8.ts';
import type { InProcess } from './in-process.ts';
import type { Sweeps } from './sweeps.ts';

export interface StoreResult {
  readonly name: string;
  readonly durability: string;
  readonly figure8: Figure8;
  readonly sweeps: Sweeps | null;
  /** By the name of the case; null unless asked for. */
  readonly profiles: ReadonlyMap<string, CpuProfile> | null;
  /** One caller at a time; null where the storage is another process. */
  readonly inProcess: readonly InProcess[] | null;
  /** What the check found wrong, one sentence each. */
  readonly wrong: readonly string[];
}
