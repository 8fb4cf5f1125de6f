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
  /** Called for each mutant when its hunt ends. */
  readonly onHunted?: ((hunted: HuntResult) => void) | undefined;
}

/** In the order of `mutants`, without those that were left when `signal` aborted. */
export async function huntAll(
  mutants: readonly Mutant[],
  options: HuntOptions,
): Promise<readonly HuntResult[]> {
  const waiting = [...mutants];
  const hunted = new Map<string, HuntResult>();
  async function work(): Promise<void> {
    const thread = new Worker(new URL('hunt-thread.ts', import.meta.url));
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      if (options.signal?.aborted === true) break;
      const caught = await ask(thread, { name: mutant.name, seeds: options.seedsOf(mutant) });
      hunted.set(mutant.name, { mutant, caught });
      options.onHunted?.({ mutant, caught });
    }
    await thread.terminate();
  }
  await Promise.all(Array.from({ length: options.jobs }, work));
  return mutants.flatMap(({ name }) => hunted.get(name) ?? []);
}

async function ask(thread: Worker, hunt: Hunt): Promise<Catch | undefined> {
  const answered = once(thread, 'message'); // Rejects if the thread ends with an error.
  thread.postMessage(hunt);
  const [caught] = (await answered) as [Catch | undefined];
  return caught;
}
