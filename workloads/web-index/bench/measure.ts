/**
 * Measures the pipeline of observers, and the batch on the same arrivals.
 *
 * The observers load the repository, then recrawls come on schedule. The batch runs over the whole
 * repository repeatedly, and each run takes what was due before it began. The repository holds only
 * the latest capture of each page; keeping it so costs the batch nothing here: a crawler would do
 * it.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { StoreAddress } from '#engine';
import type { ChainEngine } from '#mapreduce';
import { live } from '#harness';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import {
  dueBy,
  dueUs,
  generate,
  type Schedule,
  scheduledDocuments,
} from '../../harness/load/schedule.ts';
import { Answers, Crew } from '../../harness/processes/index.ts';
import type { StoreCounts } from '../../harness/watched-stores.ts';
import { buildIndex, readServed, writeCaptures } from '../batch/build-index.ts';
import { differences } from '../check/check.ts';
import { type Capture, indexOf, type ServedPage } from '../model/index.ts';
import type { ServingIndex } from '../serving/serving-index.ts';
import { openServingIndex } from '../serving/sqlite-index.ts';
import { type BenchCrawl, type CrawlSize, openBenchCrawl } from './crawl.ts';
import { type EditionSighting, type Freshness, freshnessOf, Sightings } from './freshness.ts';

const PIPELINE = new URL('pipeline-process.ts', import.meta.url);
const STOP_MS_MAX = 120_000;

interface RecrawlRun {
  readonly crawl: CrawlSize;
  readonly schedule: Schedule;
  /** A folder of its own, which does not have to exist yet. */
  readonly work: string;
  readonly signal: AbortSignal;
}

export interface PipelineResult extends Freshness {
  readonly load: LoadedAnswer;
  /** Per recrawl of the measured time; includes what the warm-up has left to do. */
  readonly counts: StoreCounts;
  readonly findings: readonly string[];
  /** How late the generator was, 99th percentile. */
  readonly lagP99Ms: number;
}

export async function measurePipeline(
  { crawl: size, schedule, work, signal }: RecrawlRun,
  store: StoreAddress,
  onLoaded: () => void,
): Promise<PipelineResult> {
  await using crew = new Crew(signal, { stopMsMax: STOP_MS_MAX });
  const answers = new Answers();
  const options: BenchPipelineOptions = { store, indexFolder: `${work}/serving`, crawl: size };
  const name = 'the pipeline';
  const pipeline = await crew.start({ name, program: PIPELINE, options, onMessage: answers.take });
  const send = (message: ToPipeline): void => pipeline.send(message);
  send({ kind: 'load' });
  const load = (await crew.during(answers.next())) as LoadedAnswer;
  onLoaded();
  const startUs = monotonicUs();
  let isCounting = false;
  const announce = (end: number): void => {
    if (!isCounting && end > schedule.warmupDocuments) {
      isCounting = true;
      send({ kind: 'count from', arrival: schedule.warmupDocuments });
    }
    send({ kind: 'arrived', end });
  };
  const { lagP99Ms } = await crew.during(generate(schedule, startUs, announce, signal));
  send({ kind: 'finish' });
  const { sightings, counts, findings } = (await crew.during(answers.next())) as FinishedAnswer;
  await crew.stop();
  const crawl = await openBenchCrawl(size);
  return {
    ...freshnessOf({ crawl, schedule, startUs, sightings }),
    load,
    counts,
    findings,
    lagP99Ms,
  };
}

/** What the process of the pipeline is told, and what it answers. */
export interface BenchPipelineOptions {
  readonly store: StoreAddress;
  readonly indexFolder: string;
  readonly crawl: CrawlSize;
}

export type ToPipeline =
  /** Loads the repository, at full speed; answers when no observer has work left. */
  | { readonly kind: 'load' }
  /** Recrawls before this number have arrived. */
  | { readonly kind: 'arrived'; readonly end: number }
  /** Calls of the store count from now on, for the recrawls from this number on. No answer. */
  | { readonly kind: 'count from'; readonly arrival: number }
  /** No more recrawls arrive; answers when no observer has work left. */
  | { readonly kind: 'finish' };

export interface LoadedAnswer {
  readonly seconds: number;
  /** Per document. */
  readonly counts: StoreCounts;
}

export interface FinishedAnswer {
  readonly sightings: readonly EditionSighting[];
  /** Per recrawl. */
  readonly counts: StoreCounts;
  /** What the check has found; empty if all is well. */
  readonly findings: readonly string[];
}

