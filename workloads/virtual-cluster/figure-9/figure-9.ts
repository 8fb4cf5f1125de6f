/**
 * Figure 9 in virtual time: processor cores by Trade-Results per second, and where the line ends.
 */
import { sum } from 'simple-statistics';
import type { Measuring } from '#harness';
import {
  column,
  dots,
  type FindingsParts,
  isStated,
  line,
  lower,
  noNumbers,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
} from '#results';
import { fitLine, type LineFit } from '../../brokerage/figure-9.ts';
import { rounded } from '../../harness/statistics.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { assumedPlaces, varied } from '../calibration/sensitivity.ts';
import type { Usage } from '../cluster.ts';
import { performInThread } from '../simulations.ts';
import { brokerageOf, type BrokeragePlan, type BrokerageResult } from './brokerage.ts';
import { judgedWords } from '../history.ts';
import { measuredCores } from '../measured.ts';

export interface Figure9Plan {
  readonly loaded: LoadedCalibration;
  readonly seed: number;
  /** Trade-Results per second. */
  readonly loads: readonly number[];
  /** In seconds. */
  readonly warmUp: number;
  /** About how many Trade-Results are measured at each load; a high load completes them sooner. */
  readonly tradeResults: number;
  /** Whether the assumed numbers are varied. */
  readonly isVaried: boolean;
}

export interface LoadPoint {
  readonly load: number;
  readonly servers: number;
  readonly result: BrokerageResult;
}

/** Core seconds of a transaction, relative to the calibration as it is. */
interface Variation {
  readonly place: string;
  readonly half: number;
  readonly twice: number;
  /** What the checks of its simulations found. */
  readonly wrong: readonly string[];
}

/** Section 3.3 of the paper: 15,000 cores for 11,200 transactions per second. */
const PAPER = { cores: 15_000, perSecond: 11_200 };
/**
 * A Trade-Result takes up to 0.29 core seconds, the clients' included, so this many a second take
 * 0.6 of a server's four cores.
 */
const LOAD_PER_SERVER = 8;
const LOAD_PER_CLIENT = 25;
/** A machine that works for this share of the time has none left. */
const FULL = 0.995;
/** Trade-Results of a variation: enough to show what a transaction costs. */
export const VARIED_TRADE_RESULTS = 100;

export async function simulateFigure9(
  plan: Figure9Plan,
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const points: LoadPoint[] = [];
  progress.phase('simulating', plan.loads.length, 'loads');
  for (const load of plan.loads) {
    signal.throwIfAborted();
    points.push(await simulateLoad(plan, load, plan.loaded.calibration, signal));
    progress.update(points.length);
    keep(figure9Findings(plan, points, []));
  }
  const variations = plan.isVaried
    ? await varyFigure9(plan, measureSmall(plan, signal), { progress, signal })
    : [];
  return figure9Findings(plan, points, variations);
}

async function simulateLoad(
  { seed, warmUp, tradeResults }: Figure9Plan,
  load: number,
  calibration: Calibration,
  signal: AbortSignal,
): Promise<LoadPoint> {
  const servers = Math.max(3, Math.ceil(load / LOAD_PER_SERVER));
  const brokerage: BrokeragePlan = {
    calibration,
    seed,
    tabletServers: servers,
    clients: Math.max(1, Math.ceil(load / LOAD_PER_CLIENT)),
    tradeResultsPerSecond: load,
    ...brokerageOf(load),
    warmUp,
    seconds: Math.max(1, tradeResults / load),
    isChecked: true,
  };
  const result = await performInThread({ kind: 'brokerage', plan: brokerage }, signal);
  return { load, servers, result };
}

type LoadMeasure = (calibration: Calibration) => Promise<LoadPoint>;

/** For variations: the lowest load. */
function measureSmall(plan: Figure9Plan, signal: AbortSignal): LoadMeasure {
  const [load = 1] = plan.loads;
  const small = { ...plan, tradeResults: Math.min(plan.tradeResults, VARIED_TRADE_RESULTS) };
  return (calibration) => simulateLoad(small, load, calibration, signal);
}

/**
 * Core seconds of a transaction with each assumed number halved and doubled; and what the checks
 * find wrong with the numbers as they are.
 */
export async function varyFigure9(
  { loaded }: Figure9Plan,
  measure: LoadMeasure,
  { progress, signal }: Pick<Measuring, 'progress' | 'signal'>,
): Promise<readonly Variation[]> {
  const places = assumedPlaces(loaded).filter((place) => !place.startsWith('batch.'));
  const asItIs = await measure(loaded.calibration);
  const base = workOf(asItIs);
  const variations: Variation[] = [];
  const { wrong: wrongAtBase } = asItIs.result;
  if (wrongAtBase.length > 0) {
    variations.push({ place: 'nothing', half: 1, twice: 1, wrong: wrongAtBase });
  }
  progress.phase('varying the assumed numbers', places.length, 'numbers');
  for (const [done, place] of places.entries()) {
    signal.throwIfAborted();
    const half = await measure(varied(loaded, { place, factor: 0.5 }));
    const twice = await measure(varied(loaded, { place, factor: 2 }));
    const wrong = [...half.result.wrong, ...twice.result.wrong];
    variations.push({ place, half: workOf(half) / base, twice: workOf(twice) / base, wrong });
    progress.update(done + 1);
  }
  return variations;
}

