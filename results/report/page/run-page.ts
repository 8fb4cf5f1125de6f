/**
 * The page of a run, the same for every experiment, in the order of a sceptical reader's questions:
 * what was found, its limitations, the main chart, the targets, the charts that show why, the
 * tables, and the record with links to all files.
 */
import type { Chart } from '../charts/chart.ts';
import type { RunRecord } from '../run-record.ts';
import { chartSection, type ChartWithTable } from './chart-section.ts';
import { linksTo, pageHeader, PAPER_ADDRESS, type PageLink } from './header.ts';
import { htmlPage } from './html-page.ts';
import { html, type Html } from './html.ts';
import { limitationsSection, runChips, runSection, targetsSection } from './sections.ts';
import { isLong, tableSection, type PageTable } from './table.ts';

/** The parts of the page that differ between experiments. */
export interface RunContent {
  readonly kicker: string;
  readonly title: string;
  readonly headline: string;
  /** What follows the header and the limitations: large numbers, the check. */
  readonly opening: Html | null;
  /** The first is the main chart. */
  readonly charts: readonly ChartWithTable[];
  /** What follows the main chart. */
  readonly remarks: Html | null;
  readonly tables: readonly PageTable[];
  readonly closing: Html | null;
  /** Files of the run's folder, next to `run.json`. */
  readonly files: readonly string[];
}

/** @param isIndexed whether the page of all runs links to this one */
export function runPage(record: RunRecord, content: RunContent, isIndexed: boolean): string {
  const [main, ...further] = content.charts;
  const section = (one: ChartWithTable): Html => chartSection(one);
  // A long table first would hide the results after it.
  const tables = [
    ...content.tables.filter((table) => !isLong(table)),
    ...content.tables.filter(isLong),
  ];
  return htmlPage({
    title: `${content.title}: ${record.runId}`,
    charts: content.charts.map(({ chart }): Chart => chart),
    body: html`
      ${header(record, content, isIndexed)} ${limitationsSection(record)} ${content.opening}
      ${main === undefined ? null : chartSection(main, 'tall')} ${content.remarks}
      ${targetsSection(record)} ${further.map(section)} ${tables.map(tableSection)}
      ${content.closing} ${runSection(record, linksTo(filesOf(content), 'Files of this run'))}
    `,
  });
}

function header(
  record: RunRecord,
  { kicker, title, headline }: RunContent,
  isIndexed: boolean,
): Html {
  return pageHeader({
    kicker,
    title,
    headline,
    chips: runChips(record),
    links: [
      ...(isIndexed ? [{ text: 'All figures and runs', to: ALL_FIGURES }] : []),
      { text: paperText(kicker), to: PAPER_ADDRESS },
      { text: 'The record (JSON)', to: 'run.json' },
      { text: 'All files of this run', to: '#run' },
    ],
  });
}

/** Only a kicker such as "Percolator paper, figure 7" names a place in the paper. */
function paperText(kicker: string): string {
  const [, place] = /^Percolator paper, (.+)$/.exec(kicker) ?? [];
  return place === undefined ? 'The Percolator paper' : `In the paper: ${place}`;
}

/** From a folder in `results/runs`. */
const ALL_FIGURES = '../../index.html';

function filesOf({ files }: RunContent): readonly PageLink[] {
  return ['run.json', ...files].map((file) => ({ text: file, to: file }));
}
