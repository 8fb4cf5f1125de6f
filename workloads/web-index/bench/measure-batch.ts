/**
 * Measures the batch on the same arrivals: it runs over the whole repository again and again, and
 * each run takes what was due before it began.
 *
 * The repository holds only the latest capture of each page. Keeping it so costs the batch nothing
 * here: a crawler would do it.
 */
import { isDeepStrictEqual } from 'node:util';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { ChainEngine } from '#mapreduce';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { dueBy, type Schedule, scheduledDocuments } from '../../harness/load/schedule.ts';
import { buildIndex, readServed, writeCaptures } from '../batch/build-index.ts';
import { type Capture, indexOf, type ServedPage } from '../model/index.ts';
import { openServingIndex, type ServingIndex } from '../serving/index.ts';
import { type BenchCrawl, openBenchCrawl } from './crawl.ts';
import { type Freshness, freshnessOf } from './freshness.ts';
import type { Point } from './measure-pipeline.ts';
import { Sightings } from './sightings.ts';

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
  { crawl: size, schedule, work, signal }: Point,
  engine: ChainEngine,
): Promise<BatchResult> {
  const crawl = await openBenchCrawl(size);
  await using index = await openServingIndex(path.join(work, 'serving'));
  const repository = path.join(work, 'repository');
  await writeCaptures(repository, crawl.unchanged());
  const batch = new Batch({ crawl, engine, index, work, repository, signal });
  // This run, over the repository alone, is not measured: its workers are cold.
  await batch.run(0);
  batch.runSeconds.length = 0;
  const startUs = monotonicUs();
  const arrivals = scheduledDocuments(schedule);
  for (let done = 0; done < arrivals;) {
    signal.throwIfAborted();
    const arrived = Math.min(arrivals, dueBy(schedule, monotonicUs() - startUs));
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

class Batch {
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
  const urls = [...new Set([...expected.keys(), ...found.keys()])];
  const different = urls.filter((url) => !isDeepStrictEqual(found.get(url), expected.get(url)));
  return different.slice(0, 5).map((url) => `the batch serves something else for ${url}`);
}
