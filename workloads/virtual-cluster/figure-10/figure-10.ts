/**
 * Figure 10 in virtual time: the brokerage under load, a third of the tablet servers killed, and
 * started again later, with their share of the tablets.
 *
 *     load ── kill a third ── detection, replay of the logs ── recovered ── killed ones start ── end
 *
 * Customers keep starting transactions, however many of them wait for dead servers: the cluster has
 * to work off all that have waited.
 *
 * Except in a smoke run, the run is repeated with half the detection time, with ten times the log,
 * and with twice the servers. The cluster has recovered when the mean throughput of three seconds
 * is again at least 90 % of that before the kill.
 */
import { sum } from 'simple-statistics';
import type { Measuring } from '#harness';
import {
  column,
  type FindingsParts,
  line,
  lower,
  noNumbers,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
} from '#results';
import { meanOrZero, rounded } from '../../harness/statistics.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import type { VirtualCluster } from '../cluster.ts';
import {
  type BrokeragePlan,
  type BrokerageResult,
  scaleOf,
  simulateBrokerage,
} from '../figure-9/brokerage.ts';
import { judgedWords } from '../history.ts';
import { measuredRecovery } from '../measured.ts';

export interface Figure10Plan {
  readonly loaded: LoadedCalibration;
  readonly seed: number;
  /** Trade-Results per second. */
  readonly load: number;
  /** Seconds from the beginning of the load to the kill. */
  readonly before: number;
  /** Seconds from the kill to the end, at least: see `secondsAfter`. */
  readonly after: number;
  readonly variants: readonly Variant[];
}

/** What differs from run to run. */
export interface Variant {
  readonly servers: number;
  readonly detectionSeconds: number;
  /** How much log each killed server leaves, at least. */
  readonly logBytes: number;
}

export interface FailurePoint extends Variant {
  readonly result: Pick<BrokerageResult, 'wrong' | 'judged' | 'endedAt'>;
  /** From the kill; 0 if throughput never fell below 90 %, null if it was not back by the end. */
  readonly recoverySeconds: number | null;
  /** The lowest throughput after the kill, of that before; not finite if there was none before. */
  readonly lowestShare: number;
}

/** Its name in the charts. */
const SERIES = 'virtual cluster';
const CUSTOMERS = 200;
const RECOVERED = 0.9;
/** A recovery is judged by the mean of this many seconds: in one, few transactions end. */
const WINDOW_SECONDS = 3;
const PAPER_SERVERS = 15;
/** Transactions wait for a lock for at most this many detection times. */
const LOCK_WAIT_DETECTIONS = 5;
/** Killed servers start again after this share of the time from the kill to the end. */
const RESTART_SHARE = 0.8;
/** They start after at least this many detection times, so that the others recover alone. */
const RESTART_DETECTIONS = 2;

/** The paper's 15 servers; if `isVaried`, also three runs, each with one change. */
export function variantsOf({ failures }: Calibration, isVaried: boolean): readonly Variant[] {
  const detectionSeconds = failures.detectionMs / 1000;
  const base: Variant = { servers: PAPER_SERVERS, detectionSeconds, logBytes: 1e8 };
  if (!isVaried) return [base];
  return [
    base,
    { ...base, detectionSeconds: detectionSeconds / 2 },
    { ...base, logBytes: 1e9 },
    { ...base, servers: 2 * PAPER_SERVERS },
  ];
}

export async function simulateFigure10(
  plan: Figure10Plan,
  { progress, signal, keep }: Measuring,
): Promise<FindingsParts> {
  const points: FailurePoint[] = [];
  progress.phase('simulating', plan.variants.length, 'failures');
  for (const variant of plan.variants) {
    signal.throwIfAborted();
    points.push(await simulateFailure(plan, variant));
    progress.update(points.length);
    keep(figure10Findings(plan, points));
  }
  return figure10Findings(plan, points);
}