/** The time between two looks at whether something has arrived. */
const ARRIVAL_MS = 5;

export interface BatchResult extends Freshness {
  /**
   * Each run from the writing of its captures to the replacement of the serving index, all jobs
   * included.
   */
  readonly runSeconds: readonly number[];
  readonly findings: readonly string[];
}

export async function measureBatch(
  { crawl: size, schedule, work, signal }: RecrawlRun,
  engine: ChainEngine,
): Promise<BatchResult> {
  const crawl = await openBenchCrawl(size);
  await using index = await openServingIndex(path.join(work, 'serving'));
  const repository = path.join(work, 'repository');
  await writeCaptures(repository, crawl.unchanged());
  const batch = new RepeatedBatch({ crawl, engine, index, work, repository, signal });
  // This run, over the repository alone, is not measured: its workers are cold.
  await batch.run(0);
  batch.runSeconds.length = 0;
  const startUs = monotonicUs();
  const arrivals = scheduledDocuments(schedule);
  using _ = live.show(batch.sightings.probes(monotonicUs));
  for (let done = 0; done < arrivals;) {
    signal.throwIfAborted();
    const arrived = Math.min(arrivals, dueBy(schedule, monotonicUs() - startUs));
    for (let n = done; live.isWatched && n < arrived; n++) {
      const { url } = crawl.recrawl(n);
      batch.sightings.arrived(url, crawl.editionAt(n), startUs + dueUs(schedule, n));
    }
    if (arrived > done) done = await batch.run(arrived);
    else await setTimeout(ARRIVAL_MS);
  }
  const { all: sightings } = batch.sightings;
  const findings = differencesOf(batch.served, crawl, schedule);
  const { runSeconds } = batch;
  // What has arrived during the longest run waits for the next one.
  const inFlight = Math.ceil(schedule.perSecond * Math.max(...runSeconds));
  return {
    ...freshnessOf({ crawl, schedule, startUs, sightings, inFlight }),
    runSeconds,
    findings,
  };
}

interface BatchParts {
  readonly crawl: BenchCrawl;
  readonly engine: ChainEngine;
  readonly index: ServingIndex;
  readonly work: string;
  /** The file of what is crawled once. */
  readonly repository: string;
  readonly signal: AbortSignal;
}

class RepeatedBatch {
  readonly sightings = new Sightings();
  readonly runSeconds: number[] = [];
  /** The pages of the last run. */
  served: readonly ServedPage[] = [];
  readonly #parts: BatchParts;
  #runs = 0;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /** Resolves with `arrived` when all that had arrived can be found. */
  async run(arrived: number): Promise<number> {
    const { crawl, engine, index, work, repository, signal } = this.#parts;
    const run = ++this.#runs;
    const startedUs = monotonicUs();
    const latest = path.join(work, `latest-${run}`);
    const outputFolder = path.join(work, `served-${run}`);
    await writeCaptures(latest, latestRecrawls(crawl, arrived));
    const captures = [{ path: repository }, { path: latest }];
    await buildIndex(engine, { captures, outputFolder, signal });
    this.served = await Array.fromAsync(readServed(outputFolder));
    await index.replaceAll(this.served.map((page) => ({ url: page.url, page, version: run })));
    const atUs = monotonicUs();
    for (const page of this.served) this.sightings.add(page, atUs);
    this.runSeconds.push((atUs - startedUs) / 1e6);
    for (const used of [latest, outputFolder]) await rm(used, { recursive: true });
    return arrived;
  }
}

/** The latest capture of each page that is crawled again. */
function* latestRecrawls(crawl: BenchCrawl, arrived: number): Generator<Capture> {
  const { recrawled } = crawl;
  for (let n = Math.max(0, arrived - recrawled); n < arrived; n++) yield crawl.recrawl(n);
  if (arrived >= recrawled) return;
  let document = 0;
  for (const capture of crawl.repository()) {
    if (document >= recrawled) return;
    if (document++ >= arrived) yield capture;
  }
}

/** The last run compared with the judge. */
function differencesOf(
  served: readonly ServedPage[],
  crawl: BenchCrawl,
  schedule: Schedule,
): readonly string[] {
  const arrivals = scheduledDocuments(schedule);
  const expected = indexOf([...crawl.unchanged(), ...latestRecrawls(crawl, arrivals)]).served;
  const found = new Map(served.map((page) => [page.url, page]));
  return differences('the page that the batch serves', found, expected);
}