/** Core seconds of a Trade-Result. */
function costOf({ result }: LoadPoint): number {
  return result.cores / result.tradeResultsPerSecond;
}

/**
 * Core seconds of a transaction: a run has more transactions than Trade-Results, so chance matters
 * less.
 */
function workOf({ result }: LoadPoint): number {
  return (result.cores * result.usage.seconds) / result.transactions;
}

export function figure9Findings(
  plan: Figure9Plan,
  points: readonly LoadPoint[],
  variations: readonly Variation[],
): FindingsParts {
  const wrong = [
    ...points.flatMap(({ load, result }) => result.wrong.map((one) => `at ${load} TR/s: ${one}`)),
    ...variations.flatMap(({ place, wrong: all }) =>
      all.map((one) => `with ${place} varied: ${one}`),
    ),
  ];
  if (wrong.length > 0 || points.length === 0) {
    const detail = wrong.length > 0 ? wrong.join('; ') : 'nothing has been simulated yet';
    return noNumbers(detail);
  }
  const kept = onLine(points);
  const judged = sum(points.map(({ result }) => result.judged));
  const fit = fitLine(
    kept.map(({ result }) => ({ x: result.tradeResultsPerSecond, y: result.cores })),
  );
  return {
    headline: headlineOf(plan, points, fit),
    check: {
      passed: true,
      detail:
        'all conditions of the brokerage hold in every table after each load that the cluster kept up with; calls, utilisation and queues keep their laws; ' +
        judgedWords(judged, { observers: false }),
    },
    tables: [
      loadsTable(points),
      ...(fit === null ? [] : [lineTable(fit)]),
      ...(variations.length === 0 ? [] : [variationsTable(variations)]),
    ],
    charts: [chartOf(kept, fit)],
    targets: [],
  };
}

/** The loads below the first one that the cluster does not keep up with. */
function onLine(points: readonly LoadPoint[]): readonly LoadPoint[] {
  const bent = points.findIndex(({ result }) => result.saturation !== null);
  return bent === -1 ? points : points.slice(0, bent);
}

function headlineOf(
  { loaded }: Figure9Plan,
  points: readonly LoadPoint[],
  fit: LineFit | null,
): string {
  const slope = fit?.slope ?? costOf(points[0] as LoadPoint);
  const paper = PAPER.cores / PAPER.perSecond;
  const onItsLine =
    fit === null
      ? ''
      : `, on a straight line with R² ${fit.rSquared.toFixed(4)} up to ${onLine(points).at(-1)?.load} TR/s`;
  return `At the costs of ${loaded.name} a Trade-Result takes ${slope.toFixed(3)} core seconds${onItsLine}; the paper's took ${paper.toFixed(2)}, ${(paper / slope).toFixed(1)} times as much.${endOf(loaded, points, fit)}`;
}

/**
 * The first load that the cluster does not keep up with, with how busy oracle and tablet servers
 * were then; and from which load on each of them has no time left.
 */
function endOf(
  { calibration }: LoadedCalibration,
  points: readonly LoadPoint[],
  fit: LineFit | null,
): string {
  const bent = points.find(({ result }) => result.saturation !== null);
  if (bent === undefined) {
    return (fit === null ? '' : ' The cluster keeps up with all loads here.') + fullFrom(points);
  }
  const { hottest, usage, saturation } = bent.result;
  const end = fit === null ? 'The cluster does not keep up with' : 'The line ends before';
  // Clients keep the oracle busy; it is full once timestamps take all its time (planner/parts.ts).
  const ofTimestamps = percent(timestampsShare(usage, calibration));
  return (
    ` ${end} ${bent.load} TR/s (${saturation}): the busiest tablet server works ` +
    `${percent(busyOf(bent, 'tablet server'))} of the time, the oracle ` +
    `${percent(busyOf(bent, 'oracle'))}, for timestamps alone ${ofTimestamps}, and a tablet of ` +
    `${hottest.table} has ${percent(hottest.share)} of all operations.${fullFrom(points)}`
  );
}

/** Where the oracle and the hottest tablet server begin to be busy all the time, if they do. */
function fullFrom(points: readonly LoadPoint[]): string {
  const found = (['oracle', 'tablet server'] as const).flatMap((kind) => {
    const first = points.find((point) => busyOf(point, kind) >= FULL);
    const name = kind === 'oracle' ? 'the oracle' : 'the busiest tablet server';
    return first === undefined ? [] : [`${name} from ${first.load} TR/s on`];
  });
  return found.length === 0 ? '' : ` Busy all the time: ${found.join(', ')}.`;
}

