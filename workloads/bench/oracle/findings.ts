/** The findings of `./run.sh bench:oracle`, for the report. */
import {
  type FindingsParts,
  higherIsBetter,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
  type Target,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { Point } from './measure.ts';

/** Section 2.3 of the paper. */
const PAPER_PER_SECOND = 2_000_000;
const { timestampsPerSecondMin: AIM_PER_SECOND } = TARGETS.oracle;
/** Fewer callers cannot ask for that many timestamps. */
const AIM_CALLERS = 60_000;

/**
 * @param few the point with few callers, shown next to the others; if it was not measured, there
 * are no charts
 */
export function findingsOf(points: readonly Point[], few: Point | undefined): FindingsParts {
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

function targetOf(points: readonly Point[], isWhole: boolean): Target {
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

function tableOf(points: readonly Point[]): ResultTable {
  return {
    name: 'timestamps',
    title: 'Timestamps per second, each to a caller that awaits it',
    caption:
      'Latency is that of every 64th caller, from request to answer. Server and clients share the machine. ' +
      'The paper: around 2 million per second from a single machine, latency not stated.',
    columns: [
      'clients',
      'callers',
      'timestamps/s',
      'of the paper',
      'CPU of clients, ns each',
      'latencies',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
    ],
    rows: points.map(({ load, perSecond, clientCpuNs, samples, p50Ms, p99Ms, p999Ms }) => [
      load.clients,
      load.callers,
      Math.round(perSecond),
      rounded(perSecond / PAPER_PER_SECOND),
      Math.round(clientCpuNs),
      samples,
      rounded(p50Ms),
      rounded(p99Ms),
      rounded(p999Ms),
    ]),
    metrics: {
      rowNames: 2,
      columns: [
        higherIsBetter('timestamps/s', 'timestamps/s'),
        lowerIsBetter('CPU of clients, ns each', 'ns'),
        lowerIsBetter('p50 ms', 'ms'),
        lowerIsBetter('p99 ms', 'ms'),
      ],
    },
  };
}

function rateChart(points: readonly Point[], few: Point): ResultChart {
  const marks = (some: readonly Point[]) =>
    some.map(({ load, perSecond }) => mark(load.clients, perSecond));
  return {
    name: 'timestamps',
    title: 'Timestamps per second from one oracle process',
    caption: 'Each timestamp goes to one caller, which awaits it before it asks for the next one.',
    x: { title: 'Client processes', scale: 'linear', ticks: ticksOf(points, few) },
    y: { title: 'Timestamps per second', scale: 'logarithmic', ticks: [] },
    series: [
      { name: callers(points[0] ?? few), look: 'percolator', isLine: true, points: marks(points) },
      { name: callers(few), look: 'other', isLine: false, points: marks([few]) },
      {
        name: 'paper',
        look: 'paper',
        isLine: true,
        points: points.map(({ load }) => mark(load.clients, PAPER_PER_SECOND)),
      },
    ],
  };
}

function latencyChart(points: readonly Point[], few: Point): ResultChart {
  const marks = (some: readonly Point[], of: (point: Point) => number | null) =>
    some.flatMap((point) => {
      const y = of(point);
      return y === null ? [] : [{ ...mark(point.load.clients, y), samples: point.samples }];
    });
  return {
    name: 'latency',
    title: 'Latency of a timestamp',
    caption: 'The more callers wait, the more of them share a request, and the longer each waits.',
    x: { title: 'Client processes', scale: 'linear', ticks: ticksOf(points, few) },
    y: { title: 'Milliseconds', scale: 'logarithmic', ticks: [] },
    series: [
      { name: 'median', look: 'percolator', isLine: true, points: marks(points, (p) => p.p50Ms) },
      {
        name: '99th percentile',
        look: 'percolator',
        isLine: true,
        points: marks(points, (p) => p.p99Ms),
      },
      {
        name: `median, ${callers(few)}`,
        look: 'other',
        isLine: false,
        points: marks([few], (p) => p.p50Ms),
      },
    ],
  };
}

type ChartPoint = ResultChart['series'][number]['points'][number];

function mark(x: number, y: number): ChartPoint {
  return { x, y, low: null, high: null };
}

function callers({ load }: Point): string {
  return `${whole(load.callers)} callers`;
}

function ticksOf(points: readonly Point[], few: Point): ResultChart['x']['ticks'] {
  const clients = new Set([...points, few].map(({ load }) => load.clients));
  return [...clients].map((at) => ({ at, label: String(at) }));
}
