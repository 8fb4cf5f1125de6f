/** The findings of figure 7 in virtual time. */
import { sum } from 'simple-statistics';
import {
  column,
  counted,
  dots,
  type FindingsParts,
  formatCount,
  line,
  lower,
  noNumbers,
  type ResultChart,
  type ResultSeries,
  type ResultTable,
  resultTable,
  rowName,
  series,
} from '#results';
import { rounded } from '../../harness/statistics.ts';
import {
  BATCH_NAMES,
  type BatchCurve,
  batchSentence,
  batchSeries,
  batchTable,
  PAPER_BATCH,
} from '../batch/cycles.ts';
import { judgedWords } from '../history.ts';
import { measuredBatchSeconds, measuredLatencies } from '../measured.ts';
import type { CrawlResult } from './crawl.ts';
import {
  capacityOf,
  type CapacitySensitivity,
  comparedRate,
  type Figure7Plan,
  OFFERED,
  type RatePoint,
  repositoryOf,
  SAME,
  workersOf,
} from './measure.ts';

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
  const paper: CostRatio = {
    batch: 'paper',
    batchPerSecond: repository / PAPER_BATCH.runSeconds,
    capacity: (PAPER.wall / 100 / 3600) * repository,
    q: PAPER.q,
  };
  return [
    resultTable(
      {
        name: 'cost-ratio',
        title: 'What a document costs in Percolator over what it costs in the batch',
        caption: `In time of all cores: documents that a batch over the whole repository streams, over those that Percolator clusters at most${coresWords(result.plan)}.`,
      },
      [paper, ...ratios],
      [
        column('batch', ({ batch }) => batch),
        column('batch, documents/s', ({ batchPerSecond }) => rounded(batchPerSecond)),
        column('Percolator, documents/s', ({ capacity }) => rounded(capacity)),
        column('q', ({ q }) => rounded(q, 3)),
      ],
    ),
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
  return resultTable(
    {
      name: 'figure-7',
      title: 'Latency until a document is clustered, by crawl rate',
      caption:
        `${clusterWords(plan)} at the costs of ${calibration}. Where the backlog grows there is no latency. Calls are those of a ` +
        'document, its load and scans included; conflicts are those of the warm-up and of all documents after it. The paper ' +
        'states the latency at 1 %, and its wall.',
    },
    mainPoints(result).map(({ rate, result: one }) => ({ rate, one, latency: latencyOf(one) })),
    [
      rowName('cluster', () => calibration),
      rowName('% per hour', ({ rate }) => rate),
      column('documents/s', ({ one }) => rounded(one.perSecond)),
      column('completed/s', ({ one }) => rounded(one.completedPerSecond)),
      column('backlog grows by/s', ({ one: { growth } }) =>
        growth.isSaturated ? rounded(growth.perSecond) : 0,
      ),
      column('median ms', ({ latency }) => rounded(latency?.medianMs ?? null), lower('ms')),
      column('p99 ms', ({ latency }) => rounded(latency?.p99Ms ?? null)),
      column('samples', ({ latency }) => latency?.samples ?? null),
      column('calls', ({ one }) => rounded(callsPerDocument(one))),
      column('conflicts', ({ one }) => one.conflicts),
    ],
    {
      cluster: 'paper',
      '% per hour': PAPER.rate,
      'backlog grows by/s': 0,
      'median ms': 1000 * PAPER.percolatorSeconds,
    },
  );
}

/** Of the storage, scans included; the load is part of a document. */
function callsPerDocument({ usage, completedPerSecond }: CrawlResult): number {
  const calls = sum(Object.values(usage.calls).map(({ sent }) => sent));
  return calls / (usage.seconds * completedPerSecond);
}

