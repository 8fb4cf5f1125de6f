/** `./run.sh bench:cluster`: figures of the paper on its own cluster, in virtual time. */
import { sum } from 'simple-statistics';
import {
  choice,
  counted,
  integer,
  jobsOption,
  type Measuring,
  numberList,
  onlyWith,
  runExperiment,
  seedOption,
  text,
} from '#harness';
import { type FindingsParts, formatCount, UsageError } from '#results';
import { parametersOf } from '../harness/experiment/plan.ts';
import { rounded } from '../harness/statistics.ts';
import { batchCurves } from './batch/cycles.ts';
import { calibrationNames, type LoadedCalibration, loadCalibration } from './calibration/load.ts';
import { figure7Findings } from './figure-7/findings.ts';
import {
  DOCUMENT_BYTES,
  type Figure7Plan,
  measuredDocuments,
  measureFigure7,
  type RatePoint,
  repositoryOf,
  varyFigure7,
} from './figure-7/measure.ts';
import { figure8Findings } from './figure-8/findings.ts';
import {
  CASES,
  type Figure8Plan,
  measureCase,
  type MeasuredCase,
  type Variation,
  varyFigure8,
} from './figure-8/measure.ts';
import { simulateFigure9 } from './figure-9/figure-9.ts';
import { simulateFigure10, variantsOf } from './figure-10/figure-10.ts';
import { simulateOracle } from './oracle/oracle.ts';
import { measureCosts } from './measured-costs/measured-costs.ts';
import { simulateScanners } from './scanners/scanners.ts';
import { secondsOf, type ClusterSize, SIZES } from './sizes.ts';
import { simulateValidation } from './validation/validate.ts';

const VIRTUAL = {
  name: 'virtual',
  durability: 'the log of a virtual tablet server survives its death',
};
const EMBEDDED = {
  name: 'embedded',
  durability: 'every commit is on disk (fsync, in groups) before it is answered',
};
const COSTS_LIMITATIONS: readonly string[] = [
  'A profile is a sample: of code that takes little time it says little.',
  'Whatever else the machine does makes these times longer.',
  'Times of the main thread do not hold those of the helpers of the garbage collector.',
];

const BALANCING =
  'Tablets are split and moved by their load only before a load is measured, and that takes no time.';

const FIGURES = ['7', '8', '9', '10', 'oracle', 'scanners', 'validation', 'costs'] as const;
type Figure = (typeof FIGURES)[number];

/** Of the values that are read and written, as in the evaluation of the Bigtable paper. */
const VALUE_BYTES = 1_000;

