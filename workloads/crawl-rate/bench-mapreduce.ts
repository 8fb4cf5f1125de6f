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
 * 4. Print the rates, the ratio of the medians, and where the time went.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { openWorkerPool } from '#mapreduce';
import { captureEnvironment, UsageError } from '#results';
import { flag, integer, outputFolder, runCommand, startProgress } from '#harness';
import { ENGINE_OPTIONS } from '../harness/engine-settings.ts';
import { Contest, type Repeat } from './batch/contest.ts';
import { contestLines, machineLine, medianRatio } from './batch/contest-lines.ts';
import { refuseFullDisk } from '../harness/experiment/disk-space.ts';
import { writeRepository } from './batch/repository-files.ts';
import { whyNoGnuSort } from './batch/sort-pipeline.ts';
import { createSyntheticDocuments } from './documents/index.ts';

const MEBIBYTE = 1024 * 1024;
/** Disk space of both between the phases and at the end, in addition to the documents. */
const WORKING_BYTES_PER_DOCUMENT = 400;
/** The baseline is accepted if it is at least this many times as fast as the pipeline. */
const RATIO_MIN = 1;

const specification = {
  script: 'bench:mapreduce',
  description:
    'Measures the MapReduce baseline against the same map and reduce functions joined by GNU sort, ' +
    'and checks that both find the same clusters.',
  options: {
    documents: integer({
      description: 'documents in the repository',
      default: 1_000_000,
      min: 1,
      max: 100_000_000,
    }),
    documentBytes: integer({
      description: 'size of a document with its keys and address; 1024 is what the paper implies',
      default: 1024,
      min: 120,
      max: 1_048_576,
      unit: 'bytes',
    }),
    seed: integer({
      description: 'the same seed makes the same documents',
      default: 1,
      min: 0,
      max: 2 ** 31 - 1,
    }),
    workers: integer({
      description: 'worker processes, and mapper processes of the pipeline; best: one per core',
      default: availableParallelism(),
      min: 1,
      max: 64,
    }),
    memory: integer({
      description: 'memory for records per worker; the sorts of the pipeline share the same total',
      default: 256,
      min: 1,
      max: 1_048_576,
      unit: 'MiB',
    }),
    repeats: integer({
      description: 'how many times each of the two clusters all documents',
      default: 5,
      min: 1,
      max: 1000,
    }),
    directory: outputFolder({
      description: 'parent of the temporary folder with documents and clusters',
      default: tmpdir(),
      defaultText: "the system's folder for temporary files",
    }),
    keep: flag({ description: 'keep the temporary folder' }),
  },
  ignoredInFiles: Object.keys(ENGINE_OPTIONS), // The engine is not used.
  examples: [
    { command: './run.sh bench:mapreduce', does: 'a million documents of 1 KB, five times' },
    {
      command: './run.sh bench:mapreduce --documents 100000 --repeats 3',
      does: 'a first impression in a few seconds',
    },
    {
      command: './run.sh bench:mapreduce --memory 8',
      does: 'little memory, so that both must sort on disk',
    },
  ],
} as const;

interface Settings {
  readonly documents: number;
  readonly documentBytes: number;
  readonly seed: number;
  readonly workers: number;
  readonly memory: number;
  readonly repeats: number;
  readonly directory: string;
  readonly keep: boolean;
}

await runCommand(specification, async (settings, { signal }) => {
  const reason = await whyNoGnuSort();
  if (reason !== undefined) throw new UsageError(reason);
  const { documents, documentBytes, directory } = settings;
  await refuseFullDisk(directory, documents * (documentBytes + WORKING_BYTES_PER_DOCUMENT));

  const created = await mkdir(directory, { recursive: true });
  const folder = await mkdtemp(path.join(directory, 'bench-mapreduce-'));
  try {
    const repeats = await measure(settings, folder, signal);
    conclude(settings, repeats, folder);
  } finally {
    if (!settings.keep) await rm(created ?? folder, { recursive: true, force: true });
  }
});

/** Steps 1 to 3. */
async function measure(settings: Settings, folder: string, signal: AbortSignal): Promise<Repeat[]> {
  const progress = startProgress();
  try {
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
  } finally {
    progress.end();
  }
}

/** Step 4, and the verdict. */
function conclude(settings: Settings, repeats: readonly Repeat[], folder: string): void {
  const accepted = medianRatio(repeats) >= RATIO_MIN;
  const lines = [
    '',
    ...contestLines(settings, repeats),
    machineLine(captureEnvironment(folder)),
    ...(settings.keep ? [`Kept in ${folder}`] : []),
    '',
    accepted
      ? 'Accepted: the baseline is at least as fast as the pipeline.'
      : 'NOT accepted: the baseline is slower than the pipeline it must beat.',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  if (!accepted) process.exitCode = 1;
}
