/** `./run.sh bench:crawl-rate`: the paper's figure 7 on this machine. */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { choice, inputFile, integer, number, numberList, outputFolder, runCommand } from '#harness';
import { defaultRunFolder } from '#results';
import { ENGINE_OPTIONS, type EngineValues } from '../harness/engine-settings.ts';
import { refuseFullDisk } from '../harness/experiment/disk-space.ts';
import { runExperiment } from './experiment.ts';
import type { Plan } from './plan.ts';
import { PROFILES, SCALES } from './profiles.ts';
import { documentsPerSecond } from '../harness/load/schedule.ts';
import { summaryLines } from './summary.ts';

const SAMPLE = path.join(import.meta.dirname, 'documents', 'sample', 'sqlite-sample.warc.gz');
/**
 * Bytes on the disk for each byte of documents: the store, its copy, the batch's files and the
 * output of a run.
 */
const DISK_FACTOR = 6;
const PROFILE_DEFAULT = 'depends on --profile';

await runCommand(
  {
    script: 'bench:crawl-rate',
    description:
      'Measures how long a newly crawled document waits until it is clustered, as a function of the crawl rate, ' +
      'on Percolator and on back-to-back MapReduces (figure 7 of the paper). Prints a table and writes a report.',
    options: {
      profile: choice({
        choices: PROFILES,
        description:
          'size of the run: smoke takes seconds, quick 5 minutes, standard 20 minutes, full hours',
        default: 'quick',
      }),
      repository: integer({
        description: 'documents in the repository before the crawl',
        defaultText: PROFILE_DEFAULT,
        min: 1_000,
        max: 20_000_000,
      }),
      rates: numberList({
        description: 'crawl rates; each is a point of both curves',
        defaultText: PROFILE_DEFAULT,
        unit: '% of the repository per hour',
        min: 0.001,
        max: 1e9,
      }),
      seconds: number({
        description:
          'measured interval of each point on Percolator; short ones measure few documents',
        defaultText: PROFILE_DEFAULT,
        unit: 'seconds',
        min: 0.5,
        max: 86_400,
      }),
      batchSeconds: number({
        description:
          'measured interval of each point on MapReduce; at least five runs are measured',
        defaultText: PROFILE_DEFAULT,
        unit: 'seconds',
        min: 0.1,
        max: 86_400,
      }),
      repeats: integer({
        description: 'independent repeats of each point; with one the run is labelled exploratory',
        defaultText: PROFILE_DEFAULT,
        min: 1,
        max: 100,
      }),
      seed: integer({
        description: 'the same seed makes the same documents, arrivals and order of points',
        default: 1,
        min: 0,
        max: 2 ** 31 - 1,
      }),
      store: choice({
        choices: ['embedded'],
        description: 'storage of the engine: embedded is lmdb in its process, with durable commits',
        default: 'embedded',
      }),
      concurrency: integer({
        description:
          'observer runs in flight; too few idle the storage, too many conflict with one another',
        default: 256,
        min: 1,
        max: 10_000,
      }),
      processes: integer({
        description:
          'worker processes; oracle, lock service and loader are then separate processes too',
        defaultText: 'one process for everything',
        min: 1,
        max: 64,
      }),
      ...ENGINE_OPTIONS,
      workers: integer({
        description: 'worker processes of the batch; best: one per core',
        default: availableParallelism(),
        min: 1,
        max: 64,
      }),
      documentBytes: integer({
        description: 'size of a document with its keys and address; 1024 is what the paper implies',
        default: 1024,
        min: 120,
        max: 65_536,
        unit: 'bytes',
      }),
      input: inputFile({
        description: 'a real crawl (WARC, also .gz) that both systems cluster as well',
        default: SAMPLE,
        defaultText: "442 pages of SQLite's documentation, part of this project",
      }),
      out: outputFolder({
        description:
          'new folder for the record, the charts and the report; the run measures its disk',
        default: () => defaultRunFolder('crawl-rate'),
        defaultText: 'results/runs/crawl-rate-<UTC time>',
        isNew: true,
      }),
    },
    examples: [
      { command: './run.sh bench:crawl-rate', does: 'the quick evaluation' },
      {
        command: './run.sh bench:crawl-rate --profile standard',
        does: 'a million documents, two repeats',
      },
      {
        command: './run.sh bench:crawl-rate --rates 1,100,3000 --seconds 30',
        does: 'the quick repository at rates of your own',
      },
      {
        command: './run.sh bench:crawl-rate --processes 2',
        does: 'the engine as two workers, a loader, an oracle and a lock service',
      },
      {
        command: './run.sh bench:crawl-rate --input crawl.warc.gz',
        does: 'shows the duplicates of your own crawl in the report',
      },
    ],
  },
  async (options, { signal, commandLine }) => {
    const plan = planOf(options);
    await refuseFullDisk(plan.out, diskBytes(plan));
    console.log(
      `crawl-rate, profile ${plan.profile}, seed ${plan.seed}: ${plan.repository} documents, ` +
        `rates ${plan.rates.join(', ')} % of the repository per hour`,
    );
    const { run, page } = await runExperiment(plan, { commandLine, signal });
    console.log(`\n${summaryLines(run.record).join('\n')}\n\nReport: ${page}`);
    if (run.record.points.some(({ check }) => !check.passed)) process.exitCode = 1;
  },
);

type CrawlRateOptions = EngineValues &
  Pick<
    Plan,
    'seed' | 'documentBytes' | 'concurrency' | 'processes' | 'workers' | 'out' | 'input'
  > & {
    readonly profile: (typeof PROFILES)[number];
    readonly repository: number | undefined;
    readonly rates: readonly number[] | undefined;
    readonly seconds: number | undefined;
    readonly batchSeconds: number | undefined;
    readonly repeats: number | undefined;
  };

/**
 * The options, with the profile's values for the missing ones. A run that differs from its profile
 * is custom.
 */
function planOf(options: CrawlRateOptions): Plan {
  const scale = SCALES[options.profile];
  const { repository, rates, seconds, batchSeconds, repeats } = options;
  const custom = [repository, rates, seconds, batchSeconds, repeats].some(
    (value) => value !== undefined,
  );
  return {
    profile: custom ? 'custom' : options.profile,
    repository: repository ?? scale.repository,
    rates: rates ?? scale.rates,
    seconds: seconds ?? scale.seconds,
    warmupSeconds: scale.warmupSeconds,
    batchSeconds: batchSeconds ?? scale.batchSeconds,
    repeats: repeats ?? scale.repeats,
    seed: options.seed,
    documentBytes: options.documentBytes,
    concurrency: options.concurrency,
    processes: options.processes,
    engine: engineOf(options),
    workers: options.workers,
    out: options.out,
    input: options.input,
  };
}

function engineOf(options: EngineValues): EngineValues {
  const { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners } = options;
  return { batching, batchDelay, batchRows, batchInFlight, prefetch, scanners };
}

function diskBytes(plan: Plan): number {
  const arriving = documentsPerSecond(plan.repository, Math.max(...plan.rates));
  const documents = plan.repository + arriving * (plan.seconds + plan.batchSeconds);
  return documents * plan.documentBytes * DISK_FACTOR;
}
