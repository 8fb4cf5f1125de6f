/** The options and the verdict of a judgement, the same for both kinds of histories. */
import type { Story } from './anomalies.ts';

export interface JudgeOptions {
  /** Whether real time counts. */
  readonly strict: boolean;
  /** Whether cycles that snapshot isolation allows are violations too. */
  readonly serializable: boolean;
  /** Whether transactions read their own writes, or always their snapshot. */
  readonly ownWritesSeen: boolean;
  /** Maximum number of violations kept, and of allowed anomalies; all are counted. */
  readonly keepMax: number;
  /** Called from time to time with the number of transactions read. */
  readonly onProgress: (transactions: number) => void;
  readonly signal: AbortSignal;
}

export interface HistoryVerdict {
  readonly format: 'timestamps' | 'list-append';
  readonly transactions: number;
  readonly ok: number;
  readonly fail: number;
  readonly info: number;
  /** Transactions of outcome `info` whose writes were read, and that so have committed. */
  readonly infoSeen: number;
  readonly keys: number;
  /** Judged reads; a scan counts one for each known key of its range, found or not. */
  readonly reads: number;
  readonly readsNotJudged: number;
  /** Pairs of transactions that wrote one key while both were running, counted once per key. */
  readonly overlappingWriters: number;
  /** Number of violations; `stories` may hold fewer. */
  readonly found: number;
  readonly stories: readonly Story[];
  /** Anomalies that the model allows and a stricter one does not: write skew. */
  readonly allowed: readonly Story[];
  /** Number of allowed anomalies; `allowed` may hold fewer. */
  readonly allowedFound: number;
}
