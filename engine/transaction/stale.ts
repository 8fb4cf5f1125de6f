/**
 * Stale snapshots: what a snapshot must not read because it may have been collected (P31).
 *
 * A transaction whose hold is covered by its process's lease need not ask: no collector has come
 * near its snapshot. All others read the horizon after each read, before the result is returned:
 *
 *     read ─▶ covered? ─ yes ─▶ done
 *                      └ no ──▶ horizon at or below S? ─ yes ─▶ done: no version was missing
 *                                                      └ no ──▶ STALE_SNAPSHOT
 *
 * After, not before: the collector persists the horizon before it deletes anything, so a read that
 * missed something is followed by a horizon that says so. Because every read is checked on its own,
 * nothing is left to check when a snapshot is closed.
 *
 * A commit is always checked, covered or not, because the check is free: the horizon comes with the
 * commit timestamp (commit.ts).
 */
import { PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { Hold } from '../leases/index.ts';
import type { BoundTables } from './bound-tables.ts';
import type { Context } from './context.ts';

/** A transaction's snapshot, its hold on it, and the tables that it sees. */
export interface HeldSnapshot {
  readonly startTimestamp: Timestamp;
  readonly hold: Hold;
  readonly tables: BoundTables;
}

/**
 * Call it after a read, and await the promise before the result is used; undefined if there is
 * nothing to wait for. @throws STALE_SNAPSHOT
 */
export function validateRead(
  context: Context,
  { startTimestamp, hold }: HeldSnapshot,
): Promise<void> | undefined {
  return hold.isCovered() ? undefined : refuseBelowHorizon(context, startTimestamp);
}

/** Reads the horizon. @throws STALE_SNAPSHOT if it is above the snapshot */
export async function refuseBelowHorizon(
  { oracle }: Context,
  startTimestamp: Timestamp,
): Promise<void> {
  refuseStale(startTimestamp, await oracle.readHorizon());
}

export function refuseStale(startTimestamp: Timestamp, horizon: Timestamp): void {
  if (horizon <= startTimestamp) return;
  throw new PercolatorError(
    'STALE_SNAPSHOT',
    `the snapshot at ${startTimestamp} is below the horizon ${horizon}: ` +
      'versions that it sees may have been collected',
  );
}
