/** One thread of simulations.ts: performs its simulation, and posts the result. */
import { parentPort, workerData } from 'node:worker_threads';
import { createSyntheticDocuments } from '../crawl-rate/documents/index.ts';
import { simulateBrokerage } from './figure-9/brokerage.ts';
import { measureCrawl } from './figure-7/crawl.ts';
import { Repository } from './figure-7/repository.ts';
import type { CrawlSimulation, Performed, Simulation } from './simulations.ts';

// Conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

const simulation = workerData as Simulation;
parentPort?.postMessage(
  simulation.kind === 'crawl'
    ? await crawl(simulation)
    : ({ result: await simulateBrokerage(simulation.plan) } satisfies Performed),
);

async function crawl({ documents, clustered, plan }: CrawlSimulation): Promise<Performed> {
  const repository = new Repository(createSyntheticDocuments(documents), clustered);
  return { result: await measureCrawl(plan, repository), clustered: repository.clustered };
}
