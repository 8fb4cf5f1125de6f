/**
 * `./run.sh bench:mapreduce`: the acceptance test of the batch baseline, as a benchmark.
 *
 * A comparison with a slow MapReduce would make the engine look too good. So the baseline must be
 * at least as fast as the obvious alternative: the same map and reduce functions as programs on the
 * command line, joined by GNU sort.
 *
 * 1. Write a repository of synthetic documents.
 * 2. Cluster it in three phases with both in turns, so that both meet the same disturbances; the
 *    first one alternates from repeat to repeat.
 * 3. Check that both found the same clusters; otherwise there are no numbers.
 * 4. Report the rates, the ratio of the medians, and where the time went.
 */
import { availableParallelism } from 'node:os';
import { openWorkerPool } from '#mapreduce';
import { UsageError } from '#results';
import {
  integer,
  type Measuring,
  repeatsOption,
  runExperiment,
  seedOption,
  type Sizes,
} from '#harness';
import { Contest, type Repeat } from './batch/contest.ts';
import { findingsOf } from './batch/contest-findings.ts';
import { writeRepository } from './batch/repository-files.ts';
import { whyNoGnuSort } from './batch/sort-pipeline.ts';
import { createSyntheticDocuments } from './documents/index.ts';

const MEBIBYTE = 1024 * 1024;
/** Disk space of both between the phases and at the end, in addition to the documents. */
const WORKING_BYTES_PER_DOCUMENT = 400;
/** Guesses for the plan. */
const CLUSTERED_PER_SECOND = 100_000;
const WRITTEN_PER_SECOND = 100_000;

const SIZES: Sizes<{ readonly documents: number; readonly repeats: number }> = {
  smoke: { documents: 2_000, repeats: 2 },
  quick: { documents: 1_000_000, repeats: 5 },
  standard: { documents: 4_000_000, repeats: 15 },
  full: { documents: 20_000_000, repeats: 15 },
};

interface Settings {
  readonly documents: number;
  readonly documentBytes: number;
  readonly seed: number;
  readonly workers: number;
  readonly memory: number;
  readonly repeats: number;
}

await runExperiment(
  {
    script: 'bench:mapreduce',
    subject: { kicker: 'The batch baseline', title: 'MapReduce against map, sort and reduce' },
    description:
      'Measures the MapReduce baseline against the same map and reduce functions joined by GNU sort, ' +
      'and checks that both find the same clusters.',
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
      workers: integer({
        description: 'worker processes, and mapper processes of the pipeline',
        default: availableParallelism(),
        defaultText: 'one per core',
        min: 1,
        max: 64,
      }),
      memory: integer({
        description:
          'memory for records per worker; the sorts of the pipeline share the same total',
        default: 256,
        min: 1,
        max: 1_048_576,
        unit: 'MiB',
      }),
      repeats: repeatsOption('each of the two'),
    },
    examples: [
      {
        command: './run.sh bench:mapreduce --documents 100000 --repeats 3',
        does: 'a first impression in a few seconds',
      },
      {
        command: './run.sh bench:mapreduce --memory 8',
        does: 'little memory, so that both must sort on disk',
      },
    ],
    refuse: async () => {
      const reason = await whyNoGnuSort();
      if (reason !== undefined) throw new UsageError(reason);
    },
    plan: ({ documents, documentBytes, workers, memory, repeats }) => ({
      about: `${repeats} times ${documents} documents of ${documentBytes} bytes by each of the two, ${workers} workers of ${memory} MiB`,
      seconds:
        2 + documents / WRITTEN_PER_SECOND + (repeats * 2 * documents) / CLUSTERED_PER_SECOND,
      diskBytes: documents * (documentBytes + WORKING_BYTES_PER_DOCUMENT),
      store: {
        name: 'files',
        durability: 'both sync the final clusters, and neither syncs the data between the phases',
      },
      limitations: [
        'The first repeat of MapReduce includes the compilation of its code; the programs of the pipeline are started for each repeat.',
      ],
    }),
  },
  async (settings, measuring) => findingsOf(settings, await measure(settings, measuring)),
);

/** Steps 1 to 3. */
async function measure(
  settings: Settings,
  { progress, signal, work: folder }: Measuring,
): Promise<readonly Repeat[]> {
  progress.phase('writing the documents', settings.documents, 'documents');
  const { documents: repository, documentBytes, seed, workers } = settings;
  const documents = createSyntheticDocuments({ repository, documentBytes, seed });
  const onProgress = (done: number): void => progress.update(done);
  const inputs = await writeRepository(documents, { folder, files: workers, signal, onProgress });

  await using pool = await openWorkerPool({ workers });
  // Without workers a running job fails at once, instead of running to its end.
  signal.addEventListener('abort', () => void pool[Symbol.asyncDispose](), { once: true });
  const memoryBytesPerWorker = settings.memory * MEBIBYTE;
  const contest = new Contest(pool, { inputs, folder, memoryBytesPerWorker, signal });
  const repeats: Repeat[] = [];
  progress.phase('clustering, by MapReduce and by sort', settings.repeats, 'repeats');
  while (repeats.length < settings.repeats) {
    repeats.push(await contest.repeat(repeats.length % 2 === 0));
    progress.update(repeats.length);
  }
  return repeats;
}
