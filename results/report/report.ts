/**
 * Makes the report of a run from its files: CSV tables, PNG charts and `report.html`.
 *
 * Everything here is a pure function of `run.json`, the histograms and the time series: no clock,
 * no random numbers, so a rebuilt report is the same, byte for byte. Everything is read and made
 * before anything is written, so a corrupt run leaves the old report as it was.
 */
import path from 'node:path';
import { buildChartData } from './charts/build-chart-data.ts';
import type { ChartData } from './charts/chart-data.ts';
import { drawPng } from './charts/draw-png.ts';
import { figure7 } from './charts/figure-7.ts';
import { findingsFigure } from './charts/findings-figure.ts';
import { formatCount } from './charts/format.ts';
import { chartTheme } from './charts/theme.ts';
import { type MeasuredRun, readMeasuredRun } from './measured-run.ts';
import { findingsPage } from './page/findings-page.ts';
import { reportPage } from './page/page.ts';
import type { Findings, ResultChart, RunRecord } from './run-record.ts';
import { percentilesCsv, pointsCsv, tableCsv } from './tables.ts';
import { writeFileAtomically } from './write-file.ts';

/** The paths of the files made. */
export interface ReportFiles {
  /**
   * `points.csv` and `latency-percentiles.csv` for the crawl rate; otherwise one file per table.
   */
  readonly tables: readonly string[];
  readonly figures: readonly string[];
  readonly page: string;
}

interface Content {
  readonly tables: readonly NamedContent[];
  readonly figures: readonly NamedContent[];
  readonly page: string;
}

type NamedContent = readonly [file: string, content: string | Buffer];

/** Builds or rebuilds everything derived from the run in `folder`. */
export function buildReport(folder: string): ReportFiles {
  const run = readMeasuredRun(folder);
  const { findings } = run.record;
  const content = findings === null ? crawlRate(folder, run) : ofFindings(run.record, findings);
  const write = ([file, bytes]: NamedContent): string => {
    const where = path.join(folder, file);
    writeFileAtomically(where, bytes);
    return where;
  };
  return {
    tables: content.tables.map(write),
    figures: content.figures.map(write),
    page: write(['report.html', content.page]),
  };
}

function crawlRate(folder: string, run: MeasuredRun): Content {
  const data = buildChartData(folder, run);
  return {
    tables: [
      ['points.csv', pointsCsv(run.record.points)],
      ['latency-percentiles.csv', percentilesCsv(run.latencies)],
    ],
    figures: [['figure-7.png', figurePng(run.record, data)]],
    page: reportPage(run.record, data),
  };
}

function ofFindings(record: RunRecord, findings: Findings): Content {
  const pictures = findings.charts.map((chart) => ({ chart, png: findingsPng(record, chart) }));
  return {
    tables: findings.tables.map((table) => [`${table.name}.csv`, tableCsv(table)]),
    figures: pictures.map(({ chart, png }) => [`${chart.name}.png`, png]),
    page: findingsPage(record, findings, pictures),
  };
}

function findingsPng(record: RunRecord, chart: ResultChart): Buffer {
  const theme = chartTheme(false);
  const { environment, startedAt } = record;
  const words = [
    `${environment.cores} cores`,
    startedAt.slice(0, 10),
    ...(record.label === null ? [] : [record.label]),
  ];
  return drawPng(findingsFigure(chart, theme), theme, {
    width: 1000,
    height: 560,
    title: chart.title,
    subtitle: `On this machine: ${words.join(', ')}`,
  });
}

function figurePng(record: RunRecord, data: ChartData): Buffer {
  const theme = chartTheme(false);
  const figure = figure7(data, theme, { median: true, p99: true, paper: true });
  return drawPng(figure, theme, {
    width: 1100,
    height: 680,
    title: 'Crawl rate against clustering latency',
    subtitle: figureSubtitle(record),
  });
}

function figureSubtitle(record: RunRecord): string {
  const { repository, environment, store } = record;
  const size = repository === null ? [] : [`${formatCount(repository.documents)} documents`];
  const words = [
    ...size,
    `${store.name} store`,
    `${environment.cores} cores`,
    record.startedAt.slice(0, 10),
  ];
  const label = record.label === null ? [] : [record.label];
  return `The Percolator paper\u2019s figure 7 on this machine: ${[...words, ...label].join(', ')}`;
}
