/**
 * How metrics have changed from commit to commit: one chart with its table for each metric of one
 * command, the oldest run at the left. What is measured by two commands is not compared.
 */
import { findingsChart } from '../charts/findings-chart.ts';
import { counted } from '../charts/format.ts';
import { chartSection, type ChartWithTable } from '../page/chart-section.ts';
import { htmlPage, pageHeader } from '../page/html-page.ts';
import { html } from '../page/html.ts';
import type { Interval, ResultTable } from '../run-record.ts';

/** A metric of the runs of one command on one kind of machine. */
export interface TrendLine {
  readonly metric: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  readonly command: string;
  /** Its processor, and how many cores it has. */
  readonly machine: string;
  /** The oldest first; at least one. */
  readonly points: readonly TrendPoint[];
}

export interface TrendPoint {
  readonly run: string;
  /** Seven digits, with a plus if the code had changes; a dash if it is not known. */
  readonly commit: string;
  readonly date: string;
  readonly value: number;
  readonly interval: Interval | null;
  /** What its user has called it. */
  readonly tags: readonly string[];
}

export function trendTable(line: TrendLine): ResultTable {
  const { metric, unit, better, command, machine, points } = line;
  return {
    name: 'trend',
    title: metric,
    caption: `Unit: ${unit}; ${better} is better. Measured by ${command} on ${machine}.`,
    columns: ['commit', 'date', 'value', 'low', 'high', 'tags', 'run'],
    rows: points.map(({ commit, date, value, interval, tags, run }) => [
      commit,
      date.slice(0, 16).replace('T', ' '),
      value,
      interval?.low ?? null,
      interval?.high ?? null,
      tags.join(', ') || null,
      run,
    ]),
  };
}

export function trendPage(wanted: string, lines: readonly TrendLine[]): string {
  const charts = lines.map(chartOf);
  const runs = new Set(lines.flatMap(({ points }) => points.map(({ run }) => run)));
  return htmlPage({
    title: `${wanted}, from commit to commit`,
    charts: charts.map(({ chart }) => chart),
    body: html`
      ${pageHeader({
        kicker: 'percolator-bench',
        title: `${wanted}, from commit to commit`,
        headline:
          'Runs of one command on one kind of machine. Two runs whose intervals overlap may differ by chance.',
        chips: [counted(lines.length, 'metrics'), counted(runs.size, 'runs')],
        links: [],
      })}
      ${charts.map((one) => chartSection(one))}
    `,
  });
}

function chartOf(trend: TrendLine, i: number): ChartWithTable {
  const name = `trend-${i + 1}`;
  const table = { ...trendTable(trend), name };
  const chart = findingsChart({
    name,
    title: table.title,
    caption: table.caption,
    x: {
      title: 'commit',
      scale: 'linear',
      ticks: trend.points.map(({ commit }, at) => ({ at, label: commit })),
    },
    y: { title: trend.unit, scale: 'linear', ticks: [] },
    series: [
      {
        name: trend.metric,
        look: 'percolator',
        isLine: true,
        points: trend.points.map(({ value, interval }, x) => ({
          x,
          y: value,
          low: interval?.low ?? null,
          high: interval?.high ?? null,
        })),
      },
    ],
  });
  return { chart, table };
}
