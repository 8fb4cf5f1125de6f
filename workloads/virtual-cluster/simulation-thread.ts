/** One thread of simulations.ts: performs its simulation, and posts the result. */
import { parentPort, workerData } from 'node:worker_threads';
import { createSyntheticDocuments } from '../crawl-rate/documents/index.ts';
import { simulateBrokerage } from './figure-9/brokerage.ts';
import { measureCrawl } from './figure-7/crawl.ts';
import { type ClusteredKeys, Repository } from './figure-7/repository.ts';
import type { CrawlSimulation, Performed, ThreadData } from './simulations.ts';

// Conflicts are errors, too, and no code reads their stack traces.
Error.stackTraceLimit = 0;

const { simulation, clustered: known } = workerData as ThreadData;
parentPort?.postMessage(
  simulation.kind === 'crawl'
    ? await crawl(simulation, known)
    : ({ result: await simulateBrokerage(simulation.plan) } satisfies Performed),
);

async function crawl(
  { documents, plan }: CrawlSimulation,
  clustered: ClusteredKeys | undefined,
): Promise<Performed> {
  const repository = new Repository(createSyntheticDocuments(documents), clustered);
  return { result: await measureCrawl(plan, repository), clustered: repository.clustered };
}
