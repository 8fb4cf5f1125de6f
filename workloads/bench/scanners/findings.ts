/** The findings of `./run.sh bench:scanners` for the report. */
import {
  counted,
  type FindingsParts,
  higherIsBetter,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { Plan, Point } from './measure.ts';
import { type Mode, MODES } from './messages.ts';

export const MEANINGS: Readonly<Record<Mode, string>> = {
  none: 'no locks',
  skip: 'locks, skipping ahead',
  jump: 'locks, jumping elsewhere',
};

/** The median measurement of each mode that was measured, in the order of `MODES`. */
function mediansOf(points: readonly Point[]): readonly Point[] {
  return MODES.map((mode) => points.filter((point) => point.mode === mode))
    .filter((ofMode) => ofMode.length > 0)
    .map(medianOf);
}

/** Rows per second relative to the rate without locks. */
function gainOf(point: Point, medians: readonly Point[]): number {
  const without = medians.find(({ mode }) => mode === 'none');
  return point.rowsPerSecond / (without?.rowsPerSecond ?? Number.NaN);
}

/** The highest possible rate, if no run met another. */
export function mostPerSecond({
  scanners,
  concurrency,
  thinkMs,
}: Pick<Plan, 'scanners' | 'concurrency' | 'thinkMs'>): number {
  return (scanners * concurrency * 1_000) / Math.max(1, thinkMs);
}

export function findingsOf(plan: Plan, points: readonly Point[]): FindingsParts {
  const medians = mediansOf(points);
  const [, ...locked] = medians;
  const gains = locked.map(
    (point) => `${gainOf(point, medians).toFixed(2)} with ${MEANINGS[point.mode]}`,
  );
  const compared = gains.join('; ') || 'not measured';
  return {
    headline: `Rows per second relative to no locks: ${compared}.`,
    check: { passed: true, detail: 'every row has exactly one committed run' },
    tables: [mediansTable(plan, medians), measurementsTable(points)],
    charts: [chartOf(points, medians)],
    targets: [],
  };
}

/** The lower one of two in the middle. */
function medianOf(points: readonly Point[]): Point {
  const sorted = points.toSorted((a, b) => a.rowsPerSecond - b.rowsPerSecond);
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  if (median === undefined) throw new Error('nothing was measured');
  return median;
}

function mediansTable(plan: Plan, medians: readonly Point[]): ResultTable {
  const { scanners, concurrency, thinkMs } = plan;
  return {
    name: 'modes',
    title: 'Rows cleaned per second',
    caption:
      `${counted(scanners, 'scanners')}, ${counted(concurrency, 'runs')} of ${thinkMs} ms at a time each: at most ` +
      `${Math.round(mostPerSecond(plan))} rows per second. The median measurement of each mode. Meetings: how often a scanner met a row that another one had locked.`,
    columns: ['mode', 'rows per second', 'of no locks', 'runs begun per row', 'meetings'],
    rows: medians.map((point) => [
      MEANINGS[point.mode],
      Math.round(point.rowsPerSecond),
      rounded(gainOf(point, medians)),
      rounded(point.runsPerRow),
      point.meetings,
    ]),
  };
}

function measurementsTable(points: readonly Point[]): ResultTable {
  return {
    name: 'measurements',
    title: 'Each measurement',
    caption: 'In order of measurement.',
    columns: ['mode', 'seconds', 'rows per second', 'runs begun per row', 'meetings'],
    rows: points.map(({ mode, seconds, rowsPerSecond, runsPerRow, meetings }) => [
      MEANINGS[mode],
      rounded(seconds),
      Math.round(rowsPerSecond),
      rounded(runsPerRow),
      meetings,
    ]),
    metrics: {
      rowNames: 1,
      columns: [
        higherIsBetter('rows per second', 'rows/s'),
        lowerIsBetter('runs begun per row', 'runs'),
      ],
    },
  };
}

function chartOf(points: readonly Point[], medians: readonly Point[]): ResultChart {
  const at = (mode: Mode): number => MODES.indexOf(mode) + 1;
  const marks = (some: readonly Point[]): ResultChart['series'][number]['points'] =>
    some.map(({ mode, rowsPerSecond: y }) => ({ x: at(mode), y, low: null, high: null }));
  return {
    name: 'rows-per-second',
    title: 'Rows cleaned per second, without and with the cure for platooning',
    caption: 'Each measurement, and the median of each mode.',
    x: {
      title: 'Mode of the scanners',
      scale: 'linear',
      ticks: MODES.map((mode) => ({ at: at(mode), label: MEANINGS[mode] })),
    },
    y: { title: 'Rows per second', scale: 'linear', ticks: [] },
    // The first is drawn on top.
    series: [
      { name: 'median', look: 'percolator', isLine: false, points: marks(medians) },
      { name: 'measurements', look: 'other', isLine: false, points: marks(points) },
    ],
  };
}
