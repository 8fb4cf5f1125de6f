/**
 * Hunts a mutant: simulated runs on the engine with its mistake in it, seed after seed, until a
 * judge convicts it. A seed counts only if the unchanged engine passes it.
 */
import { createRandom } from '../../../engine/base/index.ts';
import { breed, type Worlds } from './breed.ts';
import type { Mutant } from './mutant.ts';
import * as worlds from './worlds.ts';
import { type Plan, planOf, type Result } from './worlds.ts';

export interface Catch {
  /** The claim that convicted it: `snapshot isolation: stale read`. */
  readonly claim: string;
  readonly message: string;
  readonly seed: number;
  /** Runs until then, including this one. */
  readonly runs: number;
}

/** Undefined if none of the seeds catches it. */
export async function hunt(mutant: Mutant, seeds: Iterable<number>): Promise<Catch | undefined> {
  const mutated = await breed(mutant);
  let runs = 0;
  for (const seed of seeds) {
    runs++;
    const [violation] = await violationsOf(mutated, mutant, seed);
    if (violation === undefined) continue;
    const innocent = (await violationsOf(worlds, mutant, seed)).length === 0;
    if (innocent) return { ...violation, seed, runs };
  }
  return undefined;
}

async function violationsOf(
  { simulate, simulateDisk, simulateOwners, simulateStore, runHBase, runSharedStore }: Worlds,
  mutant: Mutant,
  seed: number,
): Promise<Result['violations']> {
  const run = {
    engine: () => simulate(planFor(mutant, seed)),
    hbase: () => simulateStore(seed, mutant.cluster),
    disk: () => simulateDisk(seed, mutant.disk),
    'shared store': () => runSharedStore(seed, mutant.sockets),
    'hbase on sockets': () => runHBase(seed, mutant.sockets),
    owners: () => simulateOwners(seed, mutant.owners),
  }[mutant.world ?? 'engine'];
  return (await run()).violations;
}

/** A mutant with a load of its own meets only the faults that it favours. */
const NO_FAULTS = { messages: {}, groups: {}, events: {} };

function planFor({ knobs: overrides = {}, load }: Mutant, seed: number): Plan {
  const plan = planOf(seed);
  // Not drawn, as when most seeds were found; a mutant may ask for it.
  const drawn = { ...plan.knobs, checkBytesMax: undefined };
  const knobs = load === undefined ? drawn : { ...drawn, ...NO_FAULTS };
  const messages = { ...knobs.messages, ...overrides.messages };
  const groups = { ...knobs.groups, ...overrides.groups };
  const events = { ...knobs.events, ...overrides.events };
  const processes = load?.(createRandom(seed).fork('load')) ?? plan.processes;
  return { ...plan, processes, knobs: { ...knobs, ...overrides, messages, groups, events } };
}
