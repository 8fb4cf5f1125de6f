/** What a process of a round is told when it starts, as JSON on its command line, and what it answers. */
export interface ProcessOptions {
  /** One life of one process: `2.17`. */
  readonly name: string;
  /** Clients are killed; the watcher, which only looks, is not. */
  readonly role: 'client' | 'watcher';
  readonly store: string;
  readonly fsync: boolean;
  /** Whether it collects garbage, too. */
  readonly gc: boolean;
  /** For the file of its history. */
  readonly history: string;
  readonly seed: number;
  readonly workloads: readonly string[];
  /** A timestamp at which all workloads were set up: snapshots of the past go back to it. */
  readonly since: number;
}

/** It has opened the store and is at work. */
export interface Ready {
  readonly kind: 'ready';
}
