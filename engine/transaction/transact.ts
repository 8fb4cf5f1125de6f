/**
 * Transact: runs a function as a transaction, again until it commits, but at most `attemptsMax`
 * times, and not for long while nothing answers (P79, count instead of time).
 *
 * "... the transaction has conflicted ... and should be retried after a backoff" (section 2.2); the
 * library owns that loop. Each attempt is a new transaction: a new start timestamp, new reads,
 * nothing carried over. Retrying only the writes, at a new timestamp, would bring back the lost
 * updates that the conflict prevented (P18, retry without reads).
 *
 * The function may run several times, so outside the transaction it must do nothing that cannot be
 * done twice (P51, effects outside).
 */
import {
  type Clock,
  hasCode,
  isRetryable,
  PercolatorError,
  type TransactionName,
  unlessAborted,
} from '../base/index.ts';
import {
  check,
  checkOptions,
  COUNT,
  FUNCTION,
  type OptionRules,
  objectWith,
  POSITIVE,
  SIGNAL,
  TEXT,
  WHOLE,
} from '../base/options.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { during, type TransactionTrace } from '../telemetry/index.ts';
import { backoffMs, type Context } from './context.ts';
import { BoundTables } from './bound-tables.ts';
import { CELL } from './columns.ts';
import type { Lock } from './locks.ts';
import { type TransactionOutcome, settleTransaction } from './resolve-lock.ts';
import { type HeldSnapshot, refuseBelowHorizon } from './snapshot-read.ts';
import type { Snapshot } from './reader.ts';
import { Transaction, type TransactionOptions } from './transaction.ts';

const RULES: OptionRules<TransactionOptions> = { kind: TEXT };
const TRANSACT_RULES: OptionRules<TransactOptions> = {
  ...RULES,
  attemptsMax: COUNT,
  timeoutMs: POSITIVE,
  signal: SIGNAL,
};
const TRANSACTION_NAME = objectWith('one that an error with COMMIT_UNKNOWN names', {
  primary: CELL,
  startTimestamp: WHOLE,
});

export interface TransactOptions extends TransactionOptions {
  /**
   * How often the body is tried, if it meets conflicts. Default: that of the database, 100. 1: the
   * caller tries again. Too large: a caller that always loses hears of it late.
   */
  readonly attemptsMax?: number | undefined;
  /**
   * Milliseconds after which it gives up with TIMED_OUT, unless it is committing. Default: none.
   * Too small: transactions fail that only had to wait for others.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Gives up as soon as it aborts, unless it is committing, and throws its reason. Default: none.
   */
  readonly signal?: AbortSignal | undefined;
}

/** What the engine, and not the user, says of a transaction. */
interface Attempt {
  /** Of a run of an observer: what is measured of it. */
  readonly trace?: TransactionTrace | undefined;
  /** Whether an attempt before has failed, of whatever. */
  readonly isRetry?: boolean | undefined;
}

/** A transaction at a fresh start timestamp. */
export async function begin(
  context: Context,
  options: TransactionOptions = {},
  { trace: given, isRetry }: Attempt = {},
): Promise<Transaction> {
  checkOptions('begin', options, RULES);
  const { kind } = options;
  const trace = given ?? context.telemetry?.transaction(kind);
  try {
    const held = await during(trace?.step('begin'), holdNow(context));
    context.counters.begun++;
    trace?.hasBegun(held.startTimestamp);
    return new Transaction(context, held, { readOnly: false, kind, isRetry, trace });
  } catch (error) {
    trace?.failed(error);
    throw error;
  }
}

/**
 * A read-only view of the database at a timestamp; the newest if none is given.
 * @throws STALE_SNAPSHOT if it is below the horizon
 */
export async function snapshotAt(
  context: Context,
  timestamp?: Timestamp,
  options: TransactionOptions = {},
): Promise<Snapshot> {
  checkOptions('snapshot', options, RULES);
  const { kind } = options;
  const held =
    timestamp === undefined ? await holdNow(context) : await holdThen(context, timestamp);
  return new Transaction(context, held, { readOnly: true, kind });
}

