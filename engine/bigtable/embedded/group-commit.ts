/**
 * Group commit: many callers' mutations in one lmdb write transaction, and one fsync for all.
 *
 * While one group is being made durable, the next one gathers; there is no delay to tune, because
 * the disk sets the pace. A group is one callback inside lmdb's asynchronous transaction: lmdb's
 * own thread takes the writer lock (which several processes share), calls back, commits and syncs,
 * so this thread never waits for the disk. The work of a group runs in the order submitted
 * (manifest.ordered).
 *
 * Work must not fail once it runs: every refusal happens before it is submitted, because lmdb
 * commits whatever the callback has written so far.
 */
import { PercolatorError } from '../../base/index.ts';

/** Runs inside the write transaction; synchronous, and writes all or nothing. */
type Work<T> = () => T;

interface Submitted {
  readonly work: Work<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  result: unknown;
  failure: unknown;
}

export interface GroupCommit {
  /**
   * Resolves with the result of `work` when it is durable. If the commit failed: rejects with the
   * error of `transact` if that is a `PercolatorError`, otherwise with STORE_IN_DOUBT, or with
   * STORE_UNAVAILABLE if the work was never run (P58).
   */
  submit<T>(work: Work<T>): Promise<T>;
  /** Resolves when everything submitted so far is settled. */
  idle(): Promise<void>;
}

/**
 * @param transact runs a callback in one write transaction and resolves when it is durable. A
 * `PercolatorError` that it rejects with says whether anything was applied.
 */
export function createGroupCommit(
  transact: (callback: () => void) => Promise<unknown>,
): GroupCommit {
  let gathering: Submitted[] = [];
  let committing: Promise<void> | undefined;

  async function commitGroups(): Promise<void> {
    // Callers of the same turn of the event loop join the first group.
    await Promise.resolve();
    while (gathering.length > 0) await commitGroup();
    committing = undefined;
  }

  async function commitGroup(): Promise<void> {
    let group: Submitted[] = [];
    try {
      await transact(() => {
        // Taken here, not before: work submitted while lmdb waited for the lock still joins.
        group = gathering;
        gathering = [];
        for (const submitted of group) runOne(submitted);
      });
      for (const submitted of group) settle(submitted);
    } catch (cause) {
      // If lmdb failed before it called back, the group is still gathering.
      const error = failureOf(cause, group.length > 0);
      for (const submitted of group.length > 0 ? group : gathering.splice(0)) {
        submitted.reject(error);
      }
    }
  }

  return {
    submit: <T>(work: Work<T>) =>
      new Promise<T>((resolve, reject) => {
        gathering.push({ work, resolve, reject, result: undefined, failure: undefined });
        committing ??= commitGroups();
      }),
    idle: async () => {
      for (let current = committing; current !== undefined; current = committing) await current;
    },
  };
}

/** The error for the callers of a group whose commit failed. */
function failureOf(cause: unknown, hasRun: boolean): PercolatorError {
  if (cause instanceof PercolatorError) return cause;
  const code = hasRun ? 'STORE_IN_DOUBT' : 'STORE_UNAVAILABLE';
  return new PercolatorError(code, 'the embedded store failed to commit', { cause });
}

function runOne(submitted: Submitted): void {
  try {
    submitted.result = submitted.work();
  } catch (error) {
    submitted.failure = error;
  }
}

function settle(submitted: Submitted): void {
  if (submitted.failure === undefined) submitted.resolve(submitted.result as never);
  else submitted.reject(submitted.failure);
}
