/**
 * From the files of a run to what people read: CSV tables, `figure-7.png` and `report.html`.
 *
 * Everything here is a pure function of `run.json`, the histograms and the time series: no clock,
 * no chance, so a rebuilt report is the same to the byte. All is read and made before anything is
 * written: a corrupt run leaves the old report as it was.
 */
import path from 'node:path';
import { buildChartData } from './charts/build-chart-data.ts';
import type { ChartData } from './charts/chart-data.ts';
import { drawPng } from './charts/draw-png.ts';
import { figure7 } from './charts/figure-7.ts';
import { formatCount } from './charts/format.ts';
import { chartTheme } from './charts/theme.ts';
import { readMeasuredRun } from './measured-run.ts';
import { reportPage } from './page/page.ts';
import type { RunRecord } from './run-record.ts';
import { percentilesCsv, pointsCsv } from './tables.ts';
import { writeFileAtomically } from './write-file.ts';

/** The paths of what was made. */
export interface ReportFiles {
  readonly pointsCsv: string;
  readonly percentilesCsv: string;
  readonly figure: string;
  readonly page: string;
}

/** Makes, or makes again, everything derived from the run in `folder`. */
export function buildReport(folder: string): ReportFiles {
  const run = readMeasuredRun(folder);
  const data = buildChartData(folder, run);
  const files: ReportFiles = {
    pointsCsv: path.join(folder, 'points.csv'),
    percentilesCsv: path.join(folder, 'latency-percentiles.csv'),
    figure: path.join(folder, 'figure-7.png'),
    page: path.join(folder, 'report.html'),
  };
  const contents = [
    [files.pointsCsv, pointsCsv(run.record.points)],
    [files.percentilesCsv, percentilesCsv(run.latencies)],
    [files.figure, figurePng(run.record, data)],
    [files.page, reportPage(run.record, data)],
  ] as const;
  for (const [file, content] of contents) writeFileAtomically(file, content);
  return files;
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
