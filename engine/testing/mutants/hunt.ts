/**
 * Hunts a mutant: simulated runs on the engine with its mistake in it, seed after seed, until a judge
 * convicts it. A seed counts only if the engine as it is passes it.
 */
import { simulate } from '../simulation/index.ts';
import { breed } from './breed.ts';
import type { Mutant } from './mutant.ts';

export interface Catch {
  /** What convicted it: `snapshot isolation: stale read`. */
  readonly claim: string;
  readonly message: string;
  readonly seed: number;
  /** Runs until then, this one included. */
  readonly runs: number;
}

/** Undefined if none of the seeds catches it. */
export async function hunt(mutant: Mutant, seeds: Iterable<number>): Promise<Catch | undefined> {
  const mutated = await breed(mutant);
  let runs = 0;
  for (const seed of seeds) {
    runs++;
    const [violation] = (await mutated.simulate(mutated.planOf(seed))).violations;
    if (violation === undefined) continue;
    const innocent = (await simulate(mutated.planOf(seed))).violations.length === 0;
    if (innocent) return { ...violation, seed, runs };
  }
  return undefined;
}
