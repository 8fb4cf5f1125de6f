/**
 * Figure 9: what the brokerage costs, from low load to saturation, on Percolator and on PostgreSQL.
 *
 * 1. Load all systems: embedded store, emulator, PostgreSQL. Then start the clients of each, which
 *    serve all runs.
 * 2. Run each at full speed (unpaced), in an order drawn from the seed.
 * 3. Climb the ladder (paced): loads relative to that maximum, system by system in rounds, in
 *    orders drawn from the seed.
 * 4. Stop the clients and check every database. If one is wrong, no system has numbers.
 * 5. On copies of the loaded embedded store: the reads that batching and prefetching save, and the
 *    update of the broker in three modes.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createRandom } from '#engine';
import { createRun, type Run } from '#results';
import { startProgress } from '#harness';
import type { Context } from './context.ts';
import { measureBrokerModes } from './broker-modes.ts';
import { findingsOf } from './findings.ts';
import { limitationsOf } from './limitations.ts';
import type { Plan } from './plan.ts';
import { createPopulation } from './population/index.ts';
import { measureReads } from './reads.ts';
import { noResults, type Results } from './results.ts';
import { loadStore } from './systems/percolator-database.ts';
import { targetsOf } from './targets.ts';
import { measureSystems } from './measure-systems.ts';

export interface Outcome {
  readonly run: Run;
  readonly page: string;
  readonly results: Results;
}

export async function runExperiment(
  plan: Plan,
  { signal, commandLine }: { readonly signal: AbortSignal; readonly commandLine: string },
): Promise<Outcome> {
  const population = createPopulation(plan.scale, plan.seed);
  const run = createRun(plan.out, header(plan, commandLine));
  const work = path.join(plan.out, 'work');
  const progress = startProgress();
  const results = noResults();
  const random = createRandom(plan.seed).fork('order');
  const describe = (): void =>
    run.describe({ findings: findingsOf(results), targets: targetsOf(plan, results) });
  try {
    await measureAll({ plan, population, work, random, progress, signal, results });
  } catch (error) {
    progress.end();
    describe();
    run.finish('interrupted');
    throw error;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  progress.end();
  describe();
  return { run, page: run.finish().page, results };
}

async function measureAll(context: Context): Promise<void> {
  const { plan, population, work, progress, signal, results } = context;
  const { paced, unpaced, reads, brokers } = plan.parts;
  const loaded = path.join(work, 'loaded');
  await mkdir(work, { recursive: true });
  const needsOurs = plan.systems.includes('embedded') || reads || brokers;
  if (needsOurs) {
    progress.phase('loading the embedded store', 0);
    await loadStore({ kind: 'embedded', folder: loaded }, population, signal);
  }
  if (paced || unpaced) await measureSystems(context, loaded);
  if (reads) results.reads.push(...(await measureReads(context, loaded)));
  if (brokers) results.brokers.push(...(await measureBrokerModes(context, loaded)));
  signal.throwIfAborted();
  results.isComplete = true;
}

function header(plan: Plan, commandLine: string): Parameters<typeof createRun>[1] {
  const { preset, seed, rounds, scale, engine, systems, rates, parts, processes, ...rest } = plan;
  const { out: _, brokerUpdate, ...durations } = rest;
  const measured = Object.entries(parts).flatMap(([part, is]) => (is ? [part] : []));
  return {
    experiment: 'brokerage',
    profile: preset === 'smoke' ? 'smoke' : 'custom',
    commandLine,
    parameters: {
      preset,
      ...scale,
      ...durations,
      ...engine,
      broker: brokerUpdate,
      rates: rates ?? 'shares of the maximum',
      processes: processes ?? 'one',
      systems: systems.join(', '),
      measured: measured.join(', '),
      rounds,
      seed,
    },
    seed,
    repeats: rounds,
    store: {
      name: systems.join(', '),
      durability: 'The table of each system says what a commit survives.',
    },
    limitations: limitationsOf(plan),
  };
}
