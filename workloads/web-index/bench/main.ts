/**
 * `./run.sh bench:web-index`: how soon can a crawled page be found, by the pipeline of observers
 * and by a batch over the whole repository?
 *
 * 1. Load the repository through the observers, at full speed.
 * 2. Recrawl a part of it in turn, on schedule, and note when each new edition can be found.
 * 3. The same recrawls with the batch, which runs repeatedly over the whole repository.
 * 4. Check both results with the judge.
 */
import path from 'node:path';
import { availableParallelism } from 'node:os';
import {
  choice,
  integer,
  noFsyncOption,
  number,
  onlyWith,
  runExperiment,
  secondsOption,
  storeOption,
} from '#harness';
import { BATCH_ENGINES, openBatchEngine } from '../../harness/batch-engines.ts';
import type { Schedule } from '../../harness/load/schedule.ts';
import { describeStore, provideEmptyStore } from '../../harness/stores.ts';
import { findingsOf } from './findings.ts';
import { measureBatch, measurePipeline } from './measure.ts';

const SAMPLE = path.join(
  import.meta.dirname,
  '../../crawl-rate/documents/sample/sqlite-sample.warc.gz',
);

/**
 * Each page is crawled about once in every run of the batch: such a run takes 1.1 s for 884
 * documents, and grows with them. With more time between two crawls of a page, what is found is old
 * even without any delay, and the paper's 50 % are out of reach for every system.
 */
const SIZES = {
  smoke: { documents: 20, recrawled: 5, rate: 10, seconds: 2 },
  quick: { documents: 884, recrawled: 10, rate: 10, seconds: 60 },
  standard: { documents: 3_536, recrawled: 50, rate: 10, seconds: 300 },
  full: { documents: 8_840, recrawled: 100, rate: 10, seconds: 900 },
};
/** For the plan, a guess: how fast the observers load the repository on a slow machine. */
const LOADED_PER_SECOND = 12;
/** Rounds through all recrawled pages before the measurement: each has an age by then. */
const WARM_UP_ROUNDS = 2;
/** The most that the warm-up takes without need, in seconds: the batch's workers compile in it. */
const WARM_UP_SECONDS = 20;
const MEBIBYTE = 2 ** 20;
const BATCH_SIZE = { workers: availableParallelism(), memoryBytes: 512 * MEBIBYTE };

interface Documents {
  readonly documents: number;
  readonly recrawled: number;
}

/** No more pages are crawled again than there are. */
function recrawledOf({ documents, recrawled }: Documents): number {
  return Math.min(recrawled, documents);
}

interface Recrawls extends Documents {
  readonly rate: number;
  readonly seconds: number;
}

function warmUpRecrawls(recrawls: Recrawls): number {
  const { rate, seconds } = recrawls;
  const warming = Math.min(WARM_UP_SECONDS, seconds) * rate;
  return Math.max(WARM_UP_ROUNDS * recrawledOf(recrawls), Math.ceil(warming));
}

await runExperiment(
  {
    script: 'bench:web-index',
    subject: {
      kicker: 'Percolator paper, sections 1 and 3.1',
      title: 'From crawl to search: observers and a batch',
    },
    description:
      'Measures how soon a crawled page can be found: through the pipeline of observers of the web index, and by a ' +
      'series of MapReduces over the whole repository. Pages of a real crawl are crawled again in an open loop.',
    isOnOneHost:
      'takes the beginning and the end of a latency in two processes, by the clock of this machine that they share',
    sizes: SIZES,
    options: {
      documents: integer({
        description: 'pages in the repository; more of them make the batch slower',
        min: 10,
        max: 1_000_000,
      }),
      recrawled: integer({
        description: 'pages that are crawled again, in turn; at most --documents',
        min: 1,
        max: 1_000_000,
      }),
      rate: number({
        description: 'rate of the recrawls',
        unit: 'recrawls per second',
        min: 0.1,
        max: 1_000,
      }),
      seconds: secondsOption('each system', 1),
      batch: choice({
        choices: BATCH_ENGINES,
        description:
          'what runs the batch, which has 20 jobs: hadoop and spark need minutes for each run',
        default: 'local',
      }),
      store: storeOption(),
      noFsync: onlyWith({ store: ['embedded'] }, noFsyncOption),
    },
    examples: [
      {
        command: './run.sh bench:web-index --documents 442 --recrawled 5',
        does: 'Half of the repository, whose pages are crawled twice as often.',
      },
    ],
    plan: ({ documents, recrawled, rate, seconds, store, noFsync }) => ({
      about: `${documents} documents, of which ${recrawledOf({ documents, recrawled })} are crawled again at ${rate} per second for ${seconds} s with each system`,
      seconds:
        documents / LOADED_PER_SECOND +
        2 * (seconds + warmUpRecrawls({ documents, recrawled, rate, seconds }) / rate) +
        20,
      store: describeStore(store, { fsync: !noFsync }),
      limitations: [
        'The pages are copies of one small crawl; each recrawl changes the text of its page, and no link.',
        'The batch begins its next run at once; a batch that runs at fixed hours is slower.',
        'How much younger results are depends on the time between two crawls of a page, which is the floor of every system, and on the size of the repository.',
        'All processes that this run starts share the cores of one machine. The systems are measured one after the other.',
      ],
    }),
    // The engine is opened only to see whether it can be. Its workers must not run while the
    // observers are measured.
    refuse: async ({ batch }) => {
      await using _ = await openBatchEngine(batch, BATCH_SIZE);
    },
  },
  async (options, { progress, signal, work }) => {
    const { documents, rate, seconds, store: name, noFsync } = options;
    const recrawled = recrawledOf(options);
    const crawl = { file: SAMPLE, documents, recrawled };
    const schedule: Schedule = {
      first: 0,
      warmupDocuments: warmUpRecrawls(options),
      warmupPerSecond: rate,
      documents: Math.max(1, Math.floor(rate * seconds)),
      perSecond: rate,
    };
    const embedded = { folder: path.join(work, 'tables'), fsync: !noFsync };
    await using store = await provideEmptyStore(name, embedded);
    const point = (folder: string) => ({ crawl, schedule, signal, work: path.join(work, folder) });
    progress.phase('loading the repository through observers', 0);
    const pipeline = await measurePipeline(point('observers'), store.address, () =>
      progress.phase('recrawling with observers', 0),
    );
    progress.phase('recrawling with the batch', 0);
    await using engine = await openBatchEngine(options.batch, BATCH_SIZE);
    const batch = await measureBatch(point('batch'), engine);
    return findingsOf({ documents, recrawled, perSecond: rate, pipeline, batch });
  },
);