await runExperiment(
  {
    script: 'bench:cluster',
    subject: {
      kicker: 'Percolator paper, section 3',
      title: "The paper's cluster in virtual time",
    },
    description:
      "Runs the engine on the paper's cluster in virtual time: every machine, queue and call is simulated at the costs " +
      'of a calibration, and the engine and its observers are the real ones.',
    sizes: SIZES,
    options: {
      figure: choice({
        choices: FIGURES,
        description:
          'the figure: 7 is latency by crawl rate, 8 the cost of transactions, 9 the cores of a brokerage by its load, 10 the death of a third of its tablet servers, oracle the limit of one oracle, scanners the speed of scanners that meet; validation compares what the model predicts of this machine with what was measured; costs measures on this machine what calibrate needs',
        default: '7',
      }),
      calibration: onlyWith(
        { figure: ['7', '8', '9', '10', 'oracle', 'scanners'] },
        text({
          description: `what operations cost: ${calibrationNames().join(', ')}, or the path of a file`,
          default: 'paper-2010',
        }),
      ),
      machines: onlyWith(
        { figure: ['7'] },
        integer({
          description:
            'tablet servers, and workers in proportion; fewer serve only their share of the repository',
          min: 2,
          max: 2_000,
        }),
      ),
      rates: onlyWith(
        { figure: ['7'] },
        numberList({
          description: 'crawl rates; each is a simulation of its own',
          unit: '% of the repository per hour',
          min: 0.01,
          max: 10_000,
        }),
      ),
      concurrency: onlyWith(
        { figure: ['7'] },
        integer({
          description: 'observer runs in flight on each worker; too few, and its cores idle',
          default: 256,
          min: 1,
          max: 10_000,
        }),
      ),
      scanRest: onlyWith(
        { figure: ['7'] },
        integer({
          description:
            'rest of a worker after a scan that found nothing new; too long, and documents wait',
          default: 100,
          min: 1,
          max: 60_000,
          unit: 'ms',
        }),
      ),
      seed: seedOption('the documents, and every delay'),
      jobs: onlyWith({ figure: ['7'] }, jobsOption('crawl rates simulated')),
    },
    examples: [
      {
        command: './run.sh bench:cluster --figure 8',
        does: 'what transactions cost a tablet server',
      },
      {
        command: './run.sh bench:cluster --figure 10',
        does: "a third of a brokerage's tablet servers die",
      },
      {
        command: './run.sh bench:cluster --figure validation',
        does: 'is the model right about this machine?',
      },
      {
        command: './run.sh bench:cluster --rates 40,60 --machines 60',
        does: "two rates on a quarter of the paper's cluster",
      },
    ],
    plan: (options) => {
      const { figure, machines, rates, jobs } = options;
      if (figure === '7') refuseTooSlow(options);
      const abouts = {
        7: `${counted(rates.length, 'crawl rates')} on ${counted(machines, 'machines')} in virtual time`,
        8: 'reads and writes of one tablet server in virtual time, raw and Percolator',
        9: `${counted(options.figure9.loads.length, 'loads')} of a brokerage in virtual time`,
        10: 'a third of the tablet servers of a brokerage killed in virtual time',
        oracle: `${counted(options.oracle.callers.length, 'numbers')} of callers of one oracle in virtual time`,
        scanners: `${counted(options.scanning.scanners, 'scanners')} that meet, in virtual time`,
        costs: 'what operations and the workloads themselves cost on this machine, in real time',
        validation: 'what the model predicts of this machine, next to what was measured on it',
      };
      const calibration = calibrationOf(options);
      const { seed } = options;
      return {
        about: abouts[figure],
        seconds: secondsOf(options, jobs),
        parameters: parametersOf({ figure, calibration, seed, ...sizeOf(options) }),
        ...(calibration === undefined
          ? { store: EMBEDDED, limitations: COSTS_LIMITATIONS }
          : {
              store: VIRTUAL,
              // Also refuses a calibration that does not exist, before anything begins.
              limitations: limitationsOf(loadCalibration(calibration).name, figure),
            }),
      };
    },
  },
  async (options, measuring) => {
    const { figure, seed, isVaried } = options;
    if (figure === 'costs') return measureCosts(options.costs, measuring);
    if (figure === 'validation') {
      return simulateValidation({ ...options.validation, seed }, measuring);
    }
    const loaded = loadCalibration(options.calibration);
    const variants = variantsOf(loaded.calibration, options.profile !== 'smoke');
    const { tabletServers, workerMachines } = loaded.calibration.cluster;
    const workers = workerMachines === 0 ? tabletServers : workerMachines;
    const simulations = {
      7: () => simulateFigure7({ ...options, loaded }, measuring),
      8: () => simulateFigure8({ ...options, loaded }, measuring),
      9: () => simulateFigure9({ ...options.figure9, loaded, seed, isVaried }, measuring),
      10: () => simulateFigure10({ ...options.figure10, loaded, seed, variants }, measuring),
      oracle: () => simulateOracle({ ...options.oracle, loaded, seed, workers }, measuring),
      scanners: () => simulateScanners({ ...options.scanning, loaded, seed }, measuring),
    };
    return simulations[figure]();
  },
);

type Sized7 = Omit<Figure7Plan, 'calibration' | 'warmUp' | 'seconds'> &
  Pick<ClusterSize, 'times' | 'isVaried'>;

/** The calibration at whose costs a figure is simulated; none for costs that are measured here. */
function calibrationOf(options: {
  readonly figure: string;
  readonly calibration: string;
}): string | undefined {
  if (options.figure === 'costs') return undefined;
  return options.figure === 'validation' ? 'this-machine' : options.calibration;
}

/** The options and the part of the size that decide what a figure measures. */
function sizeOf(
  options: ClusterSize & {
    readonly figure: Figure;
    readonly concurrency: number;
    readonly scanRest: number;
    readonly jobs: number;
  },
): object {
  const { figure, isVaried, times, machines, rates, repositories } = options;
  const { concurrency, scanRest, jobs } = options;
  const crawls = { machines, rates, repositories, concurrency, scanRest, jobs };
  const sizes: Readonly<Record<Figure, object>> = {
    7: { ...crawls, ...times, isVaried },
    8: { ...options.figure8, isVaried },
    9: { ...options.figure9, isVaried },
    10: options.figure10,
    oracle: options.oracle,
    scanners: options.scanning,
    validation: options.validation,
    costs: options.costs,
  };
  return sizes[figure];
}

