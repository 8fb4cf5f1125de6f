/**
 * Decides when a lock's owner is taken for dead, trusting no clock but this process's own (P24).
 *
 * A lock's age counts from the moment when this process first saw it with its current heartbeat. A
 * live owner increments the heartbeat of its primary's lock, which restarts the age. So a long
 * transaction is safe as long as its process runs, and a dead one is found out after one time to
 * live, however far apart the clocks of the two machines are.
 *
 * A mistake costs a live transaction its commit, never data: rolling back is a conditional mutation
 * of the primary, and so is the commit (P26).
 */
import type { Clock } from '../../base/index.ts';
import type { Timestamp } from '../../bigtable/index.ts';
import type { Lock } from './lock.ts';

export interface LockWatch {
  /**
   * Whether the heartbeat has not changed for the lock's time to live. The age is the time between
   * the first sight of this heartbeat and `askedMs`, when the read that returned the lock was sent.
   * The arrival of the answer does not count: a slow answer shows the lock as it was long ago.
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
