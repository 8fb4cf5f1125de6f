/** The findings of figure 7 in virtual time. */
import {
  type FindingsParts,
  type ResultChart,
  type ResultMark,
  type ResultSeries,
  type ResultTable,
  noNumbers,
} from '#results';
import { counted, formatCount, lowerIsBetter } from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import {
  BATCH_NAMES,
  type BatchCurve,
  batchSentence,
  batchSeries,
  batchTable,
  PAPER_BATCH,
} from '../batch/figure-7-batch.ts';
import type { KindUsage } from '../cluster.ts';
import { judgedWords } from '../history.ts';
import { measuredBatchSeconds, measuredLatencies } from '../measured-series.ts';
import type { CrawlResult } from './crawl.ts';
import {
  comparedRate,
  type Figure7Plan,
  type RatePoint,
  repositoryOf,
  workersOf,
} from './measure.ts';
import { capacityOf, type CapacitySensitivity, OFFERED, SAME } from './sensitivity.ts';

/** What the paper states of its figure 7 (section 3.1). */
const PAPER = {
  machines: 240,
  /** In percent of the repository per hour: where its latency is stated, and where its wall is. */
  rate: 1,
  wall: 40,
  percolatorSeconds: 2,
  /** A thousand million documents in 20 minutes, over 40 % of them per hour. */
  q: 7.5,
};

export interface Figure7Result {
  readonly calibration: string;
  readonly plan: Figure7Plan;
  readonly points: readonly RatePoint[];
  readonly batch: readonly BatchCurve[];
  /** Absent if no number was varied. */
  readonly sensitivity?: CapacitySensitivity | undefined;
}

export function figure7Findings(given: Figure7Result): FindingsParts {
  const points = inOrder(given);
  const result = { ...given, points };
  const wrong = wrongOf(result);
  const latency = lowestLatency(result);
  if (wrong.length > 0 || mainPoints(result).length === 0) {
    const detail = wrong.length > 0 ? wrong.join('; ') : 'nothing has been simulated yet';
    return noNumbers(detail);
  }
  const documents = formatCount(sum(points.map((one) => one.result.clustered)));
  return {
    headline: [
      capacitySentences(result),
      latency === undefined ? '' : latencySentence(latency),
      batchSentence(result.batch, latency?.rate),
      ratioSentence(result),
    ]
      .filter((sentence) => sentence !== '')
      .join(' '),
    check: {
      passed: true,
      detail:
        `all ${documents} documents that were clustered are in the clusters that the reference finds in commit order, ` +
        'none twice; where the cluster kept up none is missing; calls, utilisation and queues keep their laws; ' +
        judgedWords(sum(points.map((one) => one.result.judged)), { observers: true }),
    },
    tables: [
      ratesTable(result),
      batchTable(result.batch),
      ...ratioTable(result),
      machinesTable(result),
      scaleTable(result),
      ...sensitivityTables(result),
    ],
    charts: [chartOf(result), ...normalisedChart(result)],
    targets: [],
  };
}

/**
 * By rate; of the two points of one rate, the one with the repository that all rates have is first.
 * Simulations end in any order if several run at a time, but the same seed must give the same
 * record.
 */
function inOrder({ plan, points }: Figure7Result): readonly RatePoint[] {
  const place = ({ repository }: RatePoint): number => plan.repositories.indexOf(repository);
  return points.toSorted((a, b) => a.rate - b.rate || place(a) - place(b));
}

function wrongOf({ points, sensitivity }: Figure7Result): readonly string[] {
  const wrong = points.flatMap(({ rate, result }) => {
    const none = result.clustered === 0 ? ['no document was clustered'] : [];
    return [...result.wrong, ...none].map((one) => `at ${rate} %/hour: ${one}`);
  });
  return [...wrong, ...(sensitivity?.wrong ?? [])];
}

/** Those with the repository that all rates have, in the order of the points. */
function mainPoints({ plan, points }: Figure7Result): readonly RatePoint[] {
  return points.filter(({ repository }) => repository === plan.repositories[0]);
}

/** Null where the backlog grew: not all documents that arrived were clustered. */
function latencyOf({ growth, latency }: CrawlResult): CrawlResult['latency'] {
  return growth.isSaturated ? null : latency;
}

