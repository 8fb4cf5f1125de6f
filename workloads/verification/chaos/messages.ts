/** The options of a process of a round when it starts. */
import type { StoreAddress } from '#engine';
import type { EngineValues } from '../../harness/engine-settings.ts';
import type { SharedDatabase } from '../../harness/processes/index.ts';
import type { Touch } from './folder-faults.ts';

export interface ChaosProcessOptions {
  /** The name of one life of one process: `2.17`. */
  readonly name: string;
  /** Clients are killed; the watcher, which only reads, is not. */
  readonly role: 'client' | 'watcher';
  readonly store: StoreAddress;
  /** The addresses of the services of the database, if they are processes. */
  readonly database: SharedDatabase | undefined;
  readonly engine: EngineValues;
  /** Whether the process collects garbage, too. */
  readonly gc: boolean;
  /**
   * The folder for the record of what the process asks of the disk (disk-record.ts). Absent: no
   * record is made.
   */
  readonly disk?: string | undefined;
  /** How long it asks again if the store is away, before it ends, in milliseconds. */
  readonly patienceMs: number;
  /** The folder for the file of its history. */
  readonly history: string;
  readonly seed: number;
  readonly workloads: readonly string[];
  /** How many clients there are: each follows the changes of some tables (following.ts). */
  readonly clients: number;
  /** How many loops of each workload a client runs. */
  readonly loops: number;
  /** A timestamp at which all workloads were set up: snapshots of the past go back to it. */
  readonly since: number;
}

/** Asks the owner of the store to go through the files of its folder. */
export interface TouchMessage {
  readonly touch: Touch;
}

/** Its answer, when it has. */
export const TOUCHED = 'touched';
