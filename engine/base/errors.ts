/**
 * The one error class of the engine.
 *
 * The code is the contract: tests and callers compare codes, never messages. Each code is explained
 * below and in the README. `RETRYABLE` is the one place that says after which of them a whole
 * transaction may be run again from a new start timestamp.
 */

export type ErrorCode =
  /** A newer write record, or another transaction's lock, stands in the way: first committer wins. */
  | 'WRITE_CONFLICT'
  /** This transaction was rolled back by another one, which believed its writer dead. */
  | 'ROLLED_BACK'
  /** A read waited longer than `lockWaitMsMax` for a live transaction's lock. */
  | 'LOCKED'
  /** Versions that the snapshot would see may have been collected; says the snapshot and the horizon. */
  | 'STALE_SNAPSHOT'
  /** The commit was sent and its answer lost; the error says how to ask again. Never retried. */
  | 'COMMIT_UNKNOWN'
  /** The transaction has already committed, failed or been closed. */
  | 'TRANSACTION_CLOSED'
  /** A write was tried in a snapshot, or in a store that was opened for reading only. */
  | 'READ_ONLY'
  /** The storage refused the call and applied nothing; the same call may succeed later. */
  | 'STORE_UNAVAILABLE'
  /** The storage lost the answer: the mutation may have been applied or not. */
  | 'STORE_IN_DOUBT'
  /** The storage does not let us, and will not: permissions, app profile; says what to change. Applied nothing. */
  | 'STORE_REFUSED'
  /** The storage was closed. */
  | 'STORE_CLOSED'
  /** No such table; create it first. */
  | 'TABLE_NOT_FOUND'
  /** The table exists with other families or splits than asked for, or deletes versions by itself. */
  | 'TABLE_MISMATCH'
  /** The table has no such column family. */
  | 'FAMILY_NOT_FOUND'
  /** A row key, column, value, timestamp or option outside what is allowed; says which and why. */
  | 'INVALID_ARGUMENT';

/** Codes for which running the whole transaction again, from a new start timestamp, is safe. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'WRITE_CONFLICT',
  'ROLLED_BACK',
  'LOCKED',
  'STALE_SNAPSHOT', // A transaction begun again has a snapshot of now. The same snapshot stays stale.
  'STORE_UNAVAILABLE',
]);

/** Names a transaction for good: its primary cell, and its start timestamp. */
export interface TransactionName {
  readonly primary: { readonly table: string; readonly row: string; readonly column: string };
  readonly startTimestamp: number;
}

export class PercolatorError extends Error {
  override readonly name = 'PercolatorError';
  readonly code: ErrorCode;
  /** With `COMMIT_UNKNOWN`: which transaction to ask about later. */
  readonly transaction: TransactionName | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly transaction?: TransactionName } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.code = code;
    this.transaction = options.transaction;
  }
}

/**
 * Whether the whole transaction may be run again. `COMMIT_UNKNOWN` and `STORE_IN_DOUBT` are not
 * among the codes on purpose: a counter incremented twice is how users usually learn the difference.
 */
export function isRetryable(error: unknown): boolean {
  return error instanceof PercolatorError && RETRYABLE.has(error.code);
}