function capacitySentences(result: Figure7Result): string {
  const { plan, calibration } = result;
  const points = mainPoints(result);
  const first = points.find(({ result: { growth } }) => growth.isSaturated);
  const capacity = capacityPercent(result);
  const cluster = `At the costs of ${calibration}, ${clusterWords(plan)}`;
  if (first === undefined || capacity === null) {
    return `${cluster} keep up with ${points.at(-1)?.rate} % per hour, the highest rate here; the paper's stop at ${PAPER.wall} %.`;
  }
  return `${cluster} cluster at most ${capacity.toFixed(0)} % of the repository per hour; the paper's wall is at ${PAPER.wall} %. ${limitWords(plan, first)}`;
}

function clusterWords(plan: Figure7Plan): string {
  const workers = workersOf(plan);
  if (workers === 0) return `${plan.machines} machines`;
  return `${plan.machines} tablet servers and ${counted(workers, 'workers')}`;
}

/** What is full where the backlog begins to grow: cores, or the runs that a worker may have. */
function limitWords(plan: Figure7Plan, { rate, result }: RatePoint): string {
  const { usage, runsInFlight } = result;
  const servers = usage.kinds.find(({ kind }) => kind === 'tablet server');
  const cores = 100 * (servers?.cores ?? 0);
  const workers = workersOf(plan);
  const runs = runsInFlight / (workers === 0 ? plan.machines : workers);
  const each = workers === 0 ? 'machine' : 'worker';
  return `At ${rate} % per hour, where the backlog begins to grow, the cores of tablet servers are ${cores.toFixed(0)} % busy, with ${runs.toFixed(0)} of at most ${plan.concurrency} observer runs in flight on each ${each}.`;
}

/** The lowest rate that has a latency. */
function lowestLatency(result: Figure7Result): RatePoint | undefined {
  return mainPoints(result).find((point) => latencyOf(point.result) !== null);
}

function latencySentence({ rate, result }: RatePoint): string {
  const { medianMs = Number.NaN } = latencyOf(result) ?? {};
  const paperWhere = rate === PAPER.rate ? '' : ` at ${PAPER.rate} %`;
  return `At ${rate} % per hour a document waits ${medianMs.toFixed(0)} ms (median); the paper's waited ${PAPER.percolatorSeconds} s${paperWhere}.`;
}

/** In percent of the repository per hour; null if the cluster kept up with all rates. */
function capacityPercent(result: Figure7Result): number | null {
  const points = mainPoints(result);
  if (points.every(({ result: { growth } }) => !growth.isSaturated)) return null;
  // At a rate that it keeps up with, a cluster clusters the last documents after the interval.
  const reached = points.map(({ rate, result: one }) =>
    one.growth.isSaturated ? capacityOf(rate, one) : rate,
  );
  return Math.max(...reached);
}

/** In documents per second; null if the cluster kept up with all rates. */
function capacityPerSecond(result: Figure7Result): number | null {
  const percent = capacityPercent(result);
  if (percent === null) return null;
  return (percent / 100 / 3600) * repositoryOf(result.plan.machines);
}

interface CostRatio {
  readonly batch: string;
  readonly batchPerSecond: number;
  readonly capacity: number;
  /** A document's cost in Percolator over its cost in the batch, in time of all cores. */
  readonly q: number;
}

/** The batch streams the repository alone; Percolator clusters what it can at most. */
function costRatios(result: Figure7Result): readonly CostRatio[] {
  const capacity = capacityPerSecond(result);
  if (capacity === null) return [];
  return result.batch.map(({ contents, repositorySeconds }) => {
    const batchPerSecond = repositoryOf(result.plan.machines) / repositorySeconds;
    const q = (coresTimes(result.plan) * batchPerSecond) / capacity;
    return { batch: BATCH_NAMES[contents], batchPerSecond, capacity, q };
  });
}

/**
 * Percolator's cores over those of the batch, which has the tablet servers' machines alone: 1 if
 * workers run on those.
 */
function coresTimes(plan: Figure7Plan): number {
  const { tabletServerCores, workerCores } = plan.calibration.cluster;
  const servers = plan.machines * tabletServerCores;
  return (servers + workersOf(plan) * workerCores) / servers;
}

function ratioSentence(result: Figure7Result): string {
  const [whole, keys] = costRatios(result);
  if (whole === undefined || keys === undefined) return '';
  return `A document costs q = ${whole.q.toFixed(1)} times what it costs the batch (${keys.q.toFixed(1)} with keys alone); the paper's q was ${PAPER.q}.`;
}

