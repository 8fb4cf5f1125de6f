/** Turns the measurements into the tables and charts of the record. */
import { type Findings, type FindingsParts, HEADLINE_SAMPLES_MIN, noNumbers } from '#results';
import { figure9Chart, NAMES, PAPER } from './figure-9.ts';
import { cpuPerTrade, tradesPerSecond } from './point.ts';
import { isCorrect, type Results } from './results.ts';
import {
  brokersTable,
  costTable,
  ladderTable,
  lineTable,
  readsTable,
  runsOf,
  transactionsTable,
  unpacedTable,
  systemsOf,
} from './tables.ts';

const CHECKED =
  'positions, histories, settlements, balances and indexes hold, and broker totals where trades update them; no order is ' +
  'left incomplete, and every acknowledged Trade-Result is there';

export function findingsOf(results: Results): Omit<FindingsParts, 'targets'> {
  if (!isCorrect(results)) {
    const { wrong } = results;
    const detail =
      wrong.length > 0 ? wrong.join('; ') : 'nothing has been measured and checked yet';
    return noNumbers(detail);
  }
  const check = { passed: true, detail: `${results.checked.join(', ')}: ${CHECKED}` };
  return { headline: headline(results), check, ...numbers(results) };
}

function numbers(results: Results): Pick<Findings, 'tables' | 'charts'> {
  const { ladder, unpaced, reads, brokers } = results;
  return {
    tables: [
      ...(ladder.length + unpaced.length > 0 ? [costTable(results)] : []),
      ...(unpaced.length > 0 ? [unpacedTable(results)] : []),
      ...(ladder.length > 0 ? [lineTable(results), transactionsTable(results)] : []),
      ...(reads.length > 0 ? [readsTable(results)] : []),
      ...(brokers.length > 0 ? [brokersTable(results)] : []),
      ...(ladder.length > 0 ? [ladderTable(results)] : []),
    ],
    charts: ladder.length > 0 ? [figure9Chart(results)] : [],
  };
}

function headline(results: Results): string {
  const sentences = systemsOf(results.unpaced).map((system) => {
    const runs = runsOf(results.unpaced, system);
    const completed = runs.reduce((sum, { records }) => sum + records.tradeResult.ended, 0);
    if (completed < HEADLINE_SAMPLES_MIN) {
      return `${NAMES[system]}: only ${completed} Trade-Results, too few for a rate.`;
    }
    const [perSecond = 0] = runs.map(tradesPerSecond); // One run at full speed.
    const perTrade = cpuPerTrade(runs);
    const cost =
      perTrade === null ? '' : ` at ${(1_000 * perTrade).toFixed(1)} ms of processor time each`;
    return `${NAMES[system]}: ${perSecond.toFixed(1)} TR/s${cost}.`;
  });
  return [
    ...sentences,
    ...brokerSentence(results),
    'TPC-E-like, not comparable with results of the TPC.',
    `The paper: ${PAPER.inflation} times the cores of a database.`,
  ].join(' ');
}

function brokerSentence({ brokers }: Results): readonly string[] {
  const retried = brokers.map(({ mode, result: { records } }) => {
    const { ended, retried: again } = records.tradeResult;
    return `${((100 * again) / Math.max(1, ended)).toFixed(1)} % (${mode})`;
  });
  return retried.length === 0
    ? []
    : [`Trade-Results that met a conflict, by the broker’s update: ${retried.join(', ')}.`];
}
