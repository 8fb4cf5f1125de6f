/** The messages between bench:scanners and its scanner processes, and their shared constants. */
import type { SharedDatabase } from '../../harness/processes/index.ts';
import type { EngineSettings } from '../../harness/engine-settings.ts';

/** How scanners avoid one another's rows. */
export const MODES = ['none', 'skip', 'jump'] as const;

export type Mode = (typeof MODES)[number];

export const TABLE = 'pages';
export const COLUMN = 'contents';
/** What the observer writes. */
export const READ_COLUMN = 'read';

export interface ScannerOptions {
  readonly place: SharedDatabase;
  readonly mode: Mode;
  readonly engine: EngineSettings;
  /** Concurrent observer runs of a scanner. */
  readonly concurrency: number;
  /** Time of a run besides its reads and writes, in milliseconds. */
  readonly thinkMs: number;
}

/** The command to begin, so that all begin together. */
export interface BeginMessage {
  readonly kind: 'begin';
}

/** Counts since the start; each message replaces the one before. */
export interface Counts {
  readonly kind: 'counts';
  /** Observer runs that were begun, and that committed. */
  readonly begun: number;
  readonly committed: number;
  readonly meetings: number;
}
