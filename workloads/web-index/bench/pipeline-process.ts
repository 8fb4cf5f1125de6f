/**
 * The pipeline of the bench: loads what has arrived, runs the observers, and sees what is served.
 */
import { openPercolator, openStore } from '#engine';
import { databaseProbes, live, workerProbes } from '#harness';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { serve, tellParent } from '../../harness/processes/index.ts';
import { copyCounts, countCalls, countsPerUnit } from '../../harness/watched-stores.ts';
import { checkAtRest } from '../check/check.ts';
import type { Capture } from '../model/index.ts';
import {
  createObservers,
  loadCapture,
  loadCrawl,
  READ_AHEAD,
  untilAtRest,
} from '../percolator/pipeline.ts';
import { createTables } from '../percolator/tables.ts';
import type { ExportTarget } from '../serving/serving-index.ts';
import { openServingIndex } from '../serving/sqlite-index.ts';
import { openBenchCrawl } from './crawl.ts';
import { Sightings } from './freshness.ts';
import type { BenchPipelineOptions, FinishedAnswer, LoadedAnswer, ToPipeline } from './measure.ts';

/** Captures that are loaded at the same time. The others wait, and latency includes the wait. */
const IN_FLIGHT = 64;

/** Starts arrivals in their order, at most `IN_FLIGHT` at a time. A failure ends the process. */
class ArrivalLoader {
  /** All arrivals before this number have come. */
  end = 0;
  #next = 0;
  readonly #loading = new Set<Promise<unknown>>();
  readonly #load: (arrival: number) => Promise<unknown>;

  constructor(load: (arrival: number) => Promise<unknown>) {
    this.#load = load;
  }

  arrived(end: number): void {
    this.end = end;
    this.#fill();
  }

  async done(): Promise<void> {
    while (this.#loading.size > 0) await Promise.race(this.#loading);
  }

  #fill(): void {
    while (this.#next < this.end && this.#loading.size < IN_FLIGHT) {
      const loading = this.#load(this.#next++).then(() => {
        this.#loading.delete(loading);
        this.#fill();
      });
      this.#loading.add(loading);
    }
  }
}

await serve<ToPipeline>(async (options: BenchPipelineOptions) => {
  const crawl = await openBenchCrawl(options.crawl);
  const opened = await openStore(options.store);
  const { store, counts } = countCalls(opened);
  const percolator = await openPercolator({ store, ...READ_AHEAD });
  await createTables(percolator);
  const index = await openServingIndex(options.indexFolder);
  const sightings = new Sightings();
  const worker = percolator.startWorker(createObservers(watched(index, sightings)));
  const shown = live.show([
    ...databaseProbes(percolator),
    ...workerProbes([worker]),
    ...sightings.probes(monotonicUs),
  ]);
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
      if (message.kind === 'arrived') {
        for (let n = loader.end; live.isWatched && n < message.end; n++) {
          sightings.arrived(crawl.recrawl(n).url, crawl.editionAt(n), monotonicUs());
        }
        loader.arrived(message.end);
      }
      if (message.kind === 'finish') void finish().then(tellParent);
      if (message.kind !== 'count from') return;
      before.counts = copyCounts(counts);
      before.arrivals = message.arrival;
    },
    stop: async () => {
      shown[Symbol.dispose]();
      await worker.stop();
      await index[Symbol.asyncDispose]();
      await percolator.close();
      await opened.close();
    },
  };
});

/** Notes when each page can be found. */
function watched(index: ExportTarget, sightings: Sightings): ExportTarget {
  return {
    put: async (page, version) => {
      await index.put(page, version);
      sightings.add(page, monotonicUs());
    },
    remove: (url, version) => index.remove(url, version),
  };
}
