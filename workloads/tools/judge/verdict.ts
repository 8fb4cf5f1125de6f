/** What a history is judged by, and what comes of it: the same for both kinds of histories. */
import type { Story } from './anomalies.ts';

export interface JudgeOptions {
  /** Whether real time counts. */
  readonly strict: boolean;
  /** Whether cycles that snapshot isolation allows are violations too. */
  readonly serializable: boolean;
  /** Whether transactions read what they have written themselves, or always their snapshot. */
  readonly ownWritesSeen: boolean;
  /** Violations that are told; all are counted. */
  readonly keepMax: number;
  /** Called now and then with the number of transactions that were read. */
  readonly onProgress: (transactions: number) => void;
  readonly signal: AbortSignal;
}

export interface Verdict {
  readonly format: 'timestamps' | 'list-append';
  readonly transactions: number;
  readonly ok: number;
  readonly fail: number;
  readonly info: number;
  /** Of `info`: those that were seen, and so have committed. */
  readonly infoSeen: number;
  readonly keys: number;
  /** Including those of rows, and of rows that scans did not find. */
  readonly reads: number;
  readonly readsNotJudged: number;
  /**
   * Pairs of transactions that wrote one key while both were running, each counted once for each
   * key.
   */
  readonly overlappingWriters: number;
  /** Violations; `stories` may tell fewer. */
  readonly found: number;
  readonly stories: readonly Story[];
  /** What the model allows and a stricter one does not: write skew. */
  readonly allowed: readonly Story[];
}
