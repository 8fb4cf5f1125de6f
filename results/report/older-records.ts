/**
 * What records of earlier versions state wrongly, stated right. Records are never changed; a report
 * made from an old one is. Verdicts and counts follow from the other numbers of the record.
 */
import type { Findings, ResultChart, ResultTable, RunRecord } from './run-record.ts';
import { countInterval, PERCENTILE_SAMPLES_MIN } from './samples.ts';

export function correctedRecord(record: RunRecord): RunRecord {
  const { points, crawl, findings, limitations } = record;
  const plainRecord: RunRecord = {
    ...record,
    points: points.map((point) => Object.assign({}, point, { check: plainCheck(point.check) })),
    crawl: crawl === null ? null : { ...crawl, check: plainCheck(crawl.check) },
    limitations: limitations.map(plain),
  };
  const ladder = findings?.tables.find(({ name }) => name === 'ladder');
  const isOld = record.experiment === 'brokerage' && ladder?.columns.includes('TR') === false;
  return isOld && findings !== null
    ? correctedBrokerage(plainRecord, findings, ladder)
    : plainRecord;
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

/**
 * A brokerage of before the rule of docs/figure-9.md: a growing backlog alone showed that a system
 * did not keep up, and nothing was counted.
 */
function correctedBrokerage(record: RunRecord, findings: Findings, ladder: ResultTable): RunRecord {
  const rungs = ladder.rows.map((row) => rungOf(ladder, row));
  const lost = rungs.filter(({ isLost }) => isLost).length;
  const remark =
    'This run was made when a growing backlog alone showed that a system did not keep up. By the ' +
    `rule of today it did not at ${lost} more of the ${rungs.length} points of the ladder; the ` +
    'lines were fitted before.';
  const tables = findings.tables.map((table) => {
    if (table === ladder) return countedLadder(table, rungs);
    return table.name === 'transactions' ? countedTransactions(table, rungs) : table;
  });
  const charts = findings.charts.map((chart) => countedChart(chart, rungs));
  return {
    ...record,
    findings: { ...findings, tables, charts },
    limitations: [...record.limitations, ...(lost > 0 ? [remark] : [])],
  };
}

type Row = ResultTable['rows'][number];

/** One row of the ladder. */
interface Rung {
  readonly row: Row;
  readonly system: Row[number];
  readonly perSecond: number;
  /** Trade-Results. */
  readonly asked: number;
  readonly trades: number;
  readonly isLost: boolean;
}

function rungOf({ columns }: ResultTable, row: Row): Rung {
  const of = (column: string): Row[number] => row[columns.indexOf(column)] ?? null;
  const [seconds, perSecond] = [Number(of('seconds')), Number(of('TR/s'))];
  const [asked, trades] = [Number(of('TR/s offered')) * seconds, Math.round(perSecond * seconds)];
  const isLost = of('kept up') === 'yes' && asked > countInterval(trades).high;
  return { row, system: of('system'), perSecond, asked, trades, isLost };
}

function countedLadder(table: ResultTable, rungs: readonly Rung[]): ResultTable {
  const at = table.columns.indexOf('seconds') + 1;
  const within = table.columns.indexOf('TR, 90 % within ms');
  const verdict = table.columns.indexOf('kept up');
  const rows = rungs.map(({ row, asked, trades, isLost }) => {
    const offered = Number(asked.toPrecision(4));
    const judged = isLost
      ? row.with(verdict, `no: only ${trades} of ${offered} Trade-Results`)
      : row;
    const stated = trades < PERCENTILE_SAMPLES_MIN ? judged.with(within, null) : judged;
    return stated.toSpliced(at, 0, offered, trades);
  });
  return { ...table, columns: table.columns.toSpliced(at, 0, 'TR offered', 'TR'), rows };
}

/** A transaction's count follows from its share, and from the Trade-Results of its system. */
function countedTransactions(table: ResultTable, rungs: readonly Rung[]): ResultTable {
  const [system, name, share, within] = ['system', 'transaction', '% of mix', '90 % within ms'].map(
    (column) => table.columns.indexOf(column),
  ) as [number, number, number, number];
  const rows = table.rows.map((row) => {
    const ofSystem = rungs.filter((rung) => rung.system === row[system]);
    const highest = ofSystem.toSorted((a, b) => b.perSecond - a.perSecond)[0];
    const trades = table.rows.find(
      (one) => one[system] === row[system] && one[name] === 'Trade-Result',
    );
    const count = Math.round(
      (Number(row[share]) / Number(trades?.[share])) * (highest?.trades ?? 0),
    );
    const stated = count < PERCENTILE_SAMPLES_MIN ? row.with(within, null) : row;
    return stated.toSpliced(share, 0, row[share] === null ? null : count);
  });
  // Next to the share of the mix, `met` seemed to be about it.
  const columns = table.columns
    .map((column) => (column === 'met' ? '90 % within limit' : column))
    .toSpliced(share, 0, 'transactions');
  return { ...table, columns, rows };
}

/** A mark is the round of median cost, which is a row of the ladder. */
function countedChart(chart: ResultChart, rungs: readonly Rung[]): ResultChart {
  const series = chart.series.map((one) => {
    const points = one.points.map((mark) => {
      const rung = rungs.find(
        ({ system, perSecond }) =>
          system === one.name && perSecond === Number(mark.x.toPrecision(4)),
      );
      return Object.assign({}, mark, { samples: rung?.trades ?? null });
    });
    return Object.assign({}, one, { points });
  });
  return { ...chart, series };
}
