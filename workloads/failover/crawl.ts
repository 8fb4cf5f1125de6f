/**
 * The clustering of figure 7 as the load: documents arrive, workers find and cluster them.
 *
 * Documents spread over all regions (keys.ts). A document is completed when its observer has
 * committed.
 */
import { createRandom, systemClock } from '#engine';
import { formatCount, UsageError } from '#results';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
  type SyntheticDocuments,
} from '../crawl-rate/documents/index.ts';
import { loadRepository } from '../crawl-rate/percolator/load-repository.ts';
import { generate } from '../harness/load/generator.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import {
  dueUs,
  measuredFromUs,
  type Schedule,
  scheduledDocuments,
} from '../harness/load/schedule.ts';
import { closedLoop } from '../harness/load/timed-loop.ts';
import { Persistence } from './attempts.ts';
import { checkAtRest, clusteredRows } from './check.ts';
import { Crawler, type DocumentArrival } from './crawler.ts';
import { DOCUMENTS_MAX, numberOf, splitsFor } from './keys.ts';
import {
  type CheckResult,
  type OfferedLoad,
  OPEN_MAX,
  type Workload,
  type WorkloadParts,
} from './workload.ts';

export interface CrawlOptions {
  /** Documents that are there before the run. */
  readonly repository: number;
  readonly documentBytes: number;
}

export class Crawl implements Workload {
  readonly followers: readonly [] = [];
  readonly #options: CrawlOptions & WorkloadParts;
  readonly #documents: SyntheticDocuments;
  readonly #persistence: Persistence;
  readonly #crawler: Crawler;

  constructor(options: CrawlOptions & WorkloadParts) {
    const { percolator, repository, documentBytes, seed, signal } = options;
    this.#options = options;
    this.#documents = createSyntheticDocuments({ repository, documentBytes, seed });
    this.#persistence = new Persistence(percolator, createRandom(seed).fork('rests'), signal);
    this.#crawler = new Crawler(percolator, this.#documents, this.#persistence);
  }

  get arrivals(): readonly DocumentArrival[] {
    return this.#crawler.arrivals;
  }

  get settled(): Persistence['settled'] {
    return this.#persistence.settled;
  }

  get open(): number {
    // A document may be completed before its writer knows that it is stored.
    return Math.max(this.#crawler.open, this.#crawler.writing);
  }

  get failed(): Promise<never> {
    return this.#crawler.failed;
  }

  async load(): Promise<void> {
    const { percolator, repository, regionServers, signal } = this.#options;
    const numbers = Array.from({ length: repository }, (_, i) => numberOf(i));
    const sorted = numbers.toSorted((a, b) => a - b);
    const keyed = sorted.map((n) => ({ id: documentId(n), keys: this.#documents.keysOf(n) }));
    await loadRepository(percolator, {
      documents: sorted.map((n) => this.#documents.documentOf(n)),
      partition: clusterOneByOne(keyed),
      splits: splitsFor(regionServers),
      signal,
    });
  }

  async measureCapacity(seconds: number): Promise<number> {
    const { concurrency, signal } = this.#options;
    const one = (): Promise<void> => this.#crawler.add(monotonicMs());
    // The first loop is the warm-up: this process and HBase compile their code meanwhile.
    await closedLoop(one, { concurrency, seconds: seconds / 2, signal });
    const { done, seconds: took } = await closedLoop(one, { concurrency, seconds, signal });
    return done / took;
  }

  offer({ perSecond, beginMs, fromMs, toMs, onProgress }: OfferedLoad): Promise<{
    readonly lagP99Ms: number;
  }> {
    const { signal } = this.#options;
    const schedule: Schedule = {
      first: 0,
      warmupDocuments: Math.round((perSecond * (fromMs - beginMs)) / 1000),
      warmupPerSecond: perSecond,
      documents: Math.round((perSecond * (toMs - fromMs)) / 1000),
      perSecond,
    };
    this.#checkRoom(schedule);
    const startUs = Math.ceil(1000 * fromMs - measuredFromUs(schedule));
    let begun = 0;
    const announce = (end: number): void => {
      if (this.#crawler.open > OPEN_MAX) throw new Error(`${OPEN_MAX} documents wait for HBase`);
      while (begun < end) void this.#crawler.add((startUs + dueUs(schedule, begun++)) / 1000);
      onProgress(begun);
    };
    return generate(schedule, startUs, announce, signal);
  }

  async drain(): Promise<void> {
    const { signal } = this.#options;
    for (let rounds = 1; this.open > 0; rounds++) {
      await systemClock.sleep(100, signal);
      signal.throwIfAborted();
      // Every five seconds, because messages of killed workers never come.
      if (rounds % 50 === 0) await this.findUntold();
    }
  }

  onObserved(row: string, atMs: number): void {
    this.#crawler.onClustered(row, atMs);
  }

  async findUntold(): Promise<void> {
    const { percolator } = this.#options;
    const rows = await this.#persistence.until(() => clusteredRows(percolator));
    for (const row of rows) this.#crawler.onClustered(row, monotonicMs());
  }

  check(): Promise<CheckResult> {
    const { percolator } = this.#options;
    return checkAtRest(percolator, percolator.store, {
      documents: this.#documents,
      arrivals: this.#crawler.arrivals,
    });
  }

  #checkRoom(schedule: Schedule): void {
    const { repository } = this.#options;
    const used = repository + this.#crawler.arrivals.length; // `measureCapacity` took some, too.
    if (used + scheduledDocuments(schedule) <= DOCUMENTS_MAX) return;
    const shorter = this.#crawler.arrivals.length > 0 ? '--after or --capacity-seconds' : '--after';
    throw new UsageError(
      `A run may have ${formatCount(DOCUMENTS_MAX)} documents; give a lower --rate, or a shorter ${shorter}.`,
    );
  }
}
