/**
 * The cuts of a round, drawn from its seed: what is cut from what, and for how long.
 *
 *     zookeeper   a region server from ZooKeeper alone (HBase)
 *     store       the leading oracle from all region servers (HBase)
 *     leader      the host of the leading oracle from all others
 *     host        a host from all others
 *     pair        two hosts from each other
 *     one-way     what one host sends to another one; the other direction stays open
 *     flapping    a host from all others, again and again, for moments
 *     killed      all processes of a host are killed at once, and started again
 *     stopped     all processes of a host stand still
 *
 * Each of these comes once, in an order of its own, before one comes again. One is over, and
 * everything works again (`LIVENESS_MS`), before the next one begins; during some, a process is
 * killed or stopped elsewhere (faults.ts).
 *
 * Lengths are drawn so that each lease ends in some cuts and outlasts others.
 */
import type { Random } from '#engine';
import { LEASE_TIME_TO_LIVE_MS, MESSAGE_LIFETIME_MS, ORACLE_LEASE_MS } from './plan.ts';

/** The cuts, and how findings call them. */
export const CUTS = {
  zookeeper: 'a region server from ZooKeeper alone',
  store: 'the leading oracle from its store',
  leader: 'the host of the leading oracle from all others',
  host: 'a host from all others',
  pair: 'two hosts from each other',
  'one-way': 'one direction between two hosts',
  flapping: 'a host from all others, again and again',
  killed: 'all processes of a host killed',
  stopped: 'all processes of a host stopped',
} as const;

export type CutName = keyof typeof CUTS;

/** Those that only a store of several servers has. */
const OF_SERVERS: ReadonlySet<CutName> = new Set(['zookeeper', 'store']);

export interface Cut {
  readonly what: CutName;
  /** Milliseconds between the heal of the previous cut and this one. */
  readonly afterMs: number;
  readonly forMs: number;
  /** Below 1 each: pick a host, or two, among those that the cut may hit. */
  readonly victim: number;
  readonly other: number;
  /** Whether a process is killed or stopped meanwhile. */
  readonly isDouble: boolean;
}

/** The session of the HBase that a round starts with a server of it, in milliseconds. */
export const SESSION_MS = 6_000;
/**
 * Shortest and longest cuts, in milliseconds, and how often each comes: shorter than any lease but
 * those of locks; longer than the oracle's; longer than a session of HBase; longer than any message
 * may live on HBase, so that collectors delete what it was sent for.
 */
const LENGTHS: readonly (readonly [share: number, from: number, to: number])[] = [
  [0.4, 400, ORACLE_LEASE_MS],
  [0.35, ORACLE_LEASE_MS + 500, LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS + 2_000],
  [0.2, 1.5 * SESSION_MS, 2 * SESSION_MS],
  [0.05, 20_000, 24_000],
];
const AFTER_MS = [200, 1_500] as const;
const DOUBLE = 0.25;

/** An endless schedule. @param hasServers whether the store has servers on hosts */
export function* drawCuts(random: Random, hasServers: boolean): Generator<Cut, never> {
  const names = (Object.keys(CUTS) as CutName[]).filter(
    (name) => hasServers || !OF_SERVERS.has(name),
  );
  for (;;) {
    for (const left = [...names]; left.length > 0;) {
      const [what] = left.splice(random.integer(0, left.length - 1), 1);
      if (what !== undefined) yield drawCut(random, what);
    }
  }
}

function drawCut(random: Random, what: CutName): Cut {
  const part = random.fraction();
  let sum = 0;
  const [, from, to] = LENGTHS.find(([share]) => (sum += share) > part) ?? [1, 400, 1_000];
  const drawnMs = random.integer(from, to);
  return {
    what,
    afterMs: random.integer(...AFTER_MS),
    // Before the session has ended, a region server cut from ZooKeeper misses nothing.
    forMs: what === 'zookeeper' ? Math.max(2 * SESSION_MS, drawnMs) : drawnMs,
    victim: random.fraction(),
    other: random.fraction(),
    isDouble: random.fraction() < DOUBLE,
  };
}
