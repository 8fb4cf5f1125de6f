/** What a process of a round is told when it starts. */
import type { StoreAddress } from '#engine';
import type { EngineValues } from '../../harness/engine-settings.ts';
import type { Place } from '../../harness/processes/index.ts';

export interface ProcessOptions {
  /** One life of one process: `2.17`. */
  readonly name: string;
  /** Clients are killed; the watcher, which only looks, is not. */
  readonly role: 'client' | 'watcher';
  readonly store: StoreAddress;
  /** Where the services of the database are, if they are processes. */
  readonly place: Place | undefined;
  readonly engine: EngineValues;
  /** Whether it collects garbage, too. */
  readonly gc: boolean;
  /** For the file of its history. */
  readonly history: string;
  readonly seed: number;
  readonly workloads: readonly string[];
  /** A timestamp at which all workloads were set up: snapshots of the past go back to it. */
  readonly since: number;
}
