/**
 * Heartbeats: a live owner shows that it is alive by changing its primary's lock (section 2.2:
 * "workers periodically update this wall time while committing"; here a counter, P24).
 *
 * Only the primary's lock beats, because only the primary is checked (P25). Beating starts when the
 * primary's prewrite is sent: the lock may be in the storage long before the answer arrives. Beats
 * bypass all batching, where a call without an answer holds up the next ones. One loop serves every
 * commit of an open database and runs only while there are any; most commits end long before their
 * first beat.
 *
 * A beat is conditional on the lock still being there: a beat that arrives late, after the commit,
 * must not bring the lock back.
 *
 * The loop does not keep the process alive: a commit in flight does, by what it waits for.
 *
 * Until `stop`, the loop cannot end while there is a lock to beat for: only a clock that throws
 * could end it, and every beat catches its own failures. A process whose beats do not arrive learns
 * it from its commit: ROLLED_BACK.
 */
import type { Clock } from '../../base/index.ts';
import type { Bigtable } from '../../bigtable/index.ts';
import { placeOf, LOCK } from '../columns.ts';
import { encodeLock, type Lock } from './lock.ts';

export interface Heartbeats {
  /** Starts beating for a primary's lock; the returned function stops it. */
  start(lock: Lock): () => void;
  /** Ends the loop at once, so that nothing keeps the process alive. */
  stop(): void;
}

interface Beating {
  lock: Lock;
  dueMs: number;
  /** Beats without an answer. */
  unanswered: number;
}

/**
 * Beats in flight for one lock. Where mutations queue, more would fill the queue. With fewer, slow
 * answers stop the beats of a live owner: these 16 last until answers take more than five times the
 * time to live.
 */
const UNANSWERED_MAX = 16;

export function createHeartbeats(store: Bigtable, clock: Clock): Heartbeats {
  const beating = new Set<Beating>();
  const stopped = new AbortController();
  let running = false;

  async function beatAll(): Promise<void> {
    running = true;
    while (beating.size > 0 && !stopped.signal.aborted) {
      let nextMs = Infinity; // A loop, because `Math.min` does not take arguments without limit.
      for (const { dueMs } of beating) nextMs = Math.min(nextMs, dueMs);
      const restMs = Math.max(1, nextMs - clock.monotonicMs());
      await clock.sleep(restMs, stopped.signal, { background: true });
      const nowMs = clock.monotonicMs();
      // Beats are not awaited: one slow answer must not keep the other locks from beating.
      for (const one of beating) if (one.dueMs <= nowMs) void beat(one);
    }
    running = false;
  }

  async function beat(one: Beating): Promise<void> {
    one.dueMs = clock.monotonicMs() + intervalMs(one.lock);
    if (one.unanswered >= UNANSWERED_MAX) return;
    one.unanswered++;
    one.lock = { ...one.lock, heartbeat: one.lock.heartbeat + 1 };
    const { primary, startTimestamp } = one.lock;
    const cell = placeOf(LOCK, primary.column);
    const value = encodeLock(one.lock);
    try {
      await store.checkAndMutateRow({
        table: primary.table,
        row: primary.row,
        anyOf: [{ ...cell, from: startTimestamp, to: startTimestamp }],
        ifFound: [{ kind: 'set', ...cell, timestamp: startTimestamp, value }],
        provisional: true, // A power failure ends its process, too.
      });
    } catch {
      // A failed beat costs nothing now; if none succeeds, the transaction will be rolled back.
    } finally {
      one.unanswered--;
    }
  }

  return {
    start: (lock) => {
      const one: Beating = { lock, dueMs: clock.monotonicMs() + intervalMs(lock), unanswered: 0 };
      beating.add(one);
      if (!running) void beatAll();
      return () => {
        beating.delete(one);
      };
    },
    stop: () => {
      stopped.abort();
    },
  };
}

/**
 * One beat may be lost, and the next one may come late, before another process may take this one
 * for dead.
 */
function intervalMs(lock: Lock): number {
  return lock.timeToLiveMs / 3;
}