function ratioTable(result: Figure7Result): readonly ResultTable[] {
  const ratios = costRatios(result);
  if (ratios.length === 0) return [];
  const repository = repositoryOf(PAPER.machines);
  const paper = [repository / PAPER_BATCH.runSeconds, (PAPER.wall / 100 / 3600) * repository];
  return [
    {
      name: 'cost-ratio',
      title: 'What a document costs in Percolator over what it costs in the batch',
      caption: `In time of all cores: documents that a batch over the whole repository streams, over those that Percolator clusters at most${coresWords(result.plan)}.`,
      columns: ['batch', 'batch, documents/s', 'Percolator, documents/s', 'q'],
      rows: [
        ['paper', ...paper.map((perSecond) => rounded(perSecond)), PAPER.q],
        ...ratios.map(({ batch, batchPerSecond, capacity, q }) => [
          batch,
          rounded(batchPerSecond),
          rounded(capacity),
          rounded(q, 3),
        ]),
      ],
    },
  ];
}

function coresWords(plan: Figure7Plan): string {
  const times = coresTimes(plan);
  return times === 1
    ? ''
    : `, times ${times.toFixed(1)}, because Percolator has that many times the cores of the batch, which has no workers`;
}

function ratesTable(result: Figure7Result): ResultTable {
  const { plan, calibration } = result;
  return {
    name: 'figure-7',
    title: 'Latency until a document is clustered, by crawl rate',
    caption:
      `${clusterWords(plan)} at the costs of ${calibration}. Where the backlog grows there is no latency. Calls are those of a ` +
      'document, its load and scans included; conflicts are those of the warm-up and of all documents after it. The paper ' +
      'states the latency at 1 %, and its wall.',
    columns: [
      'cluster',
      '% per hour',
      'documents/s',
      'completed/s',
      'backlog grows by/s',
      'median ms',
      'p99 ms',
      'samples',
      'calls',
      'conflicts',
    ],
    rows: [
      ['paper', PAPER.rate, null, null, 0, 1000 * PAPER.percolatorSeconds, ...nulls(4)],
      ...mainPoints(result).map(({ rate, result: one }) => {
        const { perSecond, completedPerSecond, growth, conflicts } = one;
        const shown = latencyOf(one);
        return [
          calibration,
          rate,
          rounded(perSecond),
          rounded(completedPerSecond),
          growth.isSaturated ? rounded(growth.perSecond) : 0,
          rounded(shown?.medianMs ?? null),
          rounded(shown?.p99Ms ?? null),
          shown?.samples ?? null,
          rounded(callsPerDocument(one)),
          conflicts,
        ];
      }),
    ],
    metrics: { rowNames: 2, columns: [lowerIsBetter('median ms', 'ms')] },
  };
}

function nulls(count: number): readonly null[] {
  return Array.from({ length: count }, () => null);
}

/** Of the storage, scans included; the load is part of a document. */
function callsPerDocument({ usage, completedPerSecond }: CrawlResult): number {
  const calls = sum(Object.values(usage.calls).map(({ sent }) => sent));
  return calls / (usage.seconds * completedPerSecond);
}

function machinesTable(result: Figure7Result): ResultTable {
  return {
    name: 'machines',
    title: 'How busy the machines were',
    caption:
      'Shares of the time in which cores and disks worked; highest is that of the busiest machine of its kind. Where one ' +
      'machine is busy and the others are not, it has something that all need.',
    columns: [
      '% per hour',
      'machines',
      'number',
      'cores',
      'cores, highest',
      'disks',
      'wait for a core, mean µs',
    ],
    rows: mainPoints(result).flatMap(({ rate, result: { usage } }) =>
      usage.kinds.map((kind) => [rate, ...usageRow(kind)]),
    ),
  };
}

function usageRow(usage: KindUsage): readonly (string | number | null)[] {
  const { kind, machines, cores, coresMax, disks, coreWaitMeanUs } = usage;
  const shares = [cores, coresMax, disks].map((share) => rounded(share, 3));
  return [kind, machines, ...shares, rounded(coreWaitMeanUs, 3)];
}

function scaleTable({ plan, points }: Figure7Result): ResultTable {
  const rate = comparedRate(plan.rates);
  const compared = points.filter((one) => one.rate === rate);
  return {
    name: 'scale',
    title: 'The same rate with a smaller and a larger part of the repository in memory',
    caption: `At ${rate} % per hour. If the size of the part mattered, the rows would differ by more than chance does.`,
    columns: [
      'documents in memory',
      'each stands for',
      'median ms',
      'p99 ms',
      'samples',
      'calls of a document',
      'cores of tablet servers',
    ],
    rows: compared.map(({ repository, scale, result }) => {
      const latency = latencyOf(result);
      const servers = result.usage.kinds.find(({ kind }) => kind === 'tablet server');
      return [
        repository,
        rounded(scale),
        rounded(latency?.medianMs ?? null),
        rounded(latency?.p99Ms ?? null),
        latency?.samples ?? null,
        rounded(callsPerDocument(result)),
        rounded(servers?.cores ?? null, 3),
      ];
    }),
  };
}

