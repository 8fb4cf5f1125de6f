/** The content of the page of the crawl rate, and its files. */
import type { ChartWithTable } from '../page/chart-section.ts';
import { html } from '../page/html.ts';
import type { RunContent } from '../page/run-page.ts';
import type { MeasuredRun } from '../run-from-files.ts';
import { backlogFigure } from './backlog.ts';
import { costFigure } from './cost.ts';
import { crawlSection, figuresSection } from './crawl-section.ts';
import { distributionFigure } from './distribution.ts';
import { figure7 } from './figure-7.ts';
import { headline } from './headline.ts';
import { latencyTable, pointRemarks } from './latency-table.ts';
import { normalisedFigure } from './normalised.ts';

export function crawlRateContent(folder: string, { record, latencies }: MeasuredRun): RunContent {
  const { points, crawl } = record;
  const charts: readonly (ChartWithTable | null)[] = [
    { chart: figure7(record), table: latencyTable(points) },
    normalisedFigure(record),
    distributionFigure(latencies),
    costFigure(record),
    backlogFigure(folder, record),
  ];
  return {
    kicker: 'Percolator paper, figure 7',
    title: 'Crawl rate against clustering latency',
    headline: headline(record),
    opening: figuresSection(record),
    charts: charts.filter((one) => one !== null),
    remarks: pointRemarks(points),
    tables: [],
    closing: crawl === null ? null : html`${crawlSection(crawl)}`,
    files: [
      'points.csv',
      'latency-percentiles.csv',
      'figure-7.png',
      ...points.flatMap(({ latency }) => latency?.histogramFile ?? []),
      ...points.flatMap(({ timeSeriesFile }) => timeSeriesFile ?? []),
    ],
  };
}