/** Without a document there is no latency, and nothing to check. */
function refuseTooSlow(options: Pick<ClusterSize, 'machines' | 'rates' | 'times'>): void {
  const { machines, rates, times } = options;
  const slow = rates.find((rate) => measuredDocuments({ machines, ...times }, rate) < 1);
  if (slow === undefined) return;
  throw new UsageError(
    `--rates must bring a document in the ${times.seconds} s that are measured, but ${slow} % per hour brings none to ${machines} machines.`,
  );
}

function limitationsOf(calibration: string, figure: string): readonly string[] {
  return [
    ...(figure === '9' || figure === '10' ? [BALANCING] : []),
    `Nothing here was measured on a cluster: each operation costs what the calibration ${calibration} says, and many of its numbers are assumed.`,
    'Service times are constant but for those of a machine that was idle, queues are first come first served, and the network has no queue but that of the sending card.',
    'A row is applied when its call arrives at the server, and becomes visible then, not when the server has finished it.',
    'What a run has written stays in memory until its server dies, and the filter of a tablet knows which rows do not exist.',
  ];
}

async function simulateFigure7(
  options: Sized7 & { readonly loaded: LoadedCalibration },
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const { loaded, times, isVaried, ...others } = options;
  const { name, calibration } = loaded;
  const plan: Figure7Plan = { ...others, ...times, calibration };
  const points: RatePoint[] = [];
  const batch = batchCurves({
    ...plan,
    repository: repositoryOf(plan.machines),
    documentBytes: DOCUMENT_BYTES,
  });
  progress.phase('simulating', plan.rates.length + 1, 'points');
  await measureFigure7(plan, signal, (point) => {
    points.push(point);
    progress.update(points.length);
    progress.note(inWords(point));
    keep(figure7Findings({ calibration: name, plan, points, batch }));
  });
  if (!isVaried) return figure7Findings({ calibration: name, plan, points, batch });
  const onVariation = (done: number, total: number): void => {
    if (done === 1) progress.phase('varying the assumed numbers', total, 'variations');
    progress.update(done);
  };
  const sensitivity = await varyFigure7(loaded, plan, { signal, onVariation });
  return figure7Findings({ calibration: name, plan, points, batch, sensitivity });
}

function inWords({ rate, repository, result }: RatePoint): string {
  const { growth, latency, wrong, completedPerSecond } = result;
  const where = `${rate} %/hour, ${repository} documents in memory`;
  if (wrong.length > 0) return `${where}: CHECK FAILED: ${wrong.join('; ')}`;
  const completed = `${completedPerSecond.toFixed(0)} documents/s`;
  if (growth.isSaturated) return `${where}: saturated at ${completed}`;
  if (latency === null) return `${where}: no document was measured`;
  return `${where}: median ${latency.medianMs.toFixed(0)} ms at ${completed}`;
}

async function simulateFigure8(
  options: Pick<ClusterSize, 'figure8' | 'isVaried'> & {
    readonly seed: number;
    readonly loaded: LoadedCalibration;
  },
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const { loaded, figure8, seed, isVaried } = options;
  const { calibration, name } = loaded;
  const plan: Figure8Plan = { ...figure8, valueBytes: VALUE_BYTES, seed, calibration };
  const cases: MeasuredCase[] = [];
  progress.phase('simulating', CASES.length, 'cases');
  for (const one of CASES) {
    signal.throwIfAborted();
    const measured = await measureCase(plan, one);
    cases.push(measured);
    progress.update(cases.length);
    progress.note(speedWords(measured));
    keep(figure8Findings({ calibration: name, cases, variations: [] }));
  }
  let variations: readonly Variation[] = [];
  if (isVaried) {
    const onVariation = (done: number, total: number): void => {
      if (done === 0) progress.phase('varying the assumed numbers', total, 'variations');
      progress.update(done);
    };
    variations = await varyFigure8(loaded, plan, { signal, onVariation });
  }
  return figure8Findings({ calibration: name, cases, variations });
}

/** Not in the record: another machine would not repeat it. */
function speedWords({ name, usage, cpuSeconds }: MeasuredCase): string {
  const answered = sum(Object.values(usage.calls).map((calls) => calls.answered));
  const speed = formatCount(rounded(answered / cpuSeconds, 3) ?? 0);
  return `${name}: ${speed} operations of the store are simulated in a second of processor time`;
}
