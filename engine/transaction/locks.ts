/**
 * Locks, and how processes learn whether the owner of a lock still lives.
 *
 *     owner   ─▶ lock cell: "contains the location of primary lock" (Figure 5), and what a process
 *                that meets it needs to decide about it
 *             ─▶ heartbeat: the owner counts up a number in its primary's lock
 *     another ─▶ watch: the number has not changed for the lock's time to live: presumed dead
 *
 * The lock's timestamp is its transaction's start timestamp, which identifies the transaction.
 * resolve-lock.ts decides what to do about the lock of a dead owner.
 */
import { assert, BoundedMap, bytesOf, type Clock, PercolatorError, textOf } from '../base/index.ts';
import type { Bigtable, Cell, Timestamp } from '../bigtable/index.ts';
import {
  type CellAddress,
  describeCell,
  isTimestamp,
  LOCK,
  type WriteOperation,
  placeOf,
  type Touched,
} from './columns.ts';

export interface Lock {
  /** Start timestamp of the transaction that holds it. */
  readonly startTimestamp: Timestamp;
  /** The cell that decides; in the primary's own lock, its own address (P15: with the table). */
  readonly primary: CellAddress;
  readonly operation: WriteOperation;
  /** For a touch (a lock record): the version that stays current. */
  readonly touched?: Touched | undefined;
  /** Liveness token of the process that wrote it. */
  readonly owner: string;
  /**
   * The owner's wall-clock time when its commit began: all locks of a transaction have the same
   * one. It is for people who inspect old locks, and decides nothing (P24, two machines' clocks).
   */
  readonly wallMs: number;
  /** Milliseconds without a change of `heartbeat` after which processes presume the owner dead. */
  readonly timeToLiveMs: number;
  /**
   * Counted up by a live owner in the primary's lock; in secondaries it stays 0 (P25, late
   * heartbeats).
   */
  readonly heartbeat: number;
}

type Encoded = Omit<Lock, 'startTimestamp' | 'primary'> & {
  readonly primary: [string, string, string];
};

export function encodeLock(lock: Lock): Uint8Array {
  const { startTimestamp: _, primary, ...rest } = lock;
  const encoded: Encoded = { primary: [primary.table, primary.row, primary.column], ...rest };
  return bytesOf(JSON.stringify(encoded));
}

export function decodeLock(cell: Cell): Lock {
  const encoded = JSON.parse(textOf(cell.value)) as Encoded;
  const [table, row, column] = encoded.primary;
  return { ...encoded, startTimestamp: cell.timestamp, primary: { table, row, column } };
}

/**
 * Undefined if the storage has other bytes than this engine writes: what they tell of a primary
 * cannot be relied on. fsck reports them.
 */
export function readLock(cell: Cell): Lock | undefined {
  try {
    const lock = decodeLock(cell);
    const { table, row, column } = lock.primary;
    const texts = [table, row, column, lock.owner].every((text) => typeof text === 'string');
    const numbers = [lock.wallMs, lock.timeToLiveMs, lock.heartbeat].every(Number.isFinite);
    const isValid = texts && numbers && table !== '' && hasValidOperation(lock);
    return isValid ? lock : undefined;
  } catch {
    return undefined;
  }
}

/** @throws TABLE_MISMATCH if the storage has other bytes than this engine writes */
export function lockIn(cell: Cell, address: CellAddress): Lock {
  const lock = readLock(cell);
  if (lock !== undefined) return lock;
  const message = `the lock of ${describeCell(address)} cannot be decoded; fsck says more`;
  throw new PercolatorError('TABLE_MISMATCH', message);
}

function hasValidOperation({ operation, touched }: Lock): boolean {
  if (operation !== 'touch') return operation === 'put' || operation === 'delete';
  return isTimestamp(touched?.dataTimestamp) && isTimestamp(touched?.changedTimestamp);
}

/** Whether the lock, found in `cell`, is its transaction's primary. */
export function isPrimary(lock: Lock, cell: CellAddress): boolean {
  const { primary } = lock;
  assert(primary.table !== '', 'a lock names the table of its primary');
  return primary.table === cell.table && primary.row === cell.row && primary.column === cell.column;
}

/*
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
 * One beat may be lost, and the next one may come late, before another process may presume this
 * one dead.
 */
function intervalMs(lock: Lock): number {
  return lock.timeToLiveMs / 3;
}

/*
 * Decides when a lock's owner is presumed dead, trusting no clock but this process's own (P24).
 *
 * A lock's age counts from the moment when this process first saw it with its current heartbeat. A
 * live owner increments the heartbeat of its primary's lock, which restarts the age. So a long
 * transaction is safe as long as its process runs, and a dead one is found out after one time to
 * live, however far apart the clocks of the two machines are.
 *
 * A mistake costs a live transaction its commit, never data: rolling back is a conditional mutation
 * of the primary, and so is the commit (P26, presumed dead, alive).
 */

export interface LockWatch {
  /**
   * Whether the heartbeat has not changed for the lock's time to live. The age is the time between
   * the first sight of this heartbeat and `askedMs`, when the read that returned the lock was sent.
   * The arrival of the answer does not count: a slow answer shows the lock as it was long ago.
   */
  isExpired(lock: Lock, askedMs: number): boolean;
}

interface LockSighting {
  readonly heartbeat: number;
  readonly sinceMs: number;
}

/** Sightings kept; beyond that the oldest are forgotten, and their locks' ages start anew. */
const SIGHTINGS_MAX = 10_000;

export function createLockWatch(clock: Clock): LockWatch {
  const sightings = new BoundedMap<Timestamp, LockSighting>(SIGHTINGS_MAX);

  function remember(lock: Lock): LockSighting {
    const sighting = { heartbeat: lock.heartbeat, sinceMs: clock.monotonicMs() };
    sightings.set(lock.startTimestamp, sighting);
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
