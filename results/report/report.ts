/**
 * Makes the report of a run from its files: CSV tables, PNG charts and `report.html`.
 *
 * Everything here is a pure function of the record, and whether the run is in results/runs: no
 * clock, no random numbers, so a rebuilt report is the same, byte for byte. Everything is read and
 * made before anything is written, so a corrupt run leaves the old report as it was.
 */
import path from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { sum } from 'simple-statistics';
import type { Chart } from './charts/chart.ts';
import { drawPng, drawSvg } from './charts/draw-png.ts';
import { findingsChart, tableOf } from './charts/findings-chart.ts';
import { formatCount } from './charts/format.ts';
import { shownCharts } from './charts/shown-charts.ts';
import { html } from './page/html.ts';
import type { PageContent } from './page/live-script.ts';
import { chartsOf, ended, type RunContent, runBody, runPage } from './page/run-page.ts';
import type { PageTable } from './page/table.ts';
import { readRunRecord } from './record-file.ts';
import { isMeasuredHere } from './run-folders.ts';
import { type Findings, isVirtual, type ResultTable, type RunRecord } from './run-record.ts';
import { UsageError } from './usage-error.ts';
import { writeFileAtomically } from './write-file.ts';

/** The paths of the files made. */
export interface ReportFiles {
  /** A CSV file for each table. */
  readonly tables: readonly string[];
  readonly figures: readonly string[];
  readonly page: string;
}

export const PAGE_FILE = 'report.html';

type NamedContent = readonly [file: string, content: string | Buffer];

/** With more points than this, a report takes seconds, and `buildReport` says so. */
const SILENT_POINTS_MAX = 2_000;

/**
 * Builds or rebuilds everything derived from the run in `folder`.
 * @param tell receives a line before work that takes seconds; default: writes to standard error
 */
export function buildReport(
  folder: string,
  tell: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
): ReportFiles {
  const points = pointsIn(readRunRecord(folder));
  if (points > SILENT_POINTS_MAX) tell(`drawing ${formatCount(points)} points ...`);
  const { tables, page, drawFigures } = reportOf(folder);
  const figures = drawFigures();
  return {
    tables: tables.map((table) => write(folder, table)),
    figures: figures.map((figure) => write(folder, figure)),
    page: write(folder, page),
  };
}

function pointsIn({ findings }: RunRecord): number {
  const series = findings.charts.flatMap((chart) => chart.series);
  return sum(series.map((one) => one.points.length));
}

/** Builds the page alone, which has the charts as data. */
export function buildPage(folder: string): string {
  return write(folder, reportOf(folder).page);
}

interface Report {
  readonly tables: readonly NamedContent[];
  readonly page: NamedContent;
  readonly drawFigures: () => readonly NamedContent[];
}

/** All that is derived from the run in `folder`, by name. */
export function reportOf(folder: string): Report {
  const record = readRunRecord(folder);
  const content = findingsContent(record.findings, record.state);
  return {
    tables: record.findings.tables.map(tableFile),
    page: [PAGE_FILE, runPage(record, content, { isIndexed: isMeasuredHere(folder) })],
    drawFigures: () => [
      ...content.charts.map(({ chart }) => pictureOf(chart, record, '')),
      ...content.charts.map(({ chart }) => vectorsOf(chart, record)),
      // The first one is the figure itself; a page such as the README shows it dark, too.
      ...content.charts.slice(0, 1).map(({ chart }) => pictureOf(chart, record, '-dark')),
    ],
  };
}

/** The page of a run that goes on: it follows the run (page/live-script.ts). */
export function livePage(record: RunRecord, liveLine: string): string {
  return runPage(record, findingsContent(record.findings, record.state), { liveLine });
}

/** What of that page changes: the same as in report.html. */
export function liveContent(record: RunRecord): PageContent {
  const content = findingsContent(record.findings, record.state);
  return {
    main: runBody(record, content, { isLive: true }).text,
    charts: chartsOf(record, content),
  };
}

function pictureOf(chart: Chart, record: RunRecord, look: '' | '-dark'): NamedContent {
  return [`${chart.name}${look}.png`, drawPng(chart, subtitle(record), look === '-dark')];
}

function vectorsOf(chart: Chart, record: RunRecord): NamedContent {
  return [`${chart.name}.svg`, drawSvg(chart, subtitle(record))];
}

function tableFile({ name, columns, rows }: ResultTable): NamedContent {
  const cells = rows.map((row) => [...row]);
  return [`${name}.csv`, stringify(cells, { header: true, columns: [...columns] })];
}

function write(folder: string, [name, content]: NamedContent): string {
  const file = path.join(folder, name);
  try {
    writeFileAtomically(file, content);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `The report of a run is written into its folder, but ${file} cannot be written: ${reason}.`,
      { cause: error },
    );
  }
  return file;
}

/** Where and when a run was measured, for a picture that is seen without its page. */
export function subtitle(record: RunRecord): string {
  const { environment, store, startedAt, label, parameters } = record;
  const isSimulated = isVirtual(record);
  const words = [
    ...(isSimulated
      ? [`costs of ${String(parameters['calibration'] ?? 'this-machine')}`]
      : [storeWords(store), `${environment.cores} cores`]),
    startedAt.slice(0, 10),
    ...(label === null || isSimulated ? [] : [label]),
  ];
  return `${isSimulated ? 'In virtual time' : 'On this machine'}: ${words.join(', ')}`;
}

/** The name lists all systems of a comparison; some may be databases, not stores. */
function storeWords({ name }: RunRecord['store']): string {
  return name.includes(',') ? name : `${name} store`;
}

/* The page content and the files of an experiment whose record has its tables and charts. */

export function findingsContent(findings: Findings, state: RunRecord['state']): RunContent {
  const { kicker, title, headline, tables } = findings;
  const charts = shownCharts(findings);
  const withFiles = tables.map(withFile);
  const ofChart = (chart: string) => withFiles.find(({ name }) => belongs(name, chart));
  return {
    kicker,
    title,
    headline,
    opening: checkSentence(findings, state),
    charts: charts.map((chart) => ({
      chart: findingsChart(chart),
      table: ofChart(chart.name) ?? tableOf(chart),
      svg: `${chart.name}.svg`,
    })),
    tables: withFiles.filter(({ name }) => !charts.some((chart) => belongs(name, chart.name))),
    files: [
      ...withFiles.map(({ file }) => file),
      ...charts.flatMap(({ name }) => [`${name}.png`, `${name}.svg`]),
    ],
  };
}

function withFile(table: ResultTable): PageTable & { readonly file: string } {
  return { ...table, file: `${table.name}.csv` };
}

/** The table `cells` belongs to the charts `cells` and `cells-relative`. */
function belongs(table: string, chart: string): boolean {
  return chart === table || chart.startsWith(`${table}-`);
}

function checkSentence(
  { check, kind }: Findings,
  state: RunRecord['state'],
): ReturnType<typeof html> {
  const measured =
    state === 'finished' ? 'THE CHECK FAILED, so there are no numbers: ' : 'No numbers: ';
  const failed = kind === 'proof' ? 'NOT proven: ' : measured;
  return html`<p>${check.passed ? 'Checked: ' : failed}${ended(check.detail)}</p>`;
}