function sensitivityTables({ sensitivity }: Figure7Result): readonly ResultTable[] {
  if (sensitivity === undefined) return [];
  const { machines, capacity, variations } = sensitivity;
  return [
    {
      name: 'sensitivity',
      title: 'What becomes of the capacity if an assumed number is half or twice as large',
      caption: `On ${machines} machines with their share of the repository, offered ${OFFERED} % of it per hour; a capacity near that is a lower bound. Numbers that move the capacity by less than ${100 * SAME} % are left out: another seed does that as well.`,
      columns: ['number', 'times', 'capacity, % per hour', 'relative'],
      rows: [
        ['(as it is)', 1, rounded(capacity, 3), 1],
        ...variations.map(({ place, factor, capacity: varied }) => [
          place,
          factor,
          rounded(varied, 3),
          rounded(varied / capacity, 3),
        ]),
      ],
    },
  ];
}

function chartOf(result: Figure7Result): ResultChart {
  return {
    name: 'figure-7',
    title: 'Latency until clustered, by crawl rate, in virtual time',
    caption: `Points where ${clusterWords(result.plan)} kept up. The paper's wall is at ${PAPER.wall} % per hour; hollow marks are its Percolator and its MapReduce at 1 %. This machine's rates are of its own repository.`,
    x: { title: 'Crawl rate, % of the repository per hour', scale: 'logarithmic', ticks: [] },
    y: { title: 'Seconds until clustered', scale: 'logarithmic', ticks: [] },
    series: [
      medianSeries(result),
      {
        name: 'Percolator, 99th percentile',
        look: 'other',
        isLine: true,
        points: marksOf(result, 'p99Ms'),
      },
      ...batchSeries(result.batch),
      ...measuredLatencies(),
      paperSeries(),
    ],
  };
}

/**
 * Everything in units of one batch run over the whole repository, as in the report of
 * bench:crawl-rate: machines of any number and speed share one picture.
 */
function normalisedChart(result: Figure7Result): readonly ResultChart[] {
  const here = measuredBatchSeconds();
  const batch = result.batch.filter(({ contents }) => contents === 'once');
  const unit = batch[0]?.repositorySeconds;
  if (unit === undefined) return [];
  const inRuns = (all: readonly ResultSeries[], seconds: number): readonly ResultSeries[] =>
    all.map((series) => ({
      ...series,
      points: series.points.map((mark) => ({
        ...mark,
        x: (mark.x / 100) * (seconds / 3600),
        y: mark.y / seconds,
      })),
    }));
  return [
    {
      name: 'normalised',
      title: 'The same figure in units of a batch run',
      caption:
        'A batch run over the whole repository is the unit of both axes, for each cluster its own: for the virtual one if keys alone reach phases 2 and 3, and 20 minutes for the paper.',
      x: {
        title: 'Share of the repository that arrives during one batch run',
        scale: 'logarithmic',
        ticks: [],
      },
      y: { title: 'Latency, in batch runs', scale: 'logarithmic', ticks: [] },
      series: [
        ...inRuns([medianSeries(result), ...batchSeries(batch)], unit),
        // A run that was too noisy for a model of its batch has no such unit.
        ...(here === null ? [] : inRuns(measuredLatencies(), here)),
        ...inRuns([paperSeries()], PAPER_BATCH.runSeconds),
      ],
    },
  ];
}

function medianSeries(result: Figure7Result): ResultSeries {
  return {
    name: 'Percolator, median',
    look: 'percolator',
    isLine: true,
    points: marksOf(result, 'medianMs'),
  };
}

function paperSeries(): ResultSeries {
  const stated = (y: number): ResultMark => ({ x: PAPER.rate, y, low: null, high: null });
  const points = [stated(PAPER.percolatorSeconds), stated(PAPER_BATCH.medianSeconds)];
  return { name: 'paper', look: 'paper', isLine: false, points };
}

/** In seconds, at the rates that the cluster kept up with. */
function marksOf(result: Figure7Result, of: 'medianMs' | 'p99Ms'): readonly ResultMark[] {
  return mainPoints(result).flatMap(({ rate, result: one }) => {
    const latency = latencyOf(one);
    if (latency === null) return [];
    return [{ x: rate, y: latency[of] / 1000, low: null, high: null, samples: latency.samples }];
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
