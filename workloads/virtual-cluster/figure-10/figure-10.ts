/**
 * Figure 10 in virtual time: the brokerage under load, a third of the tablet servers killed, and
 * started again later.
 *
 *     load ── kill a third ── detection, replay of the logs ── recovered ── killed ones start ── end
 *
 * Customers go on all the while, however many of their transactions wait for a dead server: what
 * waits for it is what the cluster has to work off afterwards.
 *
 * The run is repeated with other detection times, logs and numbers of servers. The cluster has
 * recovered at the end of the first three seconds whose throughput is again 90 % of what it was
 * before.
 */
import type { Measuring } from '#harness';
import {
  type FindingsParts,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
  noNumbers,
} from '#results';
import { mean } from '../../harness/statistics/mean.ts';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import type { Cluster } from '../cluster.ts';
import {
  type BrokeragePlan,
  type BrokerageResult,
  scaleOf,
  simulateBrokerage,
} from '../figure-9/brokerage.ts';
import { judgedWords } from '../history.ts';
import { measuredRecovery } from '../measured-series.ts';

export interface Figure10Plan {
  readonly loaded: LoadedCalibration;
  readonly seed: number;
  /** Trade-Results per second. */
  readonly load: number;
  /** Seconds from the beginning of the load to the kill. */
  readonly before: number;
  /** From the kill to the end; longer if the deaths are noticed late. */
  readonly after: number;
  readonly variants: readonly Variant[];
}

/** One run. */
export interface Variant {
  readonly servers: number;
  readonly detectionSeconds: number;
  /** Of each tablet server, when a third of them dies. */
  readonly logBytes: number;
}

export interface FailurePoint extends Variant {
  readonly result: Pick<BrokerageResult, 'wrong' | 'judged' | 'endedAt'>;
  /** From the kill; 0 if the throughput never fell, null if it was not back before the end. */
  readonly recoverySeconds: number | null;
  /** Of the throughput before; NaN if there was none. */
  readonly lowestShare: number;
}

const CUSTOMERS = 200;
const RECOVERED = 0.9;
/** Throughput is that of this many seconds, because few transactions end in one. */
const WINDOW_SECONDS = 3;
const PAPER_SERVERS = 15;
/** Transactions wait for a lock for this many times as long as a death takes to be noticed. */
const LOCK_WAIT_DETECTIONS = 5;
/** Killed servers start when this share of the time from the kill to the end is over, */
const RESTART_SHARE = 0.8;
/** and not before so many detections: the recovery is to be that of the other servers. */
const RESTART_DETECTIONS = 2;

/** The paper's 15 servers; if `isWhole`, also runs that each change one thing that could matter. */
export function variantsOf({ failures }: Calibration, isWhole: boolean): readonly Variant[] {
  const detectionSeconds = failures.detectionMs / 1000;
  const base: Variant = { servers: PAPER_SERVERS, detectionSeconds, logBytes: 1e8 };
  if (!isWhole) return [base];
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

/** From the kill to the end. */
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
    // While a server is dead all wait; customers who gave up would never come back.
    inFlightMax: Infinity,
    // A transaction whose call was lost keeps its locks until the death is noticed.
    lockWaitMsMax: LOCK_WAIT_DETECTIONS * failures.detectionMs,
    disturb: (cluster, beginMs) => killThird(cluster, { beginMs, before, after, logBytes }),
  };
}

async function simulateFailure(plan: Figure10Plan, variant: Variant): Promise<FailurePoint> {
  const { before } = plan;
  const result = await simulateBrokerage(failurePlan(plan, variant));
  const bins = perSecond(result.endedAt, before + secondsAfter(plan, variant));
  const usual = mean(bins.slice(Math.floor(before / 2), before));
  const smooth = bins.map((_, i) => mean(bins.slice(Math.max(0, i + 1 - WINDOW_SECONDS), i + 1)));
  const afterKill = smooth.slice(before);
  const lowest = Math.min(...afterKill);
  const fell = afterKill.findIndex((rate) => rate < RECOVERED * usual);
  const back = afterKill.findIndex((rate, i) => i > fell && rate >= RECOVERED * usual);
  const recoverySeconds = fell === -1 ? 0 : back === -1 ? null : back + 1;
  return { ...variant, result, recoverySeconds, lowestShare: lowest / usual };
}

async function killThird(
  cluster: Cluster,
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
  const judged = points.reduce((sum, { result }) => sum + result.judged, 0);
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
  return {
    name: 'failures',
    title: 'Recovery from the death of a third of the tablet servers',
    caption:
      'Recovered: the end of the first three seconds that together have 90 % of the throughput before. The first row is ' +
      'the paper’s number of servers; each other row changes one thing.',
    columns: ['servers', 'detection s', 'log of a server, MB', 'lowest, % of before', 'recovery s'],
    rows: points.map(({ servers, detectionSeconds, logBytes, lowestShare, recoverySeconds }) => [
      servers,
      detectionSeconds,
      logBytes / 1e6,
      rounded(100 * lowestShare, 3),
      recoverySeconds,
    ]),
    metrics: { rowNames: 3, columns: [lowerIsBetter('recovery s', 's')] },
  };
}

function chartOf(plan: Figure10Plan, point: FailurePoint): ResultChart {
  const { before } = plan;
  const { result, servers } = point;
  const after = secondsAfter(plan, point);
  const points = perSecond(result.endedAt, before + after).map((y, x) => ({
    x: x - before,
    y,
    low: null,
    high: null,
  }));
  return {
    name: 'figure-10',
    title: 'Trade-Results per second, a third of the tablet servers killed at 0',
    caption: `${servers} tablet servers. The killed ones start again after ${(RESTART_SHARE * after).toFixed(0)} s.`,
    x: { title: 'Seconds since the kill', scale: 'linear', ticks: [] },
    y: { title: 'Trade-Results per second', scale: 'linear', ticks: [] },
    series: [{ name: 'virtual cluster', look: 'percolator', isLine: true, points }],
  };
}

/** Next to the real HBase of bench:failover, whose transactions and machines differ. */
function shareChart(plan: Figure10Plan, point: FailurePoint): ResultChart {
  const { before } = plan;
  const bins = perSecond(point.result.endedAt, before + secondsAfter(plan, point));
  const usual = mean(bins.slice(Math.floor(before / 2), before));
  const points = bins.map((y, x) => ({
    x: x - before,
    y: (100 * y) / usual,
    low: null,
    high: null,
  }));
  return {
    name: 'figure-10-share',
    title: 'Throughput in % of that before the kill, and on a real HBase',
    caption:
      'HBase is a real one on this machine, some of whose region servers bench:failover killed; its times are its own.',
    x: { title: 'Seconds since the kill', scale: 'linear', ticks: [] },
    y: { title: '% of the throughput before', scale: 'linear', ticks: [] },
    series: [
      { name: 'virtual cluster', look: 'percolator', isLine: true, points },
      ...measuredRecovery(),
    ],
  };
}
