/** The points of the crawl rate as charts, tables and sentences use them. */
import type { ChartMark, Marker } from '../charts/chart.ts';
import { counted, formatRate } from '../charts/format.ts';
import type { Point, System } from '../run-record.ts';
import { isStated } from '../samples.ts';

/** In the order of legends. */
export const SYSTEMS: readonly System[] = ['mapreduce', 'percolator'];

/** The colour and the mark of a system, the same in every chart. */
export const LOOKS: Readonly<Record<System, { readonly color: number; readonly marker: Marker }>> =
  {
    percolator: { color: 0, marker: 'circle' },
    mapreduce: { color: 1, marker: 'rect' },
  };

type PointState = 'measured' | 'saturated' | 'failed' | 'invalid';

/** A failed check outweighs every verdict: the speed of a wrong result is meaningless. */
export function stateOf(point: Point): PointState {
  if (!point.check.passed) return 'failed';
  if (point.verdict === 'saturated') return 'saturated';
  return point.verdict === 'sustained' && point.latency !== null ? 'measured' : 'invalid';
}

export function byRate(points: readonly Point[]): readonly Point[] {
  return points.toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour);
}

export function medianSeconds({ latency }: Point): number | null {
  return latency === null ? null : latency.medianMs / 1000;
}

/** Null if there are too few documents for one. */
export function p99Seconds({ latency }: Point): number | null {
  return latency !== null && isStated(99, latency.count) ? latency.p99Ms / 1000 : null;
}

/** The number of documents that the point's percentiles are taken from. */
export function samplesOf({ latency, documents }: Point): number {
  return latency?.count ?? documents;
}

export function documentsText(count: number): string {
  return counted(count, 'documents');
}

/**
 * A curve over crawl rates. A point without a value interrupts it: a line across a rate at which
 * the system did not keep up would claim that it did.
 */
export function curveOver(
  points: readonly Point[],
  valueOf: (point: Point) => number | null,
  wordsOf: (value: number) => string,
): readonly ChartMark[] {
  const marks = points.map((point): ChartMark => {
    const value = valueOf(point);
    const y = value !== null && value > 0 ? value : null;
    const rate = formatRate(point.ratePercentPerHour);
    const words = [`at ${rate}: ${wordsOf(y ?? 0)}`, documentsText(samplesOf(point))];
    return { x: point.ratePercentPerHour, y, words };
  });
  return marks.some(({ y }) => y !== null) ? marks : [];
}
