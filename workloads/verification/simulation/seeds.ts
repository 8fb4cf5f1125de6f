/**
 * Simulates many seeds on several cores: each thread takes every n-th seed, and reports its
 * progress.
 */
import { runThread } from '../../harness/processes/thread.ts';
import { EVENT_FAULTS, GROUP_FAULTS, MESSAGE_FAULTS } from './knobs.ts';
import type { PlanExtras } from './plan.ts';
import type { Result, RunCounts } from './simulate.ts';
import { allWaits } from './waits.ts';
import type { FaultCounts } from './world.ts';

export interface Seeds extends PlanExtras {
  readonly from: number;
  /** Inclusive. */
  readonly to: number;
  /** The number of threads. */
  readonly jobs: number;
}

/** The task of a thread. */
export interface Share {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly extras: PlanExtras;
}

/**
 * Resolves with the tally of all seeds, or of those that were finished when `signal` aborted.
 * @param onTally called with the tally so far, a few times a second
 */
export async function simulateSeeds(
  { from, to, jobs, ...extras }: Seeds,
  onTally: (tally: Tally) => void,
  signal?: AbortSignal,
): Promise<Tally> {
  let tally = NOTHING;
  const shares = Array.from({ length: Math.min(jobs, to - from + 1) }, (_, i): Share => {
    return { from: from + i, to, step: jobs, extras };
  });
  const onMessage = (done: Tally): void => {
    tally = add(tally, done);
    onTally(tally);
  };
  const program = new URL('seeds-thread.ts', import.meta.url);
  const threads = shares.map(async (data) => {
    try {
      await runThread(program, { data, signal, onMessage });
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  });
  await Promise.all(threads);
  return tally;
}

/* The results of many runs: how much was simulated, and which faults ever occurred. */

export interface FailedRun {
  readonly seed: number;
  readonly claim: string;
  readonly message: string;
}

export interface Tally {
  readonly runs: number;
  readonly counts: RunCounts;
  readonly faults: FaultCounts;
  readonly stopped: Result['stopped'];
  /** Milliseconds of virtual time. */
  readonly lastedMs: number;
  /** The first violation of each run that has one. */
  readonly failed: readonly FailedRun[];
}

export const NOTHING: Tally = {
  runs: 0,
  counts: {
    transactions: 0,
    commits: 0,
    conflicts: 0,
    unknown: 0,
    rolledForward: 0,
    rolledBack: 0,
    observerRuns: 0,
    hung: 0,
    parked: 0,
    replayed: 0,
    tablesDropped: 0,
    cellsCollected: 0,
  },
  faults: {},
  stopped: {},
  lastedMs: 0,
  failed: [],
};

export function tallyOf({ plan, counts, faults, stopped, lastedMs, violations }: Result): Tally {
  const [first] = violations;
  const failed = first === undefined ? [] : [{ seed: plan.seed, ...first }];
  return { runs: 1, counts, faults, stopped, lastedMs, failed };
}

export function add(a: Tally, b: Tally): Tally {
  return {
    runs: a.runs + b.runs,
    counts: addCounts(a.counts, b.counts),
    faults: addCounts(a.faults, b.faults),
    stopped: addCounts(a.stopped, b.stopped),
    lastedMs: a.lastedMs + b.lastedMs,
    failed: [...a.failed, ...b.failed].toSorted((one, other) => one.seed - other.seed),
  };
}

/** Faults that never occurred in these runs: nothing is known about them. */
export function notCovered({ faults }: Tally): readonly string[] {
  return [...MESSAGE_FAULTS, ...GROUP_FAULTS, ...EVENT_FAULTS].filter(
    (fault) => (faults[fault] ?? 0) === 0,
  );
}

/** Places of work outside of transactions at which no process was stopped. */
export function notStoppedAt({ stopped }: Tally): readonly string[] {
  return allWaits().filter((place) => stopped[place] === undefined);
}

function addCounts<Counts extends object>(a: Counts, b: Counts): Counts {
  const sum: Record<string, number> = {};
  for (const counts of [a, b]) {
    for (const [name, count] of Object.entries(counts)) {
      sum[name] = (sum[name] ?? 0) + Number(count);
    }
  }
  return sum as Counts;
}
