/**
 * Moving the horizon (P31): how far may a collector delete, and how do all processes learn of it?
 *
 *   1. N = a fresh timestamp; then read all leases. H' = the smallest of N and their bounds.
 *   2. Persist the horizon H = H', or leave the horizon H where it is if that is above H'.
 *   3. Read the leases again. D = the smallest of H and their bounds: delete below D, nothing else.
 *
 * Why N before the leases? A process that is not among them registers later. So it asks for its
 * first start timestamp after we have asked for N, and that timestamp is above N. A process that is
 * among them has nothing in use below its bound.
 *
 * Why a second look? A process may pin a snapshot of the past between 1 and 2: it has renewed its
 * lease with the pin as bound, then read the old horizon, and found that it is in time. It is: its
 * lease was written before it read the horizon, the horizon was persisted after that, and our
 * second look is after that. So we see its bound and stay below. A process that renews after our
 * second look reads the horizon after it was persisted, and knows that it is too late. The same
 * goes for processes whose lease has lapsed and is there again.
 *
 * What if the collector dies in between? Some snapshots are stale although nothing was deleted.
 */
import type { Timestamp } from '../bigtable/index.ts';
import type { Lease, LeaseWatch } from '../leases/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';

export interface MovedHorizon {
  /** Persisted: snapshots below may have lost versions. */
  readonly horizon: Timestamp;
  /** At or below the horizon: below it, no process needs anything any more. */
  readonly deletionHorizon: Timestamp;
  /**
   * The lease with the smallest bound, if that is below `began`. An idle process holds back as
   * well, by the time since it renewed its lease.
   */
  readonly heldBackBy: Lease | undefined;
}

/** @param began a timestamp: what was committed before it is to be collected */
export async function moveHorizon(
  oracle: TimestampOracle,
  watch: LeaseWatch,
  began: Timestamp,
): Promise<MovedHorizon> {
  const now = await oracle.next();
  const before = await watch.liveLeases();
  const horizon = await oracle.raiseHorizon(smallestBound(before, now));
  const after = await watch.liveLeases();
  const deletionHorizon = smallestBound(after, horizon);
  const [smallest] = [...before, ...after].toSorted((a, b) => a.bound - b.bound);
  const isHeldBack = smallest !== undefined && smallest.bound < began;
  return { horizon, deletionHorizon, heldBackBy: isHeldBack ? smallest : undefined };
}

function smallestBound(leases: readonly Lease[], limit: Timestamp): Timestamp {
  return leases.reduce((smallest, { bound }) => Math.min(smallest, bound), limit);
}
