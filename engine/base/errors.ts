/**
 * The one error class of the engine.
 *
 * The code is the contract: the engine decides by codes, never by messages. Each code is explained
 * below and in docs/library.md. `RETRYABLE` alone says which of them allow the whole transaction to
 * run again from a new start timestamp.
 */

export type ErrorCode =
  /** A newer write record or another transaction's lock conflicts: first committer wins. */
  | 'WRITE_CONFLICT'
  /** Another process presumed this transaction's process dead, and rolled the transaction back. */
  | 'ROLLED_BACK'
  /**
   * A read, or the drop of a table, waited longer than `lockWaitMsMax` for a live transaction's
   * lock; or `outcomeOf` was asked about a transaction that is still committing.
   */
  | 'LOCKED'
  /**
   * The snapshot is too old: versions that it sees may have been collected, or a table that it uses
   * was created after it. The error says which.
   */
  | 'STALE_SNAPSHOT'
  /**
   * The answer to the commit was lost, or the commit was refused and could not be rolled back; the
   * error says how to ask again. Never retried.
   */
  | 'COMMIT_UNKNOWN'
  /** `transact` has given up after its `timeoutMs`; nothing was committed. */
  | 'TIMED_OUT'
  /** The transaction has already committed, failed or been closed. */
  | 'TRANSACTION_CLOSED'
  /** A write was tried in a snapshot, or in a store that was opened for reading only. */
  | 'READ_ONLY'
  /** The storage refused the call and applied nothing; the same call may succeed later. */
  | 'STORE_UNAVAILABLE'
  /** The storage lost the answer: the mutation may have been applied or not. */
  | 'STORE_IN_DOUBT'
  /**
   * The storage refuses the call for good: permissions, app profile, or a folder that cannot be its
   * folder. The error says what to change. Nothing was applied.
   */
  | 'STORE_REFUSED'
  /**
   * The certificate of this process has a role that does not allow the call; the error names role
   * and call. Nothing was done. Another certificate helps, trying again does not.
   */
  | 'ROLE_REFUSED'
  /** The disk of the storage is full. Nothing was applied; reads go on. Make room. */
  | 'STORE_FULL'
  /** What the storage has kept cannot be read any more; the error says what, and how to go on. */
  | 'STORE_DAMAGED'
  /** The database was closed, or its storage. */
  | 'STORE_CLOSED'
  /**
   * An address, or a store, is not that of the database: the oracle belongs to another one, another
   * kind of server answers, or the store came back empty or has another database now. The error
   * says which. Trying again does not help.
   */
  | 'WRONG_DATABASE'
  /**
   * The store, or the service, needs a package that is not installed. The error names it. Nothing
   * was done.
   */
  | 'PACKAGE_MISSING'
  /**
   * A server or client speaks a version of the protocol that the other one does not know. The error
   * says which process to update.
   */
  | 'WRONG_VERSION'
  /** No such table; create it first. */
  | 'TABLE_NOT_FOUND'
  /**
   * The table exists in another form than asked for, or deletes versions on its own; or a
   * definition, lock, write record or lease is damaged.
   */
  | 'TABLE_MISMATCH'
  /** The table has no such column family. */
  | 'FAMILY_NOT_FOUND'
  /** A row key, column, value, timestamp or option is not allowed; the error says which and why. */
  | 'INVALID_ARGUMENT';

/** Codes for which running the whole transaction again, from a new start timestamp, is safe. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'WRITE_CONFLICT',
  'ROLLED_BACK',
  'LOCKED',
  'STALE_SNAPSHOT', // A new transaction has a new snapshot; the old one stays stale.
  'STORE_UNAVAILABLE',
]);

/** Identifies a transaction forever: its primary cell and its start timestamp. */
export interface TransactionName {
  readonly primary: { readonly table: string; readonly row: string; readonly column: string };
  readonly startTimestamp: number;
}

/** A row of which the storage has lost some bytes; the table by the storage's name. */
export interface DamagedRow {
  readonly table: string;
  readonly row: string;
  readonly why: string;
}

export class PercolatorError extends Error {
  override readonly name = 'PercolatorError';
  readonly code: ErrorCode;
  /** With `COMMIT_UNKNOWN`: the transaction to ask about later. */
  readonly transaction: TransactionName | undefined;
  /** With `STORE_DAMAGED`: the row that cannot be read, if the storage knows it. */
  readonly damagedRow: DamagedRow | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly transaction?: TransactionName;
      readonly damagedRow?: DamagedRow | undefined;
    } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.code = code;
    this.transaction = options.transaction;
    this.damagedRow = options.damagedRow;
  }
}

/**
 * Whether the whole transaction may run again. After `COMMIT_UNKNOWN` and `STORE_IN_DOUBT` it must
 * not: its writes may have been applied, and a second run could increment a counter twice. Do not
 * ask about an error of `outcomeOf`: whatever this function answers, that error says nothing about
 * the transaction, which must not run again because of it.
 */
export function isRetryable(error: unknown): boolean {
  return error instanceof PercolatorError && RETRYABLE.has(error.code);
}

export function hasCode(error: unknown, code: ErrorCode): error is PercolatorError {
  return error instanceof PercolatorError && error.code === code;
}

/*
 * Assertions: what the programmer believes, checked in the running code.
 *
 * An assertion states a property of this program, never of the world: a full disk, a conflict or a
 * lost answer is a `PercolatorError`. A failed assertion is a bug in the engine.
 */

/** Throws if `condition` does not hold. The message states the property that was believed. */
export function assert(condition: boolean, property: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${property}`);
}

/** Ends an exhaustive `switch`: reached only if a case of a closed union was forgotten. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}

/**
 * Takes all steps of an ending in their order, also those after one that fails: what is left open
 * would stay so.
 * @throws the first error, after the last step
 */
export async function takeAll(steps: readonly (() => Promise<void> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