/** A fresh start timestamp; the hold comes first (see leases/leases.ts, steps 1 and 3). */
async function holdNow(context: Context): Promise<HeldSnapshot> {
  const { leases, oracle, closing } = context;
  closing.refuseNew();
  const hold = await leases.enter();
  try {
    const startTimestamp = await oracle.next();
    hold.setTimestamp(startTimestamp);
    return { startTimestamp, hold, tables: new BoundTables(context, startTimestamp) };
  } catch (error) {
    hold.release();
    throw error;
  }
}

/**
 * A snapshot of the past: take the hold, then check whether it came in time. A collector persists
 * the horizon, then reads the holds. So either we see the horizon, or it sees the hold.
 */
async function holdThen(context: Context, startTimestamp: Timestamp): Promise<HeldSnapshot> {
  context.closing.refuseNew();
  const hold = await context.leases.pin(startTimestamp);
  try {
    await refuseBelowHorizon(context, startTimestamp);
    return { startTimestamp, hold, tables: new BoundTables(context, startTimestamp) };
  } catch (error) {
    hold.release();
    throw error;
  }
}

/**
 * Runs `body` in a transaction and commits it; resolves with what `body` returned.
 * @throws an error of `begin`, of `body` (nothing is committed) or of the commit: at once if it is
 *   not retryable, as COMMIT_UNKNOWN never is; otherwise the last one, after `attemptsMax`
 *   attempts or `unansweredMsMax`
 * @throws TIMED_OUT, or the reason of the signal: nothing is committed
 */
export async function transact<T>(
  context: Context,
  body: (transaction: Transaction) => Promise<T>,
  options: TransactOptions = {},
): Promise<T> {
  check('the body of transact', body, FUNCTION);
  checkOptions('transact', options, TRANSACT_RULES);
  const { kind = body.name, attemptsMax = context.options.attemptsMax } = options;
  using patience = new Patience(context.clock, options);
  let unansweredSinceMs: number | undefined;
  for (let attempt = 1; ; attempt++) {
    let transaction: Transaction | undefined;
    try {
      // `begin` may fail, too: the oracle may be unreachable for a moment.
      patience.check();
      transaction = await begun(patience, begin(context, { kind }, { isRetry: attempt > 1 }));
      patience.check();
      const result = await patience.wait(body(transaction));
      patience.check();
      await transaction.commit();
      return result;
    } catch (error) {
      transaction?.discard();
      if (!isRetryable(error) || attempt >= attemptsMax) throw error;
      const nowMs = context.clock.monotonicMs();
      // A conflict is an answer; without one, a count alone would be 100 deadlines (P79).
      const isAnswered = !isRefusedAfterWait(error);
      unansweredSinceMs = isAnswered ? undefined : (unansweredSinceMs ?? nowMs);
      if (nowMs - (unansweredSinceMs ?? nowMs) >= context.options.unansweredMsMax) throw error;
      await patience.wait(context.closing.sleep(context.clock, backoffMs(context, attempt)));
    }
  }
}

/** A transaction that begins too late would keep its snapshot from being collected. */
function begun(patience: Patience, beginning: Promise<Transaction>): Promise<Transaction> {
  if (patience.signal === undefined) return beginning;
  const late = (transaction: Transaction): void => {
    if (patience.signal?.aborted === true) transaction.discard();
  };
  beginning.then(late, () => {});
  return patience.wait(beginning);
}

function isRefusedAfterWait(error: unknown): boolean {
  return hasCode(error, 'STORE_UNAVAILABLE') || hasCode(error, 'LOCKED');
}

/*
 * How long the caller of `transact` wants to wait: until its signal aborts, or its time is over.
 *
 *     attempt ─▶ body ─▶ commit ─▶ backoff ─▶ attempt ...
 *     └── ends at once ──┘ │          └── ends at once
 *                          └── goes on to its end: the caller must hear whether it has committed
 *
 * So when `transact` gives up, nothing has been committed, unless it says COMMIT_UNKNOWN. A body
 * that still runs then is not waited for: its transaction is discarded, and its next call refused.
 *
 * It does not bound the commit. While the storage answers, a commit takes some calls; while it does
 * not, `inDoubtAttemptsMax` of them.
 */

