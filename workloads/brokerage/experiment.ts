/**
 * Figure 9: what the brokerage costs, from low load to saturation, on Percolator and on PostgreSQL.
 *
 * 1. Load all systems: Percolator's stores and PostgreSQL. Then start the clients of each, which
 *    serve all runs.
 * 2. Run each at full speed (unpaced), in an order drawn from the seed.
 * 3. Collect the garbage that step 2 has left. Then climb the ladder (paced): loads relative to
 *    that maximum, system by system in rounds, in orders drawn from the seed.
 * 4. Stop the clients and check every database. If one is wrong, no system has numbers.
 * 5. On copies of the loaded embedded store, measure the reads that batching and prefetching save,
 *    and the update of the broker in three modes.
 */
import path from 'node:path';
import { createRandom } from '#engine';
import type { FindingsParts } from '#results';
import type { Measuring } from '#harness';
import type { Context } from './context.ts';
import { measureBrokerModes } from './broker-modes.ts';
import { findingsOf } from './findings.ts';
import type { Plan } from './plan.ts';
import { createPopulation } from './population/index.ts';
import { measureReads } from './reads.ts';
import { noResults } from './results.ts';
import { loadStore } from './systems/percolator-database.ts';
import { targetsOf } from './targets.ts';
import { measureSystems } from './measure-systems.ts';

/**
 * Resolves to the findings, which have no numbers if a check found any system wrong. Rejects if the
 * run fails or is interrupted.
 */
export async function measureFigure9(plan: Plan, measuring: Measuring): Promise<FindingsParts> {
  const { run, progress, signal, work } = measuring;
  const population = createPopulation(plan.scale, plan.seed);
  const results = noResults();
  const random = createRandom(plan.seed).fork('order');
  await measureAll({ plan, population, work, random, progress, signal, results });
  run.describe({ limitations: [...results.missing, ...run.record.limitations] });
  return { ...findingsOf(results), targets: targetsOf(plan, results) };
}

async function measureAll(context: Context): Promise<void> {
  const { plan, population, work, progress, signal, results } = context;
  const { paced, unpaced, reads, brokers } = plan.parts;
  const loaded = path.join(work, 'loaded');
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
