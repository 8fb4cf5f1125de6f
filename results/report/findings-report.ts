/** The page content and the files of an experiment whose record has its tables and charts. */
import { findingsChart, tableOf } from './charts/findings-chart.ts';
import { html } from './page/html.ts';
import type { RunContent } from './page/run-page.ts';
import { ended } from './page/sections.ts';
import type { PageTable } from './page/table.ts';
import type { Findings, ResultTable, RunRecord } from './run-record.ts';

export function findingsContent(findings: Findings, state: RunRecord['state']): RunContent {
  const { kicker, title, headline, tables, charts } = findings;
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
    })),
    remarks: null,
    tables: withFiles.filter(({ name }) => !charts.some((chart) => belongs(name, chart.name))),
    closing: null,
    files: [...withFiles.map(({ file }) => file), ...charts.map((chart) => `${chart.name}.png`)],
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
