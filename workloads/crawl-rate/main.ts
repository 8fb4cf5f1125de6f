/** `./run.sh bench:crawl-rate`: figure 7 on this machine, or a sweep of repository sizes. */
import path from 'node:path';
import {
  choice,
  counted,
  hostsOptions,
  inputFile,
  integer,
  number,
  numberList,
  onlyWith,
  type Option,
  type RunPlan,
  regionServersOption,
  repeatsOption,
  runExperiment,
  secondsOption,
  seedOption,
  storeOption,
  UsageError,
  warmUpOption,
  workersOption,
} from '#harness';
import { FIGURE_7, formatCount } from '#results';
import { BATCH_ENGINES, type BatchEngineName } from '../harness/batch-engines.ts';
import { ENGINE_OPTIONS, engineValuesOf } from '../harness/engine-settings.ts';
import { createSchedule, type Schedule, scheduledDocuments } from '../harness/load/schedule.ts';
import { parametersOf } from '../harness/experiment/plan.ts';
import { describeStore } from '../harness/stores.ts';
import { CHECKED_DOCUMENTS_MAX } from './check.ts';
import { measureFigure7 } from './experiment.ts';
import { expectedSeconds, limitationsOf, type Size, SIZES } from './plan.ts';
import { arrivalSeconds } from './prepared.ts';
import { SWEEP, sweepPlan, sweepRepository } from './repository-sweep.ts';

const SAMPLE = path.join(import.meta.dirname, 'documents', 'sample', 'sqlite-sample.warc.gz');
/**
 * Bytes on the disk for each byte of documents: the store, its copy, the batch's files and the
 * output of a run.
 */
const DISK_FACTOR = 6;
/** Per second: more than one loader can load, with a transaction for each document. */
const LOADED_PER_SECOND_MAX = 20_000;

const HOSTS = hostsOptions();

/** The option, refused with a sweep of the repository, which has no use for it. */
const ofFigure = <T>(option: Option<T>): Option<T> => onlyWith({ sweep: ['rates'] }, option);

await runExperiment(
  {
    script: 'bench:crawl-rate',
    subject: FIGURE_7,
    description:
      'Measures how long a newly crawled document waits until it is clustered, as a function of the crawl rate, ' +
      'on Percolator and on back-to-back MapReduces (figure 7 of the paper). With --sweep repository: what a document costs in repositories of several sizes. ' +
      'Prints a table and writes a report.',
    sizes: SIZES,
    options: {
      sweep: choice({
        choices: ['rates', 'repository'],
        description:
          'what changes from point to point: with rates the crawl rate; with repository its size, up to --repository, and what a document costs at full speed is measured, on Percolator alone',
        default: 'rates',
      }),
      store: ofFigure(storeOption()),
      regionServers: onlyWith({ store: ['hbase'] }, regionServersOption()),
      repository: integer({
        description:
          'documents in the repository before the crawl; with --sweep repository, in the largest one',
        min: 1_000,
        // Loading keeps one map with 1.25 entries per document, and a map has at most 2^24 entries.
        max: 10_000_000,
      }),
      rates: ofFigure(
        numberList({
          description: 'crawl rates; each is a point of both curves',
          unit: '% of the repository per hour',
          min: 1e-3,
          max: 1e9,
        }),
      ),
      seconds: ofFigure(secondsOption('each point on Percolator')),
      warmUp: ofFigure(warmUpOption('each point on Percolator')),
      batchSeconds: ofFigure(
        number({
          description:
            'measured time of each point on MapReduce; a point takes longer if its first five measured runs do',
          unit: 'seconds',
          min: 0.1,
          max: 86_400,
        }),
      ),
      repeats: repeatsOption('each point'),
      seed: seedOption('the documents and the order of points'),
      concurrency: integer({
        description:
          'observer runs in flight; with too few the storage is idle, with too many the runs conflict with one another',
        default: 256,
        min: 1,
        max: 10_000,
      }),
      processes: ofFigure(
        integer({
          description:
            'worker processes; oracle, lock service and loader are then separate processes too',
          defaultText: 'one process for the whole engine; with --hosts, one for each of them',
          min: 1,
          max: 64,
        }),
      ),
      hosts: ofFigure(HOSTS.hosts),
      listen: ofFigure(HOSTS.listen),
      ...ENGINE_OPTIONS,
      batch: ofFigure(
        choice({
          choices: BATCH_ENGINES,
          description:
            'what runs the batch; hadoop and spark need tens of seconds for each run, so low rates and --batch-seconds of minutes suit them',
          default: 'local',
        }),
      ),
      workers: ofFigure(
        workersOption(
          'worker processes of the batch, and the number of its input files; on spark and a Hadoop cluster reducers instead of workers; on sort input files only',
        ),
      ),
      documentBytes: ofFigure(
        integer({
          description:
            'size of a document with its keys and address; 1024 is what the paper implies',
          default: 1024,
          min: 120,
          max: 65_536,
          unit: 'bytes',
        }),
      ),
      input: ofFigure(
        inputFile({
          description: 'a real crawl (WARC, also .gz) that both systems cluster in addition',
          default: SAMPLE,
          defaultText: "442 pages of SQLite's documentation, part of this project",
        }),
      ),
    },
    examples: [
      {
        command: './run.sh bench:crawl-rate --sweep repository --repository 2000000 --repeats 3',
        does: 'what a document costs in repositories of ten thousand to two million documents',
      },
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
        command: './run.sh bench:crawl-rate --hosts 3 --store hbase://10.0.0.1:16000',
        does: 'the engine on three other machines, when an agent on each has joined',
      },
      {
        command: './run.sh bench:crawl-rate --input crawl.warc.gz',
        does: 'shows the duplicates of your own crawl in the report',
      },
    ],
    isAcrossHosts: true,
    variant: ({ sweep }) => (sweep === 'rates' ? undefined : SWEEP),
    plan: (options) => (options.sweep === 'rates' ? figurePlan(options) : sweepPlan(options)),
  },
  async (options, measuring) => {
    const { hosts } = options;
    const processes = options.processes ?? (hosts > 0 ? hosts : undefined);
    const plan = { ...options, processes, engine: engineValuesOf(options) };
    return options.sweep === 'repository'
      ? sweepRepository(plan, measuring)
      : measureFigure7(plan, measuring);
  },
);

