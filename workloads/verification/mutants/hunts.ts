/**
 * Hunts many mutants on several cores: each thread takes the next mutant when it has finished one.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Catch } from './hunt.ts';
import type { Mutant } from './mutant.ts';

/** The task of a thread. */
export interface Hunt {
  readonly name: string;
  readonly seeds: readonly number[];
}

export interface HuntResult {
  readonly mutant: Mutant;
  /** Undefined if no seed caught the mutant. */
  readonly caught: Catch | undefined;
}

export interface HuntOptions {
  /** The seeds for each mutant, in the order in which they are tried. */
  seedsOf(mutant: Mutant): readonly number[];
  /** The number of threads. */
  readonly jobs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called when a hunt ends, with the number of those that have ended. */
  readonly onHunted?: ((done: number, result: HuntResult) => void) | undefined;
}

/**
 * In the order of `mutants`, without those that were left when `signal` aborted. If a hunt cannot
 * be made, rejects with its error, and no other hunt begins.
 */
export async function huntAll(
  mutants: readonly Mutant[],
  options: HuntOptions,
): Promise<readonly HuntResult[]> {
  const waiting = [...mutants];
  const hunted = new Map<string, HuntResult>();
  async function work(): Promise<void> {
    const thread = new Worker(new URL('hunt-thread.ts', import.meta.url));
    try {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const hunt = { name: mutant.name, seeds: options.seedsOf(mutant) };
        const answer = await ask(thread, hunt, options.signal);
        if (answer === 'interrupted') break;
        const result = { mutant, ...answer };
        hunted.set(mutant.name, result);
        options.onHunted?.(hunted.size, result);
      }
    } catch (error) {
      waiting.length = 0;
      throw error;
    } finally {
      await thread.terminate();
    }
  }
  await Promise.all(Array.from({ length: Math.min(options.jobs, mutants.length) }, work));
  return mutants.flatMap(({ name }) => hunted.get(name) ?? []);
}

async function ask(
  thread: Worker,
  hunt: Hunt,
  signal: AbortSignal | undefined,
): Promise<Pick<HuntResult, 'caught'> | 'interrupted'> {
  // Rejects with the thread's error.
  const answered = once(thread, 'message', { ...(signal && { signal }) });
  thread.postMessage(hunt);
  try {
    const [caught] = (await answered) as [Catch | undefined];
    return { caught };
  } catch (error) {
    if (signal?.aborted === true) return 'interrupted';
    throw error;
  }
}
