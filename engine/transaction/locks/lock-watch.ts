/**
 * Decides when the owner of a lock is taken for dead, without trusting anybody's clock but ours (P24).
 *
 * A lock's age is counted from the moment this process first saw it with the heartbeat it has now.
 * A live owner counts the heartbeat of its primary's lock up, which starts the age anew; so a long
 * transaction is safe as long as its process runs, and a dead one is found out after one time to
 * live, however far the clocks of the two machines are apart.
 *
 * A mistake costs a live transaction its commit, never data: rolling back is a conditional
 * mutation of the primary, which the commit is too (P26).
 */
import type { Clock } from '../../base/index.ts';
import type { Timestamp } from '../../bigtable/index.ts';
import type { Lock } from './lock.ts';

export interface LockWatch {
  /**
   * Whether the lock has stood still for its time to live: it was asked for at `askedMs`, so long after it
   * was first seen with the heartbeat it had. Not when the answer came: one that takes long shows the lock as
   * it was long ago.
   */
  isExpired(lock: Lock, askedMs: number): boolean;
}

interface Sighting {
  readonly heartbeat: number;
  readonly sinceMs: number;
}

/** Sightings kept; beyond that the oldest are forgotten, and their locks' ages start anew. */
const SIGHTINGS_MAX = 10_000;

export function createLockWatch(clock: Clock): LockWatch {
  const sightings = new Map<Timestamp, Sighting>();

  function remember(lock: Lock): Sighting {
    const sighting = { heartbeat: lock.heartbeat, sinceMs: clock.monotonicMs() };
    sightings.delete(lock.startTimestamp);
    sightings.set(lock.startTimestamp, sighting);
    if (sightings.size > SIGHTINGS_MAX) {
      for (const oldest of sightings.keys()) {
        sightings.delete(oldest);
        break;
      }
    }
    return sighting;
  }

  return {
    isExpired: (lock, askedMs) => {
      const before = sightings.get(lock.startTimestamp);
      const sighting = before?.heartbeat === lock.heartbeat ? before : remember(lock);
      return askedMs - sighting.sinceMs >= lock.timeToLiveMs;
    },
  };
}
