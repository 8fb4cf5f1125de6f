/**
 * The pipeline of the bench: loads what has arrived, runs the observers, and sees what is served.
 */
import { openPercolator, openStore } from '#engine';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { serve, tellParent } from '../../harness/processes/index.ts';
import { copyCounts, countCalls, countsPerUnit } from '../../harness/stores/store-counts.ts';
import { checkAtRest } from '../check/index.ts';
import type { Capture } from '../model/index.ts';
import {
  createObservers,
  createTables,
  loadCapture,
  loadCrawl,
  untilAtRest,
} from '../percolator/index.ts';
import { openServingIndex, type ServingIndex } from '../serving/index.ts';
import { openBenchCrawl } from './crawl.ts';
import { ArrivalLoader, IN_FLIGHT } from './arrival-loader.ts';
import type { BenchPipelineOptions, FinishedAnswer, LoadedAnswer, ToPipeline } from './messages.ts';
import { Sightings } from './sightings.ts';

await serve<ToPipeline>(async (options: BenchPipelineOptions) => {
  const crawl = await openBenchCrawl(options.crawl);
  const opened = await openStore(options.store);
  const { store, counts } = countCalls(opened);
  const percolator = await openPercolator({ store });
  await createTables(percolator);
  const index = await openServingIndex(options.indexFolder);
  const sightings = new Sightings();
  const worker = percolator.startWorker(createObservers(watched(index, sightings)));
  const before = { counts: copyCounts(counts), arrivals: 0 };
  const loader = new ArrivalLoader((arrival) => loadCapture(percolator, crawl.recrawl(arrival)));

  const load = async (): Promise<LoadedAnswer> => {
    const startedUs = monotonicUs();
    const first = copyCounts(counts);
    await loadCrawl(percolator, crawl.repository(), { inFlight: IN_FLIGHT });
    await untilAtRest(worker);
    const seconds = (monotonicUs() - startedUs) / 1e6;
    return { seconds, counts: countsPerUnit(counts, first, crawl.documents) };
  };

  const finish = async (): Promise<FinishedAnswer> => {
    await loader.done();
    await untilAtRest(worker);
    const recrawls = Math.max(1, loader.end - before.arrivals);
    const perRecrawl = countsPerUnit(counts, before.counts, recrawls);
    const captures: Capture[] = [...crawl.repository()];
    for (let arrival = 0; arrival < loader.end; arrival++) captures.push(crawl.recrawl(arrival));
    const pages = new Map([...index.pages()].map(({ page }) => [page.url, page]));
    const serving = { pages, versions: index.versions() };
    const findings = await checkAtRest(percolator, { captures, serving });
    return { sightings: sightings.all, counts: perRecrawl, findings };
  };

  return {
    onMessage: (message) => {
      if (message.kind === 'load') void load().then(tellParent);
      if (message.kind === 'arrived') loader.arrived(message.end);
      if (message.kind === 'finish') void finish().then(tellParent);
      if (message.kind !== 'count from') return;
      before.counts = copyCounts(counts);
      before.arrivals = message.arrival;
    },
    stop: async () => {
      await worker.stop();
      await index[Symbol.asyncDispose]();
      await percolator.close();
      await opened.close();
    },
  };
});

/** Notes when each page can be found. */
function watched(index: ServingIndex, sightings: Sightings): Pick<ServingIndex, 'put' | 'remove'> {
  return {
    put: async (page, version) => {
      await index.put(page, version);
      sightings.add(page, monotonicUs());
    },
    remove: (url, version) => index.remove(url, version),
  };
}
