/**
 * `./run.sh bench:mapreduce`: the acceptance test of the batch baseline, as a benchmark.
 *
 * A comparison with a slow MapReduce would make the engine look too good. So the baseline must be
 * much faster than the obvious alternative, the same map and reduce functions joined by GNU sort,
 * and not much slower than a plain SQL engine. Hadoop and Spark take part if they are found.
 *
 * 1. Write a repository of synthetic documents.
 * 2. Cluster it with each engine in turns, so that all meet the same disturbances; the engine that
 *    begins changes from repeat to repeat. Hadoop and Spark come last, in one repeat of five.
 * 3. Check that all found the same clusters; otherwise there are no numbers.
 * 4. Report the rates, the ratios of the medians, and what each needed.
 */
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { type EngineSize, whyNoGnuSort } from '#mapreduce';
import { type FindingsParts, UsageError } from '#results';
import {
  integer,
  measureChecked,
  type Measuring,
  repeatsOption,
  runExperiment,
  seedOption,
  type Sizes,
  workersOption,
} from '#harness';
import {
  type BatchEngine,
  type BatchEngineName,
  findBatchEngine,
  isHadoopConfigured,
  openBatchEngine,
} from '../harness/batch-engines.ts';
import { Contest, type Contestant, findingsOf, type RepeatedRun } from './batch/contest.ts';
import { duckdbEngine } from './batch/duckdb.ts';
import { writeRepository } from './batch/cluster-job.ts';
import { createSyntheticDocuments, encodeRecord } from './documents/index.ts';

const MEBIBYTE = 1024 * 1024;
/** Disk space between the phases and at the end, in addition to the documents. */
const WORKING_BYTES_PER_DOCUMENT = 400;
/** Hadoop and Spark are an order of magnitude slower than the others. */
const SLOW = ['hadoop', 'spark'] as const;
const REPEATS_PER_SLOW_RUN = 5;
/** Guesses for the plan: what a fast engine clusters, and what is written before. */
const CLUSTERED_PER_SECOND = 100_000;
const WRITTEN_PER_SECOND = 100_000;

interface Size {
  readonly documents: number;
  readonly repeats: number;
  /** Whether Hadoop and Spark take part: their start alone takes longer than a smoke run. */
  readonly slowToo: boolean;
}

const SIZES: Sizes<Size> = {
  smoke: { documents: 2_000, repeats: 2, slowToo: false },
  quick: { documents: 1_000_000, repeats: 5, slowToo: true },
  standard: { documents: 4_000_000, repeats: 15, slowToo: true },
  full: { documents: 20_000_000, repeats: 15, slowToo: true },
};

interface Settings extends Size {
  readonly documentBytes: number;
  readonly seed: number;
  readonly workers: number;
  readonly memory: number;
}

await runExperiment(
  {
    script: 'bench:mapreduce',
    subject: { kicker: 'The batch baseline', title: 'The MapReduce next to existing engines' },
    description:
      'Measures the MapReduce baseline next to the same map and reduce functions joined by GNU sort, next to DuckDB, ' +
      'and next to Hadoop and Spark if they are found; checks that all find the same clusters.',
    sizes: SIZES,
    options: {
      documents: integer({ description: 'documents in the repository', min: 1, max: 100_000_000 }),
      documentBytes: integer({
        description: 'size of a document with its keys and address; 1024 is what the paper implies',
        default: 1024,
        min: 120,
        max: 1_048_576,
        unit: 'bytes',
      }),
      seed: seedOption('the documents'),
      workers: workersOption(
        'processes or threads that work at the same time, of each engine but Spark and a Hadoop cluster, which follow their own settings',
      ),
      memory: integer({
        description:
          'memory for records per worker; an engine without workers has the same total, and DuckDB no less than 256 MiB; Spark and a Hadoop cluster follow their own settings',
        default: 256,
        min: 1,
        max: 1_048_576,
        unit: 'MiB',
      }),
      repeats: repeatsOption('each engine, and a fifth as many of Hadoop and Spark'),
    },
    examples: [
      {
        command: './run.sh bench:mapreduce --documents 100000 --repeats 3',
        does: 'a first impression in a few seconds',
      },
      {
        command: './run.sh bench:mapreduce --memory 8',
        does: 'little memory, so that engines must sort on disk',
      },
    ],
    refuse: async () => {
      const reason = await whyNoGnuSort();
      if (reason !== undefined) throw new UsageError(reason);
    },
    plan: ({ documents, documentBytes, workers, memory, repeats }) => ({
      about: `${repeats} times ${documents} documents of ${documentBytes} bytes by each engine, ${workers} workers of ${memory} MiB`,
      seconds:
        2 + documents / WRITTEN_PER_SECOND + (repeats * 5 * documents) / CLUSTERED_PER_SECOND,
      diskBytes: 2 * documents * (documentBytes + WORKING_BYTES_PER_DOCUMENT),
      store: {
        name: 'files',
        durability: 'all sync the final clusters, and none syncs the data between the phases',
      },
      limitations: [
        'The first repeat of the MapReduce includes the compilation of its code; the programs of the others are started for each repeat.',
        isHadoopConfigured()
          ? 'Hadoop runs where its configuration says, and its processor time there is not known.'
          : 'Hadoop runs in one process, as for a developer; on a cluster it has more machines, and more to start.',
        'Spark follows its own settings, by default all cores, whatever --workers and --memory are.',
      ],
    }),
  },
  measure,
);

