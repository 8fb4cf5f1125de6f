/** What bench:scanners and its scanner processes tell each other, and what they share. */
import type { Place } from '../../harness/processes/index.ts';
import type { EngineSettings } from '../../harness/engine-settings.ts';

/** How scanners keep off one another's rows. */
export const MODES = ['none', 'skip', 'jump'] as const;

export type Mode = (typeof MODES)[number];

export const TABLE = 'pages';
export const COLUMN = 'contents';

export interface ScannerOptions {
  readonly place: Place;
  readonly mode: Mode;
  readonly engine: EngineSettings;
  /** Observer runs of a scanner at a time. */
  readonly concurrency: number;
  /** What a run takes beside its reads and writes, in milliseconds. */
  readonly thinkMs: number;
}

/** Says when to begin, so that all begin together. */
export interface Begin {
  readonly kind: 'begin';
}

/** Counts since the beginning; the last ones count. */
export interface Counts {
  readonly kind: 'counts';
  /** Observer runs that were begun, and that committed. */
  readonly begun: number;
  readonly committed: number;
  readonly meetings: number;
}