function machinesTable(result: Figure7Result): ResultTable {
  return resultTable(
    {
      name: 'machines',
      title: 'How busy the machines were',
      caption:
        'Shares of the time in which cores and disks worked; highest is that of the busiest machine of its kind. Where one ' +
        'machine is busy and the others are not, it has something that all need.',
    },
    mainPoints(result).flatMap(({ rate, result: { usage } }) =>
      usage.kinds.map((kind) => ({ rate, ...kind })),
    ),
    [
      column('% per hour', ({ rate }) => rate),
      column('machines', ({ kind }) => kind),
      column('number', ({ machines }) => machines),
      column('cores', ({ cores }) => rounded(cores, 3)),
      column('cores, highest', ({ coresMax }) => rounded(coresMax, 3)),
      column('disks', ({ disks }) => rounded(disks, 3)),
      column('wait for a core, mean µs', ({ coreWaitMeanUs }) => rounded(coreWaitMeanUs, 3)),
    ],
  );
}

function scaleTable({ plan, points }: Figure7Result): ResultTable {
  const rate = comparedRate(plan.rates);
  const compared = points.filter((one) => one.rate === rate);
  const serversIn = ({ usage }: CrawlResult) =>
    usage.kinds.find(({ kind }) => kind === 'tablet server');
  return resultTable(
    {
      name: 'scale',
      title: 'The same rate with a smaller and a larger part of the repository in memory',
      caption: `At ${rate} % per hour. If the size of the part mattered, the rows would differ by more than chance does.`,
    },
    compared.map((point) => ({ point, latency: latencyOf(point.result) })),
    [
      column('documents in memory', ({ point }) => point.repository),
      column('each stands for', ({ point }) => rounded(point.scale)),
      column('median ms', ({ latency }) => rounded(latency?.medianMs ?? null)),
      column('p99 ms', ({ latency }) => rounded(latency?.p99Ms ?? null)),
      column('samples', ({ latency }) => latency?.samples ?? null),
      column('calls of a document', ({ point }) => rounded(callsPerDocument(point.result))),
      column('cores of tablet servers', ({ point }) =>
        rounded(serversIn(point.result)?.cores ?? null, 3),
      ),
    ],
  );
}

function sensitivityTables({ sensitivity }: Figure7Result): readonly ResultTable[] {
  if (sensitivity === undefined) return [];
  const { machines, capacity, variations } = sensitivity;
  return [
    resultTable(
      {
        name: 'sensitivity',
        title: 'What becomes of the capacity if an assumed number is half or twice as large',
        caption: `On ${machines} machines with their share of the repository, offered ${OFFERED} % of it per hour; a capacity near that is a lower bound. Numbers that move the capacity by less than ${100 * SAME} % are left out: another seed does that as well.`,
      },
      [{ place: '(as it is)', factor: 1, capacity }, ...variations],
      [
        column('number', ({ place }) => place),
        column('times', ({ factor }) => factor),
        column('capacity, % per hour', ({ capacity: varied }) => rounded(varied, 3)),
        column('relative', ({ capacity: varied }) => rounded(varied / capacity, 3)),
      ],
    ),
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
      ...latencySeries(result),
      ...batchSeries(result.batch),
      ...measuredLatencies(),
      ...paperSeries(),
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
    all.map((one) => ({
      ...one,
      points: one.points.map((mark) => ({
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
        ...inRuns([...latencySeries(result).slice(0, 1), ...batchSeries(batch)], unit),
        // A run that was too noisy for a model of its batch has no such unit.
        ...(here === null ? [] : inRuns(measuredLatencies(), here)),
        ...inRuns(paperSeries(), PAPER_BATCH.runSeconds),
      ],
    },
  ];
}

/** The median and the 99th percentile, in seconds, at the rates that the cluster kept up with. */
function latencySeries(result: Figure7Result): readonly ResultSeries[] {
  const points = mainPoints(result).flatMap(({ rate, result: one }) => {
    const latency = latencyOf(one);
    return latency === null ? [] : [{ rate, ...latency }];
  });
  return series(points, ({ rate, samples }) => ({ x: rate, samples }), [
    line('Percolator, median', 'percolator', ({ medianMs }) => medianMs / 1000),
    line('Percolator, 99th percentile', 'other', ({ p99Ms }) => p99Ms / 1000),
  ]);
}

function paperSeries(): readonly ResultSeries[] {
  const stated = [PAPER.percolatorSeconds, PAPER_BATCH.medianSeconds];
  return series(stated, () => ({ x: PAPER.rate }), [dots('paper', 'paper', (seconds) => seconds)]);
}
