/**
 * Translates a failed lmdb commit into an error code of the engine: what has the commit changed?
 *
 *     pages ──▶ sync ──▶ meta page: the moment of the commit
 *       └────────┴─ failed: lmdb gave the transaction up. Nothing was applied (STORE_UNAVAILABLE)
 *                        └─ failed: the page may be on the disk or not (STORE_IN_DOUBT), and lmdb
 *                           refuses every further transaction of this process (MDB_PANIC)
 *
 * Besides the promise that it returned, lmdb-js 3.5 rejects two more: that of the batch which holds
 * all transactions of one turn, and the error's `commitError`, which carries the reason. Unhandled,
 * each of them ends the process, so both are handled here. After MDB_PANIC no transaction may
 * begin: lmdb-js would never answer it, and would hold a lock forever.
 */
import type { RootDatabase } from 'lmdb';
import { PercolatorError } from '../../base/index.ts';

/** A transaction that runs a group's work. */
export interface Committing {
  /** lmdb's transaction id; undefined if the transaction has not begun. */
  transactionId: number | undefined;
}

/** Runs `group` in a transaction. Rejects with lmdb's reason; no other promise stays rejected. */
export async function transactIn(
  root: RootDatabase,
  committing: Committing,
  group: () => void,
): Promise<void> {
  try {
    await root.transaction(() => {
      // By now `committed` is the batch's promise.
      void root.committed.then(ignore, ignore);
      committing.transactionId = root.getWriteTxnId();
      group();
    });
  } catch (error) {
    throw await reasonOf(error);
  }
}

/**
 * The error for callers of a commit that failed for `cause`. Call it before any other caller can
 * commit: then the visible state shows whether this commit was applied.
 */
export function failureOf(
  root: RootDatabase,
  { transactionId }: Committing,
  cause: unknown,
): { readonly heard: PercolatorError; readonly isOver: boolean } {
  const inDoubt = failed('STORE_IN_DOUBT', 'whether it was applied is not known', cause);
  try {
    root.resetReadTxn();
    const { lastTxnId } = root.getStats() as { readonly lastTxnId: number };
    const isApplied = transactionId !== undefined && lastTxnId >= transactionId;
    if (isApplied) return { heard: inDoubt, isOver: false };
    return { heard: failed('STORE_UNAVAILABLE', 'nothing was applied', cause), isOver: false };
  } catch {
    return { heard: inDoubt, isOver: true };
  }
}

function failed(
  code: 'STORE_IN_DOUBT' | 'STORE_UNAVAILABLE',
  what: string,
  cause: unknown,
): PercolatorError {
  const reason = cause instanceof Error ? cause.message : 'for a reason that is no error';
  const message = `the embedded store failed to commit (${reason}); ${what}`;
  return new PercolatorError(code, message, { cause });
}

/** lmdb's own reason, which it gives in the same turn as the error, or never. */
async function reasonOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { readonly commitError?: Promise<never> | undefined };
  if (commitError === undefined) return error;
  const reason = commitError.catch((own: unknown) => own);
  return Promise.race([reason, Promise.resolve().then(() => Promise.resolve(error))]);
}

function ignore(): void {}
