/**
 * The findings of `./run.sh bench:notify-latency` for the report, and the targets that it prints.
 */
import {
  type FindingsParts,
  lowerIsBetter,
  percentileMs,
  type ResultChart,
  type ResultTable,
  type Target,
} from '#results';
import type { NotifyMeasured, RateMeasured } from './measure.ts';

/** Targets for the median in milliseconds, from a write to the run of its observer. */
const TARGET_MS = { embedded: 10, elsewhere: 50 } as const;
/** Target for an idle worker, in percent of a core. */
const TARGET_IDLE_PERCENT = 1;

/** The columns printed for each rate, also those of the table: a heading and its value. */
export const COLUMNS: readonly (readonly [heading: string, of: (rate: RateMeasured) => number])[] =
  [
    ['median', ({ fromDue }) => percentileMs(fromDue, 50)],
    ['p90', ({ fromDue }) => percentileMs(fromDue, 90)],
    ['p99', ({ fromDue }) => percentileMs(fromDue, 99)],
    ['max', ({ fromDue }) => percentileMs(fromDue, 100)],
    ['commit median', ({ commit }) => percentileMs(commit, 50)],
    ['run after it', ({ fromCommit }) => percentileMs(fromCommit, 50)],
    ['lag p99', ({ lagP99Ms }) => lagP99Ms],
  ];

export function foundIn(measured: NotifyMeasured, store: string): FindingsParts {
  const { rates, idlePercent } = measured;
  const medians = rates.map(
    (rate) => `${medianMs(rate).toFixed(1)} ms at ${rate.perSecond} per second`,
  );
  return {
    headline:
      `From a write to the run of its observer in another process, median: ${medians.join(', ')}. ` +
      `An idle worker takes ${idlePercent.toFixed(2)} % of a core.`,
    check: { passed: true, detail: 'the observer has run for every write' },
    tables: [tableOf(rates)],
    charts: [chartOf(rates)],
    targets: targetsOf(measured, store),
  };
}

export function targetsOf(
  { rates, idlePercent }: NotifyMeasured,
  store: string,
): readonly Target[] {
  const targetMs = store === 'embedded' ? TARGET_MS.embedded : TARGET_MS.elsewhere;
  const worst = Math.max(...rates.map(medianMs));
  return [
    {
      name: 'from a write to the run of its observer',
      target: `a median of at most ${targetMs} ms at every rate`,
      measured: `the largest is ${worst.toFixed(1)} ms`,
      met: worst <= targetMs,
    },
    {
      name: 'an idle worker',
      target: `less than ${TARGET_IDLE_PERCENT} % of a core while idle`,
      measured: `it takes ${idlePercent.toFixed(2)} %`,
      met: idlePercent < TARGET_IDLE_PERCENT,
    },
  ];
}

function tableOf(rates: readonly RateMeasured[]): ResultTable {
  return {
    name: 'rates',
    title: 'From a write to the run of its observer',
    caption:
      'Milliseconds from when a write was due until its observer ran in another process. The commit ends when the ' +
      'writer knows of it, "run after it" counts from then on, and the lag is the lateness of the writer.',
    columns: ['writes/s', ...COLUMNS.map(([heading]) => heading)],
    rows: rates.map((rate) => [
      rate.perSecond,
      ...COLUMNS.map(([, of]) => Number(of(rate).toPrecision(4))),
    ]),
    metrics: {
      rowNames: 1,
      columns: ['median', 'p90', 'p99', 'run after it'].map((one) => lowerIsBetter(one, 'ms')),
    },
  };
}

function chartOf(rates: readonly RateMeasured[]): ResultChart {
  const points = (percentile: number): ResultChart['series'][number]['points'] =>
    rates.map(({ perSecond, fromDue }) => ({
      x: perSecond,
      y: percentileMs(fromDue, percentile),
      low: null,
      high: null,
    }));
  return {
    name: 'notify-latency',
    title: 'From a write to the run of its observer in another process',
    caption: 'From when a write was due, so the write and its commit are part of it.',
    x: { title: 'Writes per second', scale: 'logarithmic', ticks: [] },
    y: { title: 'Milliseconds', scale: 'logarithmic', ticks: [] },
    series: [
      { name: 'median', look: 'percolator', isLine: true, points: points(50) },
      { name: '99th percentile', look: 'other', isLine: true, points: points(99) },
    ],
  };
}

function medianMs({ fromDue }: RateMeasured): number {
  return percentileMs(fromDue, 50);
}
