/**
 * Stale snapshots: what a snapshot must not read because it may have been collected (P31).
 *
 * A transaction whose hold is covered by its process's lease need not ask: no collector has come near
 * its snapshot. All others ask for the horizon after each read, before anybody sees what was read:
 *
 *     read ─▶ covered? ─ yes ─▶ done
 *                      └ no ──▶ horizon at or below S? ─ yes ─▶ done: it was there when we read
 *                                                      └ no ──▶ STALE_SNAPSHOT
 *
 * After, not before: the collector persists the horizon before it deletes anything, so a read that
 * missed something is followed by a horizon that says so. Because every read is checked by itself,
 * nothing is left to check when a snapshot is closed.
 *
 * A commit is checked whether it is covered or not, because that is free: the commit timestamp
 * brings the horizon along (commit.ts).
 */
import { PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { Hold } from '../leases/index.ts';
import type { BoundTables } from './bound-tables.ts';
import type { Context } from './context.ts';

/** The snapshot of a transaction, its claim to it, and the tables that it sees. */
export interface HeldSnapshot {
  readonly startTimestamp: Timestamp;
  readonly hold: Hold;
  readonly tables: BoundTables;
}

/** To be awaited after a read, before its result is used; mostly there is nothing to wait for. @throws STALE_SNAPSHOT */
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
