/** The findings of the validation: each number, its prediction, and the error. */
import {
  column,
  type FindingsParts,
  noNumbers,
  type Point,
  type ResultTable,
  resultTable,
  type Target,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics.ts';
import type { CrawlResult } from '../figure-7/crawl.ts';
import type { MeasuredCrawl, PacedLoad } from '../measured.ts';
import type { Usage } from '../usage.ts';
import { COUNTED_DOCUMENTS, type Operations } from './operations.ts';

/** A number that was measured, and what the model says. */
export interface Compared {
  readonly workload: string;
  readonly what: string;
  readonly unit: string;
  readonly measured: number;
  readonly predicted: number;
  /** The largest error that is wanted, in percent; null for what is shown only. */
  readonly errorMax: number | null;
}

export interface Validated {
  /** The runs that measured. */
  readonly runs: readonly string[];
  readonly compared: readonly Compared[];
  readonly counted: { readonly measured: Operations; readonly predicted: Operations };
  readonly wrong: readonly string[];
}

const KINDS = ['read', 'mutate', 'conditionalMutate'] as const;
const KIND_NAMES = {
  read: 'reads',
  mutate: 'mutations',
  conditionalMutate: 'conditional mutations',
} as const;

export function validationFindings(validated: Validated): FindingsParts {
  const { compared, wrong, counted } = validated;
  if (wrong.length > 0) return noNumbers(wrong.join('; '));
  const { measured, predicted } = counted;
  const areEqual = KINDS.every((kind) => measured[kind] === predicted[kind]);
  const judged = compared.filter(({ errorMax }) => errorMax !== null);
  const within = judged.filter(isWithin);
  return {
    headline:
      `${within.length} of ${judged.length} numbers that the model should predict are within their limits. ` +
      `A document takes ${areEqual ? 'exactly the operations' : 'other operations than those'} that the model says.`,
    check: {
      passed: true,
      detail:
        'clusters are right, and so are histories and tables of the simulated runs that came to rest; calls, utilisation and queues keep their laws',
    },
    tables: [comparedTable(validated), operationsTable(counted)],
    charts: [],
    targets: [...judged.map(targetOf), operationsTarget(counted, areEqual)],
  };
}

function errorPercent({ measured, predicted }: Compared): number {
  return 100 * (predicted / measured - 1);
}

function isWithin(one: Compared): boolean {
  return one.errorMax !== null && Math.abs(errorPercent(one)) <= one.errorMax;
}

export function inWords(one: Compared): string {
  const { workload, what, unit, measured, predicted } = one;
  return `${workload}: ${what} ${predicted.toPrecision(3)} ${unit}, measured ${measured.toPrecision(3)}`;
}

function targetOf(one: Compared): Target {
  const { workload, what, unit, measured, predicted, errorMax } = one;
  return {
    name: `${workload}: ${what}`,
    target: `predicted within ${errorMax} %`,
    measured: `${rounded(predicted) ?? '?'} ${unit} predicted, ${rounded(measured) ?? '?'} measured: ${errorPercent(one).toFixed(0)} %`,
    met: isWithin(one),
  };
}

function operationsTarget({ measured, predicted }: Validated['counted'], met: boolean): Target {
  const inWordsOf = (operations: Operations): string =>
    KINDS.map((kind) => `${operations[kind]} ${KIND_NAMES[kind]}`).join(', ');
  return {
    name: 'operations of a document',
    target: `predicted exactly, for ${COUNTED_DOCUMENTS} documents`,
    measured: `predicted: ${inWordsOf(predicted)}; counted: ${inWordsOf(measured)}`,
    met,
  };
}

function comparedTable({ runs, compared }: Validated): ResultTable {
  return resultTable(
    {
      name: 'validation',
      title: 'What the model predicts of this machine, and what this machine did',
      caption:
        `Measured by the runs ${runs.join(', ')}. With the embedded store the simulated machine has one core, for the one ` +
        'thread of engine and store; with HBase all cores of this machine, which its processes share.',
    },
    compared,
    [
      column('workload', ({ workload }) => workload),
      column('what', ({ what }) => what),
      column('unit', ({ unit }) => unit),
      column('measured', ({ measured }) => rounded(measured)),
      column('predicted', ({ predicted }) => rounded(predicted)),
      column('error, %', (one) => rounded(errorPercent(one))),
      column('wanted, %', ({ errorMax }) => errorMax),
    ],
  );
}

function operationsTable({ measured, predicted }: Validated['counted']): ResultTable {
  const rows = [
    { what: 'counted', operations: measured },
    { what: 'predicted', operations: predicted },
  ];
  return resultTable(
    {
      name: 'operations',
      title: 'Operations that a document takes',
      caption:
        `Rows of the crawl's tables, of ${COUNTED_DOCUMENTS} documents that arrive one after the other: the engine on the ` +
        'embedded store, and on one machine in virtual time.',
    },
    rows,
    [
      column('', ({ what }) => what),
      ...KINDS.map((kind) =>
        column<(typeof rows)[number]>(KIND_NAMES[kind], ({ operations }) =>
          rounded(operations[kind] / COUNTED_DOCUMENTS),
        ),
      ),
    ],
  );
}

/*
 * The numbers of a measured point next to those of its simulation, and which of them have a limit.
 */

const { latencyErrorMax: LATENCY_ERROR_MAX } = TARGETS.validation;

type PredictedCrawl = Pick<CrawlResult, 'latency' | 'completedPerSecond'> & {
  /** Cores that were busy, on average. */
  readonly cores: number;
};

/** The numbers of a crawl rate that is not saturated; nothing if either side has no latency. */
export function comparedPoint(
  crawl: MeasuredCrawl,
  point: Point,
  { latency, cores, completedPerSecond }: PredictedCrawl,
): readonly Compared[] {
  if (latency === null || point.latency === null) return [];
  const workload = workloadOf(crawl, point);
  const isHalf = point === halfLoad(crawl);
  const median: Compared = {
    workload,
    what: isHalf ? 'median latency at half load' : 'median latency',
    unit: 'ms',
    measured: point.latency.medianMs,
    predicted: latency.medianMs,
    errorMax: isHalf ? LATENCY_ERROR_MAX : null,
  };
  const { cpuSecondsPerDocument } = point;
  // An old record of HBase has the processor time of the client's process, without the servers'.
  if (cpuSecondsPerDocument === null || crawl.store === 'hbase') return [median];
  const what = 'processor time of a document';
  const measured = 1e6 * cpuSecondsPerDocument;
  const predicted = (1e6 * cores) / completedPerSecond;
  return [median, { workload, what, unit: 'µs', measured, predicted, errorMax: null }];
}

export function workloadOf({ store }: MeasuredCrawl, { ratePercentPerHour }: Point): string {
  return `crawl-rate${store === 'hbase' ? ' on HBase' : ''}, ${ratePercentPerHour} %/hour`;
}

/** The points to simulate: all; if tiny, only those with a limit, or the last one if none has. */
export function pointsOf(
  crawl: MeasuredCrawl,
  { isTiny }: { readonly isTiny: boolean },
): readonly Point[] {
  const isJudged = (point: Point): boolean =>
    point.verdict === 'saturated' || point === halfLoad(crawl);
  if (!isTiny) return crawl.points;
  const judged = crawl.points.filter(isJudged);
  return judged.length > 0 ? judged : crawl.points.slice(-1);
}

/**
 * The rate nearest to half of what was completed at saturation, among those with a latency;
 * undefined if no rate was saturated: then the throughput at saturation is not known.
 */
export function halfLoad({ points }: MeasuredCrawl): Point | undefined {
  const saturated = points.find(({ verdict }) => verdict === 'saturated');
  if (saturated === undefined) return undefined;
  const kept = points.filter(({ verdict, latency }) => verdict === 'sustained' && latency !== null);
  const half = saturated.documentsPerSecondCompleted / 2;
  return kept.toSorted(
    (a, b) =>
      Math.abs(a.documentsPerSecondCompleted - half) -
      Math.abs(b.documentsPerSecondCompleted - half),
  )[0];
}

/** The load nearest to what is wanted, among those with a median. */
export function nearest(loads: readonly PacedLoad[], wanted: number): PacedLoad | undefined {
  const distance = ({ tradesPerSecond }: PacedLoad): number => Math.abs(tradesPerSecond - wanted);
  return loads
    .filter(({ medianMs }) => medianMs !== null)
    .toSorted((a, b) => distance(a) - distance(b))[0];
}

/**
 * The median latency of a Trade-Result at half load; nothing if the measured load has no median.
 */
export function comparedTrade(
  workload: string,
  { medianMs }: PacedLoad,
  predicted: number,
): readonly Compared[] {
  if (medianMs === null) return [];
  const what = 'median latency at half load';
  const errorMax = LATENCY_ERROR_MAX;
  return [{ workload, what, unit: 'ms', measured: medianMs, predicted, errorMax }];
}

/**
 * Cores that the engine and the store kept busy: those of the tablet servers, and the work in the
 * background.
 */
export function busyCores(
  { kinds, maintenanceUs, seconds }: Pick<Usage, 'kinds' | 'maintenanceUs' | 'seconds'>,
  coresPerServer: number,
): number {
  const usage = kinds.find(({ kind }) => kind === 'tablet server');
  const share = (usage?.cores ?? 0) * (usage?.machines ?? 0);
  return share * coresPerServer + maintenanceUs / 1e6 / seconds;
}