class Patience implements Disposable {
  /** Aborts when the caller wants to wait no longer; undefined if it always does. */
  readonly signal: AbortSignal | undefined;
  /** Ends the timer. */
  #over: AbortController | undefined;

  constructor(clock: Clock, { signal, timeoutMs }: TransactOptions) {
    const timed = timeoutMs === undefined ? undefined : this.#timer(clock, timeoutMs);
    this.signal = signal && timed ? AbortSignal.any([signal, timed]) : (signal ?? timed);
  }

  /** @throws the signal's reason, or TIMED_OUT */
  check(): void {
    this.signal?.throwIfAborted();
  }

  /** What `work` resolves to. @throws what `check` throws, as soon as it would */
  wait<T>(work: Promise<T>): Promise<T> {
    return unlessAborted(work, this.signal);
  }

  [Symbol.dispose](): void {
    this.#over?.abort('over'); // Without a reason, it would make an error with a stack.
  }

  #timer(clock: Clock, timeoutMs: number): AbortSignal {
    const timed = new AbortController();
    const over = new AbortController();
    this.#over = over;
    void clock.sleep(timeoutMs, over.signal).then(() => {
      if (!over.signal.aborted) timed.abort(timedOut(timeoutMs));
    });
    return timed.signal;
  }
}

function timedOut(timeoutMs: number): PercolatorError {
  const message = `the transaction has not committed within ${timeoutMs} ms; nothing was written`;
  return new PercolatorError('TIMED_OUT', message);
}

/**
 * What became of a transaction whose commit threw COMMIT_UNKNOWN; the answer is final. If it is
 * still undecided, it is rolled back once its owner is dead. The process that ran it has given it
 * up, so a call in that process rolls it back at once.
 * @throws STALE_SNAPSHOT if it is so long ago that the evidence has been collected, or if the table
 *   of its primary was dropped
 * @throws LOCKED if its owner is alive after `attemptsMax` looks
 * @throws STORE_IN_DOUBT if the storage loses the answer to the rollback of the last look: ask
 *   again
 */
export async function outcomeOf(
  context: Context,
  name: TransactionName,
): Promise<'committed' | 'rolled back'> {
  check('the transaction of outcomeOf', name, TRANSACTION_NAME);
  const { primary, startTimestamp } = name;
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt >= context.options.attemptsMax;
    const outcome = await settleOrLook(context, lockOf(context, primary, startTimestamp), isLast);
    if (outcome.kind === 'collected') {
      throw new PercolatorError(
        'STALE_SNAPSHOT',
        `the outcome of the transaction of ${startTimestamp} is no longer known: it is below the horizon ` +
          `${context.oracle.horizon}, or the table of its primary was dropped`,
      );
    }
    if (outcome.kind !== 'alive') return outcome.kind;
    if (isLast) {
      throw new PercolatorError(
        'LOCKED',
        `the transaction of ${startTimestamp} is still committing`,
      );
    }
    await context.closing.sleep(context.clock, backoffMs(context, attempt));
  }
}

/**
 * If the storage loses the answer to the mutation that settles the transaction, the next look finds
 * the outcome. No look follows the last one, so there the doubt reaches the caller of `outcomeOf`:
 * LOCKED would say that the transaction is alive, which is not known.
 */
async function settleOrLook(
  context: Context,
  lock: Lock,
  isLast: boolean,
): Promise<TransactionOutcome> {
  try {
    return await settleTransaction(context, lock);
  } catch (error) {
    const isInDoubt = hasCode(error, 'STORE_IN_DOUBT');
    if (isInDoubt && !isLast) return { kind: 'alive' };
    throw error;
  }
}

/**
 * A lock that names the primary. Its owner is this process, so a primary without a readable lock
 * counts as given up: the transaction ended with COMMIT_UNKNOWN.
 */
function lockOf(
  context: Context,
  primary: TransactionName['primary'],
  startTimestamp: Timestamp,
): Lock {
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
