/** The options of transactions: unit, default, cost of a wrong value; and what each must be. */
import { check, COUNT, type Kinds, oneOf, POSITIVE } from '../base/options.ts';

export interface Options {
  /**
   * Milliseconds without a change of a lock's heartbeat after which its worker is taken for dead.
   * Default 5,000. Too small: live transactions are rolled back and retried while their process is
   * busy. Too large: readers wait that long for the locks of a worker that crashed on another
   * machine.
   */
  readonly lockTimeToLiveMs: number;
  /**
   * Milliseconds that a read, or the drop of a table, waits for a live transaction's lock before it
   * fails with LOCKED; after as long, `collectGarbage` leaves its cycle incomplete. Default 10,000.
   * Too small: reads fail while large commits are in flight. Too large: a stuck writer is noticed
   * late.
   */
  readonly lockWaitMsMax: number;
  /**
   * How often `transact` runs a transaction before it gives up with the last error, and `outcomeOf`
   * looks before it fails with LOCKED. Default 100. Too small: callers see the conflicts of hot
   * cells as errors. Too large: only time is lost.
   */
  readonly attemptsMax: number;
  /**
   * Milliseconds for which `transact` goes on trying while nothing answers: the store, the oracle
   * (STORE_UNAVAILABLE), or the owner of a lock (LOCKED). Counted from the first such failure in a
   * row; the attempt that is running then is the last one. Default 15,000: where a call waits for
   * 10,000, an error after about half a minute. Too small: callers see short outages as errors. Too
   * large: they wait as long for a store that is gone.
   */
  readonly unansweredMsMax: number;
  /**
   * Milliseconds of backoff between attempts and between looks at a lock. The n-th is drawn from 0
   * to `backoffMsMin` × 2^n, at most `backoffMsMax`. Defaults 1 and 256. Too small: losers meet
   * again, and the store serves more calls. Too large: they wait although the cell is free.
   */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /**
   * How often a mutation without a clear answer is sent before its outcome is called unknown: the
   * commit of the primary, and marks that are waited for, this often in all; a prewrite once, and
   * then this often again. Default 5. Too small: short outages of the store surface as
   * STORE_UNAVAILABLE, or as COMMIT_UNKNOWN. Too large: in a long outage, callers wait longer for
   * their error.
   */
  readonly inDoubtAttemptsMax: number;
  /**
   * Milliseconds for which a transaction or snapshot keeps the versions that it sees from being
   * collected. Default 600,000. Afterwards it goes on, reading the horizon after each read, until
   * it is stale. Too small: long scans fail with STALE_SNAPSHOT. Too large: a forgotten snapshot
   * keeps garbage.
   */
  readonly snapshotLifetimeMsMax: number;
  /**
   * Milliseconds for which a collector respects the lease of a process that does not renew it,
   * counted from when it first sees the lease. Default 30,000. Too small: after a pause of the
   * process, its transactions ask for the horizon at each read. Too large: a dead process keeps
   * garbage that much longer, and `collectGarbage` waits that long for it.
   */
  readonly leaseTimeToLiveMs: number;
  /**
   * 'learn': a read also fetches the columns of its row that transactions of the same kind went on
   * to read (prefetch.ts). Default 'off': each read fetches what was asked for. Where each row is
   * read in one go anyway, learning costs a little time and saves nothing.
   */
  readonly prefetch: 'off' | 'learn';
}

export type OptionsGiven = { readonly [K in keyof Options]?: Options[K] | undefined };

export const OPTION_KINDS: Kinds<OptionsGiven> = {
  lockTimeToLiveMs: POSITIVE,
  lockWaitMsMax: POSITIVE,
  attemptsMax: COUNT,
  unansweredMsMax: POSITIVE,
  backoffMsMin: POSITIVE,
  backoffMsMax: POSITIVE,
  inDoubtAttemptsMax: COUNT,
  snapshotLifetimeMsMax: POSITIVE,
  leaseTimeToLiveMs: POSITIVE,
  prefetch: oneOf('off', 'learn'),
};

/** @throws INVALID_ARGUMENT if no backoff could be as long as the first one may be */
export function checkBackoff(given: OptionsGiven): void {
  const { backoffMsMin, backoffMsMax } = withDefaults(given);
  const accepts = (): boolean => backoffMsMin <= backoffMsMax;
  check('backoffMsMin', backoffMsMin, {
    expected: `at most backoffMsMax, ${backoffMsMax}`,
    accepts,
  });
}

/** Fills in the defaults. The options have been checked before (percolator.ts). */
export function withDefaults(given: OptionsGiven): Options {
  return {
    lockTimeToLiveMs: given.lockTimeToLiveMs ?? 5_000,
    lockWaitMsMax: given.lockWaitMsMax ?? 10_000,
    attemptsMax: given.attemptsMax ?? 100,
    unansweredMsMax: given.unansweredMsMax ?? 15_000,
    backoffMsMin: given.backoffMsMin ?? 1,
    backoffMsMax: given.backoffMsMax ?? 256,
    inDoubtAttemptsMax: given.inDoubtAttemptsMax ?? 5,
    snapshotLifetimeMsMax: given.snapshotLifetimeMsMax ?? 600_000,
    leaseTimeToLiveMs: given.leaseTimeToLiveMs ?? 30_000,
    prefetch: given.prefetch ?? 'off',
  };
}
