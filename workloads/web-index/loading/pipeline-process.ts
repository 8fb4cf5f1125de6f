/**
 * The process that loads a crawl and runs the observers: "Each observer is explicitly constructed
 * in the main() of the worker binary" (section 2.4).
 *
 * It may be killed at any moment. What it had begun is taken up by the next one that is started on
 * the same store: captures that are there already change nothing, and dirty cells are found by the
 * scan.
 */
import { openPercolator, openStore } from '#engine';
import { databaseProbes, live, LiveTimes, type Probe, workerProbes } from '#harness';
import { UsageError } from '#results';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { serve, tellParent } from '../../harness/processes/index.ts';
import { describeDamage, readCaptures, type ServedPage } from '../model/index.ts';
import { createObservers, loadCrawl, READ_AHEAD, untilAtRest } from '../percolator/pipeline.ts';
import { createTables } from '../percolator/tables.ts';
import type { ExportTarget } from '../serving/serving-index.ts';
import { openServingIndex } from '../serving/sqlite-index.ts';
import type { FromPipeline, PipelineOptions } from './load.ts';
import { rebuildIndex } from '../percolator/exporting.ts';
import { Stages } from './load-status.ts';

/** The time between two messages about the stages. */
const TELL_MS = 250;

/** How long each address takes from its crawl to the searcher, in a load that is watched. */
class Way implements ExportTarget {
  readonly #index: ExportTarget;
  readonly #times = new LiveTimes();
  /** When the addresses that cannot be found yet were crawled. */
  readonly #crawledUs = new Map<string, number>();
  #found = 0;

  constructor(index: ExportTarget) {
    this.#index = index;
  }

  crawled(url: string): void {
    this.#crawledUs.set(url, monotonicUs());
  }

  async put(page: ServedPage, version: number): Promise<void> {
    await this.#index.put(page, version);
    for (const url of [page.url, ...page.duplicates]) {
      const crawledUs = this.#crawledUs.get(url);
      if (crawledUs === undefined) continue;
      this.#crawledUs.delete(url);
      this.#found++;
      this.#times.record(Math.max(1, Math.round(monotonicUs() - crawledUs)));
    }
  }

  remove(url: string, version: number): Promise<void> {
    return this.#index.remove(url, version);
  }

  probes(): readonly Probe[] {
    return [
      { panel: 'throughput', series: 'addresses searchable', rate: () => this.#found },
      {
        panel: 'waiting',
        series: 'crawled and not yet searchable',
        level: () => this.#crawledUs.size,
      },
      { panel: 'latency', series: 'from crawl to search', times: this.#times },
    ];
  }
}

await serve(async ({ store: address, indexFolder, inputs }: PipelineOptions) => {
  const store = await openStore(address);
  const percolator = await openPercolator({ store, ...READ_AHEAD });
  await createTables(percolator);
  const index = await openServingIndex(indexFolder);
  await rebuildIndex(percolator, index);
  const stages = new Stages();
  const way = new Way(index);
  const worker = percolator.startWorker(createObservers(live.isWatched ? way : index), {
    onCommitted: stages.committed,
    onFailure: ({ cell: { table, column }, error, parked }) => {
      if (!parked) return;
      const sentence = `an observer has failed too often on a cell of ${table}:${column}: ${String(error)}`;
      tell({ kind: 'given up', sentence });
    },
  });
  let captures = 0;
  const shown = live.show([
    ...databaseProbes(percolator),
    ...workerProbes([worker]),
    { panel: 'throughput', series: 'captures crawled', rate: () => captures },
    ...way.probes(),
  ]);
  const tellStages = (): void => {
    const results = index.count();
    tell({ kind: 'stages', captures, results, stages: stages.counts(results) });
  };
  const ticker = setInterval(tellStages, TELL_MS);
  const stopping = new AbortController();

  const load = async (): Promise<void> => {
    const onDamage = (damage: Parameters<typeof describeDamage>[0]): void =>
      tell({ kind: 'left out', sentence: `${describeDamage(damage)}; it is left out.` });
    const onLoaded = ({ url }: { readonly url: string }): void => {
      captures++;
      stages.captured(url);
      if (live.isWatched) way.crawled(url);
    };
    const onNote = (sentence: string): void => tell({ kind: 'in doubt', sentence });
    const crawl = readCaptures(inputs, { onDamage, onNote });
    await loadCrawl(percolator, crawl, { onLoaded, signal: stopping.signal });
    tellStages();
    tell({ kind: 'loaded' });
    await untilAtRest(worker, stopping.signal);
    tellStages();
    tell({ kind: 'at rest', parked: worker.counters.parked });
  };

  const loading = load().catch((error: unknown) => {
    if (stopping.signal.aborted) return;
    if (!(error instanceof UsageError)) throw error;
    tell({ kind: 'refused', sentence: error.message });
  });
  return {
    stop: async () => {
      stopping.abort();
      clearInterval(ticker);
      shown[Symbol.dispose]();
      await worker.stop();
      await loading;
      await index[Symbol.asyncDispose]();
      await percolator.close();
      await store.close();
    },
  };
});

function tell(message: FromPipeline): void {
  tellParent(message);
}