/** From the kill to the end, which is later if deaths are noticed late. */
export function secondsAfter(
  { after }: Pick<Figure10Plan, 'after'>,
  { detectionSeconds }: Pick<Variant, 'detectionSeconds'>,
): number {
  return Math.max(after, Math.ceil((RESTART_DETECTIONS * detectionSeconds) / RESTART_SHARE));
}

export function failurePlan(plan: Figure10Plan, variant: Variant): BrokeragePlan {
  const { loaded, seed, load, before } = plan;
  const { servers, detectionSeconds, logBytes } = variant;
  const { calibration } = loaded;
  const failures = { ...calibration.failures, detectionMs: 1000 * detectionSeconds };
  const after = secondsAfter(plan, variant);
  return {
    calibration: { ...calibration, failures },
    seed,
    tabletServers: servers,
    clients: 2,
    tradeResultsPerSecond: load,
    scale: scaleOf(CUSTOMERS),
    warmUp: before,
    seconds: after,
    isChecked: true,
    // While a server is dead, nearly all transactions wait. A limit would end the load for good.
    inFlightMax: Infinity,
    // A transaction whose call a dead server lost keeps its locks until that death is noticed.
    lockWaitMsMax: LOCK_WAIT_DETECTIONS * failures.detectionMs,
    disturb: (cluster, beginMs) => killThird(cluster, { beginMs, before, after, logBytes }),
  };
}

async function simulateFailure(plan: Figure10Plan, variant: Variant): Promise<FailurePoint> {
  const { before } = plan;
  const result = await simulateBrokerage(failurePlan(plan, variant));
  const bins = perSecond(result.endedAt, before + secondsAfter(plan, variant));
  const usual = meanOrZero(bins.slice(Math.floor(before / 2), before));
  const smooth = bins.map((_, i) =>
    meanOrZero(bins.slice(Math.max(0, i + 1 - WINDOW_SECONDS), i + 1)),
  );
  const afterKill = smooth.slice(before);
  const lowest = Math.min(...afterKill);
  const fell = afterKill.findIndex((rate) => rate < RECOVERED * usual);
  const back = afterKill.findIndex((rate, i) => i > fell && rate >= RECOVERED * usual);
  const recoverySeconds = fell === -1 ? 0 : back === -1 ? null : back + 1;
  return { ...variant, result, recoverySeconds, lowestShare: lowest / usual };
}

async function killThird(
  cluster: VirtualCluster,
  {
    beginMs,
    before,
    after,
    logBytes,
  }: {
    readonly beginMs: number;
    readonly before: number;
    readonly after: number;
    readonly logBytes: number;
  },
): Promise<void> {
  const { clock, tabletServers, tablets } = cluster;
  const killed = tabletServers.slice(0, Math.round(tabletServers.length / 3));
  await clock.sleep(beginMs + 1000 * before - clock.monotonicMs());
  for (const server of killed) {
    const own = tablets.of(server);
    for (const tablet of own) tablet.logBytes = Math.max(tablet.logBytes, logBytes / own.length);
    cluster.kill(server);
  }
  await clock.sleep(1000 * RESTART_SHARE * after);
  for (const server of killed) cluster.start(server);
  cluster.spread();
}

function perSecond(endedAt: readonly number[], seconds: number): readonly number[] {
  const bins = Array.from({ length: seconds }, () => 0);
  for (const at of endedAt) {
    const bin = Math.floor(at);
    if (bin < seconds) bins[bin] = (bins[bin] ?? 0) + 1;
  }
  return bins;
}

export function figure10Findings(
  plan: Figure10Plan,
  points: readonly FailurePoint[],
): FindingsParts {
  const wrong = points.flatMap((point) =>
    wrongIn(point).map((one) => `with ${point.servers} servers: ${one}`),
  );
  const [base] = points;
  if (wrong.length > 0 || base === undefined) {
    const detail = wrong.length > 0 ? wrong.join('; ') : 'nothing has been simulated yet';
    return noNumbers(detail);
  }
  const judged = sum(points.map(({ result }) => result.judged));
  const lowest = `${(100 * base.lowestShare).toFixed(0)} % of the throughput`;
  return {
    headline: `At the costs of ${plan.loaded.name}, killing a third of ${base.servers} tablet servers leaves ${lowest}${recoveryWords(base)}.`,
    check: {
      passed: true,
      detail:
        'no transaction failed, every order was completed, and all conditions of the brokerage hold in every table; ' +
        judgedWords(judged, { observers: false }),
    },
    tables: [failuresTable(points)],
    charts: [chartOf(plan, base), shareChart(plan, base)],
    targets: [],
  };
}

