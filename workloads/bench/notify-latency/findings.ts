/**
 * The findings of `./run.sh bench:notify-latency` for the report.
 */
import {
  type FindingsParts,
  HEADLINE_SAMPLES_MIN,
  isStated,
  lowerIsBetter,
  percentileMs,
  type ResultChart,
  type ResultTable,
  formatJudged,
  statedPercentileMs,
  type Target,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { NotifyLatencyResult, RateResult } from './measure.ts';

/** The median from a write to the run of its observer; an idle worker, in percent of a core. */
const { medianMsMax: TARGET_MS, idlePercentMax: TARGET_IDLE_PERCENT } = TARGETS.notifyLatency;

/** In less time, one collection of garbage decides what an idle worker takes. */
const IDLE_SAMPLE_SECONDS = 0.5;

/** The columns of the table: a heading and its value. */
const COLUMNS: readonly (readonly [heading: string, of: (rate: RateResult) => number | null])[] = [
  ['median', medianMs],
  ['p90', ({ fromDue }) => statedPercentileMs(fromDue, 90)],
  ['p99', p99Ms],
  ['max', ({ fromDue }) => percentileMs(fromDue, 100)],
  ['commit median', ({ commit }) => percentileMs(commit, 50)],
  ['run after it', ({ fromCommit }) => percentileMs(fromCommit, 50)],
  ['lag p99', ({ fromDue, lagP99Ms }) => (isStated(99, fromDue.totalCount) ? lagP99Ms : null)],
];

export function findingsOf(measured: NotifyLatencyResult, store: string): FindingsParts {
  const { rates, idlePercent } = measured;
  return {
    headline:
      `From a write to the run of its observer in another process, median: ${mediansOf(rates)}. ` +
      `An idle worker takes ${idlePercent.toFixed(2)} % of a core.`,
    check: { passed: true, detail: 'the observer has run for every write' },
    tables: [tableOf(rates)],
    charts: [chartOf(rates)],
    targets: targetsOf(measured, store),
  };
}

/** The medians of at least 30 writes. */
function mediansOf(rates: readonly RateResult[]): string {
  const medians = rates
    .filter((rate) => writesOf(rate) >= HEADLINE_SAMPLES_MIN)
    .map(
      (rate) =>
        `${medianMs(rate).toFixed(1)} ms at ${rate.perSecond} per second (${writesOf(rate)} writes)`,
    );
  return medians.length > 0
    ? medians.join(', ')
    : `none, because no rate had ${HEADLINE_SAMPLES_MIN} writes`;
}

function targetsOf(
  { rates, idlePercent, idleSeconds }: NotifyLatencyResult,
  store: string,
): readonly Target[] {
  const targetMs = store === 'embedded' ? TARGET_MS.embedded : TARGET_MS.elsewhere;
  const worst = Math.max(...rates.map(medianMs));
  const isMet = (ms: number): boolean => ms <= targetMs;
  const isIdle = (percent: number): boolean => percent < TARGET_IDLE_PERCENT;
  return [
    {
      name: 'from a write to the run of its observer',
      target: `a median of at most ${targetMs} ms at every rate`,
      measured: `the largest is ${formatJudged(worst, 1, isMet)} ms`,
      met: isMet(worst),
      samples: Math.min(...rates.map(writesOf)),
    },
    {
      name: 'an idle worker',
      target: `less than ${TARGET_IDLE_PERCENT} % of a core while idle`,
      measured: `it takes ${formatJudged(idlePercent, 2, isIdle)} %`,
      met: isIdle(idlePercent),
      samples: Math.floor(idleSeconds / IDLE_SAMPLE_SECONDS),
    },
  ];
}

function tableOf(rates: readonly RateResult[]): ResultTable {
  return {
    name: 'rates',
    title: 'From a write to the run of its observer',
    caption:
      'Milliseconds from when a write was due until its observer ran in another process. The commit ends when the ' +
      'writer knows of it, "run after it" counts from then on, and the lag is the lateness of the writer. Percentiles other than the median need a hundred writes.',
    columns: ['writes/s', 'writes', ...COLUMNS.map(([heading]) => heading)],
    rows: rates.map(rowOf),
    metrics: {
      rowNames: 1,
      columns: ['median', 'p90', 'p99', 'run after it'].map((one) => lowerIsBetter(one, 'ms')),
    },
  };
}

function rowOf(rate: RateResult): ResultTable['rows'][number] {
  return [rate.perSecond, writesOf(rate), ...COLUMNS.map(([, of]) => rounded(of(rate)))];
}

function chartOf(rates: readonly RateResult[]): ResultChart {
  const points = (
    of: (rate: RateResult) => number | null,
  ): ResultChart['series'][number]['points'] =>
    rates.flatMap((rate) => {
      const y = of(rate);
      const samples = writesOf(rate);
      return y === null ? [] : [{ x: rate.perSecond, y, low: null, high: null, samples }];
    });
  const p99s = points(p99Ms);
  return {
    name: 'notify-latency',
    title: 'From a write to the run of its observer in another process',
    caption: 'From when a write was due, so the write and its commit are part of it.',
    x: { title: 'Writes per second', scale: 'logarithmic', ticks: [] },
    y: { title: 'Milliseconds', scale: 'logarithmic', ticks: [] },
    series: [
      { name: 'median', look: 'percolator', isLine: true, points: points(medianMs) },
      ...(p99s.length > 0
        ? [{ name: '99th percentile', look: 'other', isLine: true, points: p99s } as const]
        : []),
    ],
  };
}

function medianMs({ fromDue }: RateResult): number {
  return percentileMs(fromDue, 50);
}

function p99Ms({ fromDue }: RateResult): number | null {
  return statedPercentileMs(fromDue, 99);
}

function writesOf({ fromDue }: RateResult): number {
  return fromDue.totalCount;
}
