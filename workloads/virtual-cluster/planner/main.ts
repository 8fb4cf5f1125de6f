/**
 * `./run.sh plan-cluster`: what cluster does a load need?
 *
 * Exit codes: 0 a plan; 1 no cluster carries the load or is fast enough, or the check of the plan
 * was too slow; 2 a mistake on the command line.
 */
import {
  choice,
  flag,
  integer,
  number,
  onlyWith,
  runCommand,
  seedOption,
  startProgress,
  text,
  UsageError,
} from '#harness';
import { counted, formatCount } from '#results';
import { calibrationNames, loadCalibration } from '../calibration/load.ts';
import { amount, noPlanWords, planJson, planLines, type Question } from './lines.ts';
import { FullBelowLoad, planCluster } from './plan.ts';
import { TooSlow } from './search.ts';
import { brokerageWorkload, crawlWorkload, PERCENTILES, type Workload } from './trial.ts';

const crawl = { workload: ['crawl-rate'] };
const LOAD_MAX = 1e7;

const specification = {
  script: 'plan-cluster',
  description:
    'Plans a cluster for a load: how many tablet servers and worker machines, what each part has to do, what is full ' +
    'first, and how sure that is. The real engine runs on a few machines in virtual time, at the costs of a ' +
    'calibration; the plan follows from what it did, and is checked on the planned cluster, as far as time allows.',
  options: {
    workload: choice({
      choices: ['crawl-rate', 'brokerage'],
      description: 'the load: clustering crawled documents (figure 7), or a brokerage (figure 9)',
      default: 'crawl-rate',
    }),
    calibration: text({
      description: `what operations cost: ${calibrationNames().join(', ')}, or the path of a file`,
      default: 'cloud-bigtable',
    }),
    documentsPerSecond: onlyWith(
      crawl,
      number({ description: 'documents that arrive in a second', min: 0.01, max: LOAD_MAX }),
    ),
    documentsPerHour: onlyWith(
      crawl,
      number({
        description: 'documents that arrive in an hour; give this or --documents-per-second',
        min: 36,
        max: 3600 * LOAD_MAX,
      }),
    ),
    repository: onlyWith(
      crawl,
      integer({
        description:
          'documents that are there already; many do not fit into the caches of few tablet servers',
        default: 1e9,
        min: 1_000,
        max: 1e13,
      }),
    ),
    tradeResultsPerSecond: onlyWith(
      { workload: ['brokerage'] },
      number({
        description: 'trades that are completed in a second, with 8.9 transactions for each',
        min: 0.1,
        max: 1e6,
      }),
    ),
    latency: number({
      description:
        'how long a document may wait for its cluster, or a Trade-Result may take; short ones need more machines',
      default: 1_000,
      min: 1,
      max: 3_600_000,
      unit: 'ms',
    }),
    percentile: choice({
      choices: PERCENTILES,
      description: 'how many of a hundred must be that fast',
      default: '90',
    }),
    margin: number({
      description:
        'how much of the time tablet servers and workers are free; little, and queues grow with every burst',
      default: 30,
      min: 1,
      max: 90,
      unit: '%',
    }),
    concurrency: onlyWith(
      crawl,
      integer({
        description: 'observer runs in flight on each worker; too few, and its cores idle',
        default: 64,
        min: 1,
        max: 10_000,
      }),
    ),
    scanRest: onlyWith(
      crawl,
      integer({
        description:
          'rest of a worker after a scan that found nothing new; too long, and documents wait',
        default: 100,
        min: 1,
        max: 60_000,
        unit: 'ms',
      }),
    ),
    checkSeconds: number({
      description:
        'about how long the simulation of the planned cluster may take here; if it would take longer, a part of the cluster is simulated',
      default: 120,
      min: 0,
      max: 86_400,
      unit: 'seconds',
    }),
    seed: seedOption('the load, and every delay'),
    json: flag({ description: 'print the plan as JSON' }),
  },
  examples: [
    {
      command: './run.sh plan-cluster --documents-per-second 5000',
      does: 'nodes of Cloud Bigtable, and machines for the engine',
    },
    {
      command:
        './run.sh plan-cluster --calibration hbase --documents-per-hour 2e6 --repository 1e8 --latency 500 --percentile 99',
      does: 'region servers for a smaller repository, in which documents wait less',
    },
    {
      command: './run.sh plan-cluster --workload brokerage --trade-results-per-second 100',
      does: 'a brokerage',
    },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  const { calibration, latency: latencyMs, percentile, checkSeconds, seed, json } = options;
  const margin = options.margin / 100;
  const loaded = loadCalibration(calibration);
  const { workload, load, inWords } = loadOf(
    options,
    loaded.calibration.cluster.workerMachines > 0,
  );
  const progress = startProgress();
  const found = await planCluster({
    loaded,
    workload,
    load,
    latencyMs,
    percentile,
    margin,
    checkSeconds,
    seed,
    signal,
    onTrial: (what, { tabletServers, workers, perSecond }) => {
      const machines = counted(tabletServers + workers, 'machines');
      const rate = amount(Number(perSecond.toPrecision(2)), workload.unit);
      progress.phase(`simulating ${what}: ${machines}, ${rate}/s`, 0);
    },
  }).finally(() => progress.end()); // Also before a failure is told: a bar would erase the sentence.
  const question: Question = {
    loaded,
    workload,
    load,
    inWords,
    latencyMs,
    percentile,
    margin,
    seed,
  };
  if (found instanceof TooSlow || found instanceof FullBelowLoad) {
    process.stderr.write(`${noPlanWords(question, found)}\n`);
    process.exitCode = 1;
    return;
  }
  const lines = json ? [planJson(question, found)] : planLines(question, found);
  process.stdout.write(`${lines.join('\n')}\n`);
  if (!found.isFastEnough) process.exitCode = 1;
});

interface GivenLoad {
  readonly workload: 'crawl-rate' | 'brokerage';
  readonly documentsPerSecond: number | undefined;
  readonly documentsPerHour: number | undefined;
  readonly tradeResultsPerSecond: number | undefined;
  readonly repository: number;
  readonly concurrency: number;
  readonly scanRest: number;
}

function loadOf(
  given: GivenLoad,
  hasWorkers: boolean,
): { readonly workload: Workload; readonly load: number; readonly inWords: string } {
  const { documentsPerSecond, documentsPerHour, tradeResultsPerSecond, repository } = given;
  if (given.workload === 'brokerage') {
    if (tradeResultsPerSecond === undefined) {
      throw new UsageError('--trade-results-per-second must be given: the load of the brokerage.');
    }
    const inWords = `${amount(tradeResultsPerSecond, 'Trade-Results')} a second`;
    return { workload: brokerageWorkload(), load: tradeResultsPerSecond, inWords };
  }
  if ((documentsPerSecond === undefined) === (documentsPerHour === undefined)) {
    throw new UsageError(
      'Either --documents-per-second or --documents-per-hour must be given, and not both: the load of the crawl.',
    );
  }
  const load = documentsPerSecond ?? (documentsPerHour ?? 0) / 3600;
  const percent = Number(((360_000 * load) / repository).toPrecision(2));
  const rate =
    documentsPerHour === undefined
      ? `${amount(load, 'documents')} a second`
      : `${amount(documentsPerHour, 'documents')} an hour`;
  const inWords = `${rate} into a repository of ${formatCount(repository)} (${percent} % of it per hour)`;
  return { workload: crawlWorkload({ ...given, hasWorkers }), load, inWords };
}
