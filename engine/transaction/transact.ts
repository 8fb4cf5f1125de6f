/**
 * Transact: runs a function as a transaction, again and again until it commits.
 *
 * "Applications ... should be retried after a backoff" (section 2.2); the library owns that loop. Each
 * attempt is a new transaction: a new start timestamp, new reads, nothing carried over. To retry only
 * the writes, at a new timestamp, would bring back the lost updates that the conflict prevented (P18).
 *
 * The function may run several times, so it must not do anything outside the transaction that cannot
 * be done twice (P51).
 */
import { isRetryable, PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { backoffMs } from './backoff.ts';
import type { Context } from './context.ts';
import { type Outcome, settleTransaction } from './resolve-lock.ts';
import { type Reader, Transaction } from './transaction.ts';
import type { TransactionName } from '../base/index.ts';

/** A transaction at a fresh start timestamp. */
export async function begin(context: Context): Promise<Transaction> {
  const startTimestamp = await context.oracle.next();
  context.counters.begun++;
  return new Transaction(context, startTimestamp, { readOnly: false });
}

/** A read-only view of the database at a timestamp; the newest if none is given. */
export async function snapshotAt(context: Context, timestamp?: Timestamp): Promise<Reader> {
  const startTimestamp = timestamp ?? (await context.oracle.next());
  return new Transaction(context, startTimestamp, { readOnly: true });
}

/**
 * Runs `body` in a transaction and commits it; resolves with what `body` returned.
 * @throws what `body` threw (nothing is committed), the last conflict after `attemptsMax`, or
 *   COMMIT_UNKNOWN, which is never retried
 */
export async function transact<T>(
  context: Context,
  body: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const transaction = await begin(context);
    try {
      const result = await body(transaction);
      await transaction.commit();
      return result;
    } catch (error) {
      transaction.discard();
      if (!isRetryable(error) || attempt >= context.options.attemptsMax) throw error;
      await context.clock.sleep(backoffMs(context, attempt));
    }
  }
}

/**
 * How a transaction that ended with COMMIT_UNKNOWN ended after all. If it has not ended and its owner is
 * this process, which has given it up, or is dead, it is rolled back: the answer is final.
 */
export async function outcomeOf(
  context: Context,
  name: TransactionName,
): Promise<'committed' | 'rolled back'> {
  const { primary, startTimestamp } = name;
  for (let attempt = 1; ; attempt++) {
    const outcome = await settleTransaction(context, lockOf(context, primary, startTimestamp));
    if (outcome.kind !== 'alive') return outcomeName(outcome);
    if (attempt >= context.options.attemptsMax) {
      throw new PercolatorError('LOCKED', `the transaction of ${startTimestamp} is still at work`);
    }
    await context.clock.sleep(backoffMs(context, attempt));
  }
}

function outcomeName(outcome: Exclude<Outcome, { kind: 'alive' }>): 'committed' | 'rolled back' {
  return outcome.kind;
}

/** The primary's lock as far as it matters for asking: whose it is, and where. */
function lockOf(
  context: Context,
  primary: TransactionName['primary'],
  startTimestamp: Timestamp,
): Parameters<typeof settleTransaction>[1] {
  return {
    startTimestamp,
    primary,
    operation: 'put',
    owner: context.liveness.self,
    wallMs: 0,
    timeToLiveMs: context.options.lockTimeToLiveMs,
    heartbeat: 0,
  };
}
