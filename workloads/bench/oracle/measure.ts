/**
 * The measurement of bench:oracle: one point after the other, each a number of client processes and
 * callers for a given time; and its findings.
 */
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { sum } from 'simple-statistics';
import {
  column,
  dots,
  type FindingsParts,
  higher,
  line,
  lower,
  mergeHistograms,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
  statedPercentileMs,
  type Target,
  TARGETS,
} from '#results';
import { Answers, type Crew } from '../../harness/processes/index.ts';
import { rounded } from '../../harness/statistics.ts';

export interface OracleLoad {
  readonly clients: number;
  /** Callers of all clients together. */
  readonly callers: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** The measurements of all clients of a point together. */
export interface OraclePoint {
  readonly load: OracleLoad;
  readonly perSecond: number;
  /** CPU time of the clients, per timestamp. */
  readonly clientCpuNs: number;
  /** Latencies that were measured. */
  readonly samples: number;
  /** Null if there are none. */
  readonly p50Ms: number | null;
  /** Null with too few. */
  readonly p99Ms: number | null;
  readonly p999Ms: number | null;
}

/** The options of a client. It connects, and waits for "begin", so that all begin together. */
export interface CallersOptions {
  readonly address: string;
  readonly callers: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** The measurements of a client, its answer to "begin". */
export interface CallersResult {
  /** Timestamps that callers received. */
  readonly timestamps: number;
  readonly smallest: number;
  readonly largest: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Latencies of the callers that look at the clock, encoded. */
  readonly latencies: string;
}

const CLIENT = new URL('client-process.ts', import.meta.url);

/**
 * @throws if a client ends early, or if the callers received more timestamps than the oracle
 * advanced by
 */
export async function measurePoint(
  crew: Crew,
  address: string,
  load: OracleLoad,
): Promise<OraclePoint> {
  const starting = clientOptionsOf(address, load).map(async (options, i) => {
    const answers = new Answers();
    const name = `client ${i + 1}`;
    const onMessage = answers.take;
    return { answers, member: await crew.start({ name, program: CLIENT, options, onMessage }) };
  });
  const clients = await Promise.all(starting);
  for (const { member } of clients) member.send('begin');
  const results = await crew.during(Promise.all(clients.map(({ answers }) => answers.next())));
  await crew.stop(clients.map(({ member }) => member));
  return pointOf(load, results as readonly CallersResult[]);
}

/** The options of each client; together the clients have exactly the callers of the load. */
export function clientOptionsOf(
  address: string,
  { clients, callers, warmUpSeconds, seconds }: OracleLoad,
): readonly CallersOptions[] {
  const upTo = (client: number): number => Math.floor((client * callers) / clients);
  return Array.from({ length: clients }, (_, i) => ({
    address,
    callers: upTo(i + 1) - upTo(i),
    warmUpSeconds,
    seconds,
  }));
}

export function pointOf(load: OracleLoad, all: readonly CallersResult[]): OraclePoint {
  const timestamps = sum(all.map((client) => client.timestamps));
  const between =
    Math.max(...all.map(({ largest }) => largest)) -
    Math.min(...all.map(({ smallest }) => smallest)) +
    1;
  // Each caller checked that its own timestamps increase. Two callers that received the same one
  // make the count too large, unless the oracle advanced past one that no caller received: one that
  // it skipped, or handed to a client that was still warming up.
  if (timestamps > between) {
    throw new Error(
      `callers received ${timestamps} timestamps, but the oracle advanced by ${between}: some were handed out twice`,
    );
  }
  const latencies = mergeHistograms(
    all.map((client) => decodeFromCompressedBase64(client.latencies)),
  );
  return {
    load,
    perSecond: sum(all.map((client) => (client.timestamps / client.wallMs) * 1_000)),
    clientCpuNs: (sum(all.map(({ cpuMs }) => cpuMs)) * 1e6) / timestamps,
    samples: latencies.totalCount,
    p50Ms: statedPercentileMs(latencies, 50),
    p99Ms: statedPercentileMs(latencies, 99),
    p999Ms: statedPercentileMs(latencies, 99.9),
  };
}

/** Section 2.3 of the paper. */
const PAPER_PER_SECOND = 2_000_000;
const { timestampsPerSecondMin: AIM_PER_SECOND } = TARGETS.oracle;
/** Fewer callers cannot ask for that many timestamps. */
const AIM_CALLERS = 60_000;

/**
 * @param few the point with few callers, shown next to the others; if it was not measured, there
 * are no charts
 */
export function findingsOf(
  points: readonly OraclePoint[],
  few: OraclePoint | undefined,
): FindingsParts {
  const all = few === undefined ? points : [...points, few];
  const target = targetOf(all, few !== undefined);
  return {
    headline: `One oracle hands out up to ${target.measured}; the paper: around ${whole(PAPER_PER_SECOND)}.`,
    check: {
      passed: true,
      detail:
        'the timestamps of each caller increase, and all callers together received no more than the oracle advanced by',
    },
    tables: [tableOf(all)],
    charts: few === undefined ? [] : [rateChart(points, few), latencyChart(points, few)],
    targets: [target],
  };
}

function targetOf(points: readonly OraclePoint[], isWhole: boolean): Target {
  const most = Math.max(...points.map(({ perSecond }) => perSecond));
  const callersMost = Math.max(...points.map(({ load }) => load.callers));
  return {
    name: 'timestamps per second',
    target: `at least ${whole(AIM_PER_SECOND)}`,
    measured: `${whole(most)} timestamps per second`,
    ...judged(most, callersMost, isWhole),
  };
}

function judged(
  most: number,
  callersMost: number,
  isWhole: boolean,
): Pick<Target, 'met' | 'reason'> {
  if (most >= AIM_PER_SECOND) return { met: true };
  if (!isWhole) return { met: null, reason: 'not all points were measured' };
  if (callersMost >= AIM_CALLERS) return { met: false };
  return { met: null, reason: `fewer than ${whole(AIM_CALLERS)} callers asked` };
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function tableOf(points: readonly OraclePoint[]): ResultTable {
  return resultTable(
    {
      name: 'timestamps',
      title: 'Timestamps per second, each to a caller that awaits it',
      caption:
        'Latency is that of every 64th caller, from request to answer. Server and clients share the machine. ' +
        'The paper: around 2 million per second from a single machine, latency not stated.',
    },
    points,
    [
      rowName('clients', ({ load }) => load.clients),
      rowName('callers', ({ load }) => load.callers),
      column('timestamps/s', ({ perSecond }) => Math.round(perSecond), higher('timestamps/s')),
      column('of the paper', ({ perSecond }) => rounded(perSecond / PAPER_PER_SECOND)),
      column('CPU of clients, ns each', ({ clientCpuNs }) => Math.round(clientCpuNs), lower('ns')),
      column('latencies', ({ samples }) => samples),
      column('p50 ms', ({ p50Ms }) => rounded(p50Ms), lower('ms')),
      column('p99 ms', ({ p99Ms }) => rounded(p99Ms), lower('ms')),
      column('p99.9 ms', ({ p999Ms }) => rounded(p999Ms)),
    ],
  );
}

function rateChart(points: readonly OraclePoint[], few: OraclePoint): ResultChart {
  const all = [...points, few];
  return {
    name: 'timestamps',
    title: 'Timestamps per second from one oracle process',
    caption: 'Each timestamp goes to one caller, which awaits it before it asks for the next one.',
    x: { title: 'Client processes', scale: 'linear', ticks: ticksOf(all) },
    y: { title: 'Timestamps per second', scale: 'logarithmic', ticks: [] },
    series: series(all, ({ load }) => ({ x: load.clients }), [
      line(callersOf(points[0] ?? few), 'percolator', (p) => (p === few ? null : p.perSecond)),
      dots(callersOf(few), 'other', (p) => (p === few ? p.perSecond : null)),
      line('paper', 'paper', (p) => (p === few ? null : PAPER_PER_SECOND)),
    ]),
  };
}

function latencyChart(points: readonly OraclePoint[], few: OraclePoint): ResultChart {
  const all = [...points, few];
  return {
    name: 'latency',
    title: 'Latency of a timestamp',
    caption: 'The more callers wait, the more of them share a request, and the longer each waits.',
    x: { title: 'Client processes', scale: 'linear', ticks: ticksOf(all) },
    y: { title: 'Milliseconds', scale: 'logarithmic', ticks: [] },
    series: series(all, ({ load, samples }) => ({ x: load.clients, samples }), [
      line('median', 'percolator', (p) => (p === few ? null : p.p50Ms)),
      line('99th percentile', 'percolator', (p) => (p === few ? null : p.p99Ms)),
      dots(`median, ${callersOf(few)}`, 'other', (p) => (p === few ? p.p50Ms : null)),
    ]),
  };
}

function callersOf({ load }: OraclePoint): string {
  return `${whole(load.callers)} callers`;
}

function ticksOf(points: readonly OraclePoint[]): ResultChart['x']['ticks'] {
  const clients = new Set(points.map(({ load }) => load.clients));
  return [...clients].map((at) => ({ at, label: String(at) }));
}