/** The share of its time that the busiest machine of a kind works. */
function busyOf({ result }: LoadPoint, kind: 'oracle' | 'tablet server'): number {
  const usage = result.usage.kinds.find((one) => one.kind === kind);
  return (kind === 'oracle' ? usage?.cores : usage?.coresMax) ?? 0;
}

function timestampsShare({ timestamps, seconds }: Usage, { oracle }: Calibration): number {
  return (timestamps * oracle.perTimestampUs) / (1e6 * seconds * oracle.cores);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function loadsTable(points: readonly LoadPoint[]): ResultTable {
  return resultTable(
    {
      name: 'loads',
      title: 'Cores by load',
      caption:
        'Cores of all machines, and of work in the background. The paper has one customer for each 1/500 Trade-Result per second; ' +
        'here fewer customers trade more often.',
    },
    points,
    [
      rowName('cluster', () => 'virtual'),
      rowName('TR/s offered', ({ load }) => load),
      column('TR/s', ({ result }) => rounded(result.tradeResultsPerSecond)),
      column('cores', ({ result }) => rounded(result.cores)),
      column('core s per TR', (point) => rounded(costOf(point)), lower('s')),
      column('core ms per transaction', (point) => rounded(1000 * workOf(point))),
      column('TR, median ms', ({ result }) => rounded(result.medianMs)),
      column('TR, 90 % ms', ({ result }) =>
        isStated(90, result.samples) ? rounded(result.p90Ms) : null,
      ),
      column('samples', ({ result }) => result.samples),
      column('tablet servers', ({ servers }) => servers),
      column('busiest server', (point) => rounded(busyOf(point, 'tablet server'), 3)),
      column('oracle', (point) => rounded(busyOf(point, 'oracle'), 3)),
      column('conflicts per 1,000', ({ result }) =>
        rounded((1000 * result.conflicts) / result.transactions, 3),
      ),
      column('hottest tablet', ({ result }) => result.hottest.table),
      column('of all operations', ({ result }) => rounded(result.hottest.share, 3)),
      column('kept up', ({ result: { saturation } }) =>
        saturation === null ? 'yes' : `no: ${saturation}`,
      ),
    ],
    {
      cluster: 'paper',
      'TR/s offered': PAPER.perSecond,
      'TR/s': PAPER.perSecond,
      cores: PAPER.cores,
      'core s per TR': rounded(PAPER.cores / PAPER.perSecond),
    },
  );
}

function lineTable(fit: LineFit): ResultTable {
  return resultTable(
    {
      name: 'line',
      title: 'The line through the loads that the cluster kept up with',
      caption: 'Least squares; the error is half of the 95 % interval of the slope.',
    },
    [fit],
    [
      column('cores without load', ({ intercept }) => rounded(intercept)),
      column('cores per TR/s', ({ slope }) => rounded(slope)),
      column('error', ({ slopeError }) => rounded(slopeError)),
      column('R²', ({ rSquared }) => rounded(rSquared, 6)),
    ],
  );
}

function variationsTable(variations: readonly Variation[]): ResultTable {
  const moved = ({ twice }: Variation): number => Math.abs((rounded(twice, 3) ?? 0) - 1);
  return resultTable(
    {
      name: 'sensitivity',
      title: 'Core seconds of a transaction, with an assumed number halved and doubled',
      caption: 'Relative to the calibration, at the lowest load.',
    },
    variations.toSorted((a, b) => moved(b) - moved(a)),
    [
      column('assumed number', ({ place }) => place),
      column('halved', ({ half }) => rounded(half, 3)),
      column('doubled', ({ twice }) => rounded(twice, 3)),
    ],
  );
}

function chartOf(kept: readonly LoadPoint[], fit: LineFit | null): ResultChart {
  const band =
    fit === null
      ? null
      : kept.map(({ load }) => ({ x: load, ...fit.at(load) })).filter(({ low }) => low > 0);
  return {
    name: 'figure-9',
    title: 'Cores by Trade-Results per second, in virtual time',
    caption:
      "The hollow mark is the paper's largest run. This machine has the embedded store and the layout for few customers.",
    x: { title: 'Trade-Results per second', scale: 'logarithmic', ticks: [] },
    y: { title: 'Cores', scale: 'logarithmic', ticks: [] },
    series: [
      ...series(kept, ({ result }) => ({ x: result.tradeResultsPerSecond }), [
        {
          ...line<LoadPoint>('virtual cluster', 'percolator', ({ result }) => result.cores),
          fit: band,
        },
      ]),
      ...measuredCores(),
      ...series([PAPER], ({ perSecond }) => ({ x: perSecond }), [
        dots('paper', 'paper', ({ cores }) => cores),
      ]),
    ],
  };
}