/** Steps 1 to 4. Keeps what was found after each repeat, when the start-up is not known yet. */
async function measure(settings: Settings, measuring: Measuring): Promise<FindingsParts> {
  const { keep, progress, signal, work: folder } = measuring;
  const { documents, repeats, workers } = settings;
  const memoryBytes = settings.memory * MEBIBYTE * workers;
  const { inputs, single } = await writeDocuments(settings, measuring);
  const size = { workers, memoryBytes };
  await using ours = await openBatchEngine('local', size);
  const { fast, slow, missing } = await enginesNextTo(ours, size, settings.slowToo ? SLOW : []);
  const engines = [...fast, ...slow];
  const contest = new Contest({ inputs, single, folder, signal });
  const runs: RepeatedRun[] = [];
  const startUps = new Map<string, number>();
  const found = (): FindingsParts =>
    findingsOf({ documents, contestants: contestantsOf(engines, runs, startUps), missing });
  progress.phase('clustering', repeats, 'repeats');
  for (let repeat = 0; repeat < repeats; repeat++) {
    const first = repeat % fast.length;
    const turn = [...fast.slice(first), ...fast.slice(0, first)];
    if (repeat % REPEATS_PER_SLOW_RUN === 0) turn.push(...slow);
    for (const engine of turn) {
      progress.note(engine.name);
      const run = await contest.run(engine);
      await measureChecked(measuring, () => contest.check(run));
      runs.push({ ...run, repeat });
    }
    progress.update(repeat + 1);
    keep(found());
  }
  for (const engine of engines) startUps.set(engine.name, await contest.startUpSeconds(engine));
  return found();
}

function contestantsOf(
  engines: readonly BatchEngine[],
  runs: readonly RepeatedRun[],
  startUps: ReadonlyMap<string, number>,
): readonly Contestant[] {
  return engines.map(({ name }) => ({
    name,
    startUpSeconds: startUps.get(name) ?? null,
    runs: runs.filter((run) => run.engine === name),
  }));
}

interface WrittenDocuments {
  /** All documents, one file for each worker. */
  readonly inputs: readonly string[];
  /** One document. */
  readonly single: string;
}

async function writeDocuments(
  { documents: repository, documentBytes, seed, workers }: Settings,
  { progress, signal, work: folder }: Measuring,
): Promise<WrittenDocuments> {
  progress.phase('writing the documents', repository, 'documents');
  const documents = createSyntheticDocuments({ repository, documentBytes, seed });
  const onProgress = (done: number): void => progress.update(done);
  const inputs = await writeRepository(documents, { folder, files: workers, signal, onProgress });
  const single = path.join(folder, 'one-document');
  for (const document of documents.range(0, 1)) await appendFile(single, encodeRecord(document));
  return { inputs, single };
}

interface Engines {
  readonly fast: readonly BatchEngine[];
  readonly slow: readonly BatchEngine[];
  /** Sentences about those that are not on this machine. */
  readonly missing: readonly string[];
}

async function enginesNextTo(
  ours: BatchEngine,
  size: EngineSize,
  slow: readonly BatchEngineName[],
): Promise<Engines> {
  const sort = await openBatchEngine('sort', size);
  const found = await Promise.all(slow.map((name) => findBatchEngine(name, size)));
  return {
    fast: [ours, sort, duckdbEngine(size)],
    slow: found.filter((engine) => typeof engine !== 'string'),
    missing: found.filter((engine) => typeof engine === 'string'),
  };
}
