/**
 * `--profile-cpu`: where the client's CPU time goes, for each case of figure 8 and each message of
 * a transaction.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BenchStore } from './bench-store.ts';
import type { Case, Slices } from './case.ts';
import { closedLoop } from '../harness/load/closed-loop.ts';
import { type CpuProfile, profileCpu } from './cpu-profile.ts';
import { figure8Cases } from './figure-8-cases.ts';
import { rateOf, type MeasureOptions } from './figure-8.ts';
import type { Plan } from './plan.ts';

/** A profile takes as long as this many slices: with fewer samples the small parts are noise. */
const SLICES = 6;
/** Characters of the store's name in the name of a file. */
const STORE_LENGTH = 100;

/** Profiles by the names of their cases; each is also written into the folder of the run. */
export async function profileCases(
  bench: BenchStore,
  plan: Plan,
  { signal, onPhase }: MeasureOptions,
  slices: Slices,
): Promise<ReadonlyMap<string, CpuProfile>> {
  const profiles = new Map<string, CpuProfile>();
  for (const one of figure8Cases(bench.percolator, bench.data, bench).flat()) {
    const first = bench.nextOperations();
    for (let step: Case | undefined = one; step !== undefined; step = step.followedBy) {
      onPhase(`${bench.name}: profile of ${step.name}`);
      const wanted = rateOf(slices, step.name).value * plan.seconds * SLICES;
      const operations = Math.max(1, Math.min(plan.rows, Math.round(wanted)));
      const { operate, prepare, settle } = step;
      await prepare?.(first, operations);
      // A case with a follower, and the follower that continues its work, use every row once.
      const run = { first, operations: one.followedBy === undefined ? operations : plan.rows };
      const profile = await profileCpu(run.operations, async () => {
        await closedLoop(operate, { ...run, concurrency: plan.concurrency, signal });
        await settle?.();
      });
      profiles.set(step.name, profile);
      writeFileSync(path.join(plan.out, profileFile(bench.name, step.name)), profile.json);
    }
  }
  return profiles;
}

/**
 * An address of a store may have more than the 255 characters of a file name: its middle is cut.
 */
export function profileFile(store: string, name: string): string {
  const half = STORE_LENGTH / 2;
  const shown =
    store.length <= STORE_LENGTH ? store : `${store.slice(0, half)} ${store.slice(-half)}`;
  const words = `${shown} ${name}`;
  return `${words.replaceAll(/[^a-z0-9]+/gi, '-').toLowerCase()}.cpuprofile`;
}