function wrongIn({ result, lowestShare }: FailurePoint): readonly string[] {
  if (result.wrong.length > 0) return result.wrong;
  // Failed transactions leave orders incomplete, so nothing was checked (brokerage.ts).
  if (result.judged === 0) return ['transactions failed, because they waited too long for locks'];
  return Number.isFinite(lowestShare) ? [] : ['no Trade-Result ended before the kill'];
}

function recoveryWords({ recoverySeconds, detectionSeconds }: FailurePoint): string {
  if (recoverySeconds === null) return ', and it is not back before the end';
  if (recoverySeconds === 0) return '';
  const back = `, and it is back after ${recoverySeconds} s`;
  return recoverySeconds < detectionSeconds
    ? `${back}, before the deaths are noticed`
    : `${back}, ${detectionSeconds} s of which pass until the deaths are noticed`;
}

function failuresTable(points: readonly FailurePoint[]): ResultTable {
  return resultTable(
    {
      name: 'failures',
      title: 'Recovery from the death of a third of the tablet servers',
      caption:
        'Recovered: the mean throughput of three seconds is again at least 90 % of that before the kill. The first row has ' +
        'the paper’s number of servers; each other row differs from it in one thing.',
    },
    points,
    [
      rowName('servers', ({ servers }) => servers),
      rowName('detection s', ({ detectionSeconds }) => detectionSeconds),
      rowName('log of a server, MB', ({ logBytes }) => logBytes / 1e6),
      column('lowest, % of before', ({ lowestShare }) => rounded(100 * lowestShare, 3)),
      column('recovery s', ({ recoverySeconds }) => recoverySeconds, lower('s')),
    ],
  );
}

function chartOf(plan: Figure10Plan, point: FailurePoint): ResultChart {
  const { before } = plan;
  const { result, servers } = point;
  const after = secondsAfter(plan, point);
  return {
    name: 'figure-10',
    title: 'Trade-Results per second, a third of the tablet servers killed at 0',
    caption: `${servers} tablet servers. The killed ones start again after ${(RESTART_SHARE * after).toFixed(0)} s.`,
    x: { title: 'Seconds since the kill', scale: 'linear', ticks: [] },
    y: { title: 'Trade-Results per second', scale: 'linear', ticks: [] },
    series: series(perSecond(result.endedAt, before + after), (_, i) => ({ x: i - before }), [
      line(SERIES, 'percolator', (rate) => rate),
    ]),
  };
}

/** The simulation next to a real HBase (bench:failover), with other transactions and machines. */
function shareChart(plan: Figure10Plan, point: FailurePoint): ResultChart {
  const { before } = plan;
  const bins = perSecond(point.result.endedAt, before + secondsAfter(plan, point));
  const usual = meanOrZero(bins.slice(Math.floor(before / 2), before));
  return {
    name: 'figure-10-share',
    title: 'Throughput after the kill, of the virtual cluster and of a real HBase',
    caption:
      'Virtual cluster: in % of the throughput before the kill. HBase, in a run of bench:failover on this machine: ' +
      'transactions that ended, in % of those that arrived; how long detection and replay took was measured.',
    x: { title: 'Seconds since the kill', scale: 'linear', ticks: [] },
    y: { title: 'Throughput, %', scale: 'linear', ticks: [] },
    series: [
      ...series(bins, (_, i) => ({ x: i - before }), [
        line(SERIES, 'percolator', (rate) => (100 * rate) / usual),
      ]),
      ...measuredRecovery(),
    ],
  };
}
