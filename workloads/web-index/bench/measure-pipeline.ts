/** Measures the pipeline of observers: the load of the repository, then recrawls on schedule. */
import type { StoreAddress } from '#engine';
import { generate } from '../../harness/load/generator.ts';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import type { Schedule } from '../../harness/load/schedule.ts';
import { Answers, Crew } from '../../harness/processes/index.ts';
import type { StoreCounts } from '../../harness/stores/store-counts.ts';
import { type CrawlSize, openBenchCrawl } from './crawl.ts';
import { type Freshness, freshnessOf } from './freshness.ts';
import type { BenchPipelineOptions, FinishedAnswer, LoadedAnswer, ToPipeline } from './messages.ts';

const PIPELINE = new URL('pipeline-process.ts', import.meta.url);
const STOP_MS_MAX = 120_000;

export interface Point {
  readonly crawl: CrawlSize;
  readonly schedule: Schedule;
  /** A folder of its own, which need not exist yet. */
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
  { crawl: size, schedule, work, signal }: Point,
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
