/**
 * Simulates many seeds on several cores: each thread takes every n-th seed, and reports its
 * progress.
 */
import { runThread } from '../../harness/processes/thread.ts';
import { add, NOTHING, type Tally } from './tally.ts';

export interface Seeds {
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
}

/**
 * Resolves with the tally of all seeds, or of those that were finished when `signal` aborted.
 * @param onTally called with the tally so far, a few times a second
 */
export async function simulateSeeds(
  { from, to, jobs }: Seeds,
  onTally: (tally: Tally) => void,
  signal?: AbortSignal,
): Promise<Tally> {
  let tally = NOTHING;
  const shares = Array.from({ length: Math.min(jobs, to - from + 1) }, (_, i): Share => {
    return { from: from + i, to, step: jobs };
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
