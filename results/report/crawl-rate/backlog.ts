/** Documents waiting over the time of a point: if the line climbs, the system does not keep up. */
import path from 'node:path';
import type { ChartSeries } from '../charts/chart.ts';
import { formatCount, formatDigits, formatRate, formatSystem } from '../charts/format.ts';
import type { ChartWithTable } from '../page/chart-section.ts';
import type { Point, RunRecord } from '../run-record.ts';
import { readTimeSeries } from '../time-series.ts';
import { lookOf } from './distribution.ts';
import { byRate } from './points.ts';

interface Waiting {
  readonly point: Point;
  readonly rows: readonly { readonly seconds: number; readonly documents: number }[];
}

/** Null if no point kept a time series. */
export function backlogFigure(folder: string, record: RunRecord): ChartWithTable | null {
  const all = byRate(record.points).flatMap((point) => waitingIn(folder, point));
  if (all.length === 0) return null;
  const rates = [...new Set(all.map(({ point }) => point.ratePercentPerHour))];
  return {
    chart: {
      name: 'backlog',
      title: 'Documents waiting, over the time of a point',
      caption:
        'Each line is the first repeat of a point. If it stays level, the system kept up in that ' +
        'repeat; if it climbs, the system has no latency to report. MapReduce\u2019s line falls ' +
        'when a run ends, and is level if its peaks are. Lines of one crawl rate share one of ' +
        'six colours and marks; Percolator\u2019s lines are solid, MapReduce\u2019s dashed.',
      x: { title: 'Seconds since the point began', scale: 'linear', ticks: [] },
      y: { title: 'Documents waiting', scale: 'linear', ticks: [] },
      series: all.map((one) => seriesOf(one, rates.indexOf(one.point.ratePercentPerHour))),
    },
    table: {
      name: 'backlog',
      title: 'Documents waiting',
      caption:
        'The most documents that waited at any one time in the first repeat of each point, and ' +
        'the number that waited at its end.',
      columns: ['System', 'Crawl rate', 'Seconds', 'At most', 'At the end'],
      rows: all.map(({ point, rows }) => [
        formatSystem(point.system),
        formatRate(point.ratePercentPerHour),
        rows.at(-1)?.seconds ?? null,
        mostWaiting(rows),
        rows.at(-1)?.documents ?? null,
      ]),
    },
  };
}

/** Rows may be more than a call can have arguments. */
export function mostWaiting(rows: readonly { readonly documents: number }[]): number {
  return rows.reduce((most, { documents }) => Math.max(most, documents), 0);
}

function waitingIn(folder: string, point: Point): readonly Waiting[] {
  if (point.timeSeriesFile === null) return [];
  const series = readTimeSeries(path.join(folder, point.timeSeriesFile));
  const rows = series.flatMap(({ seconds, arrived, completed }, i) => {
    const waiting = { seconds, documents: arrived - completed };
    if (point.system === 'percolator') return [waiting];
    // MapReduce is sampled when a run has ended. Just before, the run's documents waited too.
    return [{ seconds, documents: arrived - (series[i - 1]?.completed ?? 0) }, waiting];
  });
  return [{ point, rows }];
}

function seriesOf({ point, rows }: Waiting, rank: number): ChartSeries {
  const { system, ratePercentPerHour } = point;
  return {
    ...lookOf(rank),
    name: `${formatSystem(system)} at ${formatRate(ratePercentPerHour)}`,
    line: system === 'percolator' ? 'solid' : 'dashed',
    markEvery: Math.max(1, Math.ceil(rows.length / 6)),
    marks: rows.map(({ seconds, documents }) => ({
      x: seconds,
      y: documents,
      words: [`${formatCount(documents)} waiting after ${formatDigits(seconds)} s`],
    })),
  };
}
