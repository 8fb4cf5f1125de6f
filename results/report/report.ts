/**
 * Makes the report of a run from its files: CSV tables, PNG charts and `report.html`.
 *
 * Everything here is a pure function of `run.json`, the histograms, the time series, and whether
 * the run is in results/runs: no clock, no random numbers, so a rebuilt report is the same, byte
 * for byte. Everything is read and made before anything is written, so a corrupt run leaves the old
 * report as it was.
 */
import path from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { drawPng } from './charts/draw-png.ts';
import { formatCount } from './charts/format.ts';
import { percentilesCsv, pointsCsv } from './crawl-rate/csv.ts';
import { headline } from './crawl-rate/headline.ts';
import { crawlRateContent } from './crawl-rate/page.ts';
import { findingsContent } from './findings-report.ts';
import { type MeasuredRun, readMeasuredRun } from './run-from-files.ts';
import { type RunContent, runPage } from './page/run-page.ts';
import { readRunRecord } from './record-file.ts';
import { isMeasuredHere } from './run-folders.ts';
import { isVirtual, type ResultTable, type RunRecord } from './run-record.ts';
import { UsageError } from './usage-error.ts';
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

type NamedContent = readonly [file: string, content: string | Buffer];

/** Its records have points instead of findings. */
const POINTS_EXPERIMENT = 'crawl-rate';
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

function pointsIn({ points, findings }: RunRecord): number {
  const series = findings?.charts.flatMap((chart) => chart.series) ?? [];
  return points.length + series.reduce((sum, one) => sum + one.points.length, 0);
}

interface Report {
  readonly tables: readonly NamedContent[];
  readonly page: NamedContent;
  readonly drawFigures: () => readonly NamedContent[];
}

/** All that is derived from the run in `folder`, by name. */
export function reportOf(folder: string): Report {
  const { run, content } = readContent(folder);
  const { findings } = run.record;
  const isCrawlRate = findings === null;
  // The crawl rate's other charts show why; only the figure itself is a picture.
  const pictured = isCrawlRate ? content.charts.slice(0, 1) : content.charts;
  return {
    tables: isCrawlRate ? crawlRateTables(run) : findings.tables.map(tableFile),
    page: ['report.html', runPage(run.record, content, isMeasuredHere(folder))],
    drawFigures: () =>
      pictured.map(({ chart }) => [`${chart.name}.png`, drawPng(chart, subtitle(run.record))]),
  };
}

/** A run, and the content of its page. */
export function readContent(folder: string): {
  readonly run: MeasuredRun;
  readonly content: RunContent;
} {
  const run = readMeasuredRun(folder);
  const { findings, experiment } = run.record;
  if (findings === null && experiment !== POINTS_EXPERIMENT) {
    throw new UsageError(
      `The run record in ${folder} is of the experiment ${JSON.stringify(experiment)} and has no findings, which only ${POINTS_EXPERIMENT} may lack.`,
    );
  }
  const content =
    findings === null ? crawlRateContent(folder, run) : findingsContent(findings, run.record.state);
  return { run, content };
}

/** The main finding of a run, in a sentence or two. */
export function headlineOf(record: RunRecord): string {
  return record.findings?.headline ?? headline(record);
}

function crawlRateTables({ record, latencies }: MeasuredRun): readonly NamedContent[] {
  return [
    ['points.csv', pointsCsv(record.points)],
    ['latency-percentiles.csv', percentilesCsv(latencies)],
  ];
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
  const { repository, environment, store, startedAt, label, parameters } = record;
  const isSimulated = isVirtual(record);
  const words = [
    ...(repository === null ? [] : [`${formatCount(repository.documents)} documents`]),
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