type FigureOptions = Size & {
  readonly documentBytes: number;
  readonly batch: BatchEngineName;
  readonly store: string;
  readonly input: string;
  readonly hosts: number;
};

function figurePlan(options: FigureOptions): RunPlan {
  refuseUncheckable(options);
  return {
    about: `${counted(options.repository, 'documents')}, ${counted(options.rates.length, 'crawl rates')} on both systems, ${counted(options.repeats, 'repeats')} of each point`,
    seconds: expectedSeconds(options),
    diskBytes: diskBytes(options),
    parameters: { ...parametersOf(options), input: path.basename(options.input) },
    store: describeStore(options.store),
    limitations: limitationsOf(options),
  };
}

/**
 * Refuses points of Percolator that may have more documents than a check can hold. The batch is
 * given no more than that (prepared.ts).
 */
function refuseUncheckable(options: FigureOptions): void {
  const { repository, seconds, warmUp } = options;
  const scheduled = scheduledDocuments(fastestSchedule(options));
  const loaded = Math.min(scheduled, Math.ceil(LOADED_PER_SECOND_MAX * (warmUp + seconds)));
  if (repository + loaded <= CHECKED_DOCUMENTS_MAX) return;
  throw new UsageError(
    `--repository, --rates, --seconds and --warm-up must give at most ${formatCount(CHECKED_DOCUMENTS_MAX)} ` +
      `documents, as many as a check can hold, but may give ${formatCount(repository + loaded)}.`,
  );
}

function fastestSchedule({ repository, rates, seconds, warmUp: warmupSeconds }: Size): Schedule {
  const ratePercentPerHour = Math.max(...rates);
  return createSchedule({ repository, ratePercentPerHour, seconds, warmupSeconds });
}

function diskBytes(options: FigureOptions): number {
  const { repository, documentBytes } = options;
  const schedule = fastestSchedule(options);
  const stored = DISK_FACTOR * (repository + scheduledDocuments(schedule));
  const arriving = schedule.perSecond * arrivalSeconds(options);
  return (stored + arriving) * documentBytes;
}
