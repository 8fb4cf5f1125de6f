/**
 * What records of earlier versions state wrongly, stated right. Records are never changed; a report
 * made from an old one is. A verdict is decided again from the numbers in its row.
 */
import type { Findings, ResultTable, RunRecord } from './run-record.ts';
import { countInterval } from './samples.ts';

export function correctedRecord(record: RunRecord): RunRecord {
  const { findings, points, crawl, limitations } = record;
  const corrected = findings === null ? null : correctedFindings(record, findings);
  return {
    ...record,
    points: points.map((point) => Object.assign({}, point, { check: plainCheck(point.check) })),
    crawl: crawl === null ? null : { ...crawl, check: plainCheck(crawl.check) },
    findings: corrected,
    limitations: [...limitations.map(plain), ...remarksOn(findings, corrected)],
  };
}

/** Words of earlier versions. */
function plain(text: string): string {
  return text
    .replaceAll('the dumb function', 'a simple sequential function')
    .replaceAll(/\b1 days\b/g, '1 day');
}

function plainCheck<T extends { readonly detail: string }>(check: T): T {
  return { ...check, detail: plain(check.detail) };
}

function correctedFindings({ experiment }: RunRecord, findings: Findings): Findings {
  if (experiment !== 'brokerage') return findings;
  const tables = findings.tables.map((table) => {
    if (table.name === 'ladder') return keptUpByRule(table);
    return table.name === 'transactions' ? namedByMeaning(table) : table;
  });
  return { ...findings, tables };
}

/** Decided from the backlog alone, before the rule of docs/figure-9.md; such tables lack counts. */
function keptUpByRule(table: ResultTable): ResultTable {
  const [offered, seconds, completed, verdict] = ['TR/s offered', 'seconds', 'TR/s', 'kept up'].map(
    (column) => table.columns.indexOf(column),
  );
  if (table.columns.includes('TR') || verdict === undefined || verdict < 0) return table;
  const rows = table.rows.map((row) => {
    const of = (column = -1): number => Number(row[column]) * Number(row[seconds ?? -1]);
    const [asked, trades] = [of(offered), Math.round(of(completed))];
    const isTooFew = row[verdict] === 'yes' && asked > countInterval(trades).high;
    const words = `no: only ${trades} of ${Number(asked.toPrecision(4))} Trade-Results`;
    return isTooFew ? row.with(verdict, words) : row;
  });
  return { ...table, rows };
}

/** Next to the share of the mix, `met` seemed to be about it. */
function namedByMeaning(table: ResultTable): ResultTable {
  const columns = table.columns.map((column) => (column === 'met' ? '90 % within limit' : column));
  return { ...table, columns };
}

function remarksOn(before: Findings | null, after: Findings | null): readonly string[] {
  const rowsOf = (findings: Findings | null) =>
    findings?.tables.find(({ name }) => name === 'ladder')?.rows ?? [];
  const old = new Set(rowsOf(before));
  const changed = rowsOf(after).filter((row) => !old.has(row)).length;
  if (changed === 0) return [];
  return [
    `This run was made when a growing backlog alone showed that a system did not keep up. By the ` +
      `rule of today it did not at ${changed} more of the ${old.size} points of the ladder; the ` +
      `lines were fitted before.`,
  ];
}
