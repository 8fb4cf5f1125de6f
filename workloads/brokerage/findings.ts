/** Turns the measurements into the tables and charts of the record. */
import { sum } from 'simple-statistics';
import {
  type Column,
  column,
  countInterval,
  type Findings,
  type FindingsParts,
  HEADLINE_SAMPLES_MIN,
  higher,
  lower,
  noNumbers,
  type ResultTable,
  resultTable,
  rowName,
  statedPercentileMs,
} from '#results';
import { rounded } from '../harness/statistics.ts';
import type { StoreCounts } from '../harness/watched-stores.ts';
import type { RunResult } from './clients.ts';
import type { TypeRecord } from './driver/recorder.ts';
import { figure9Chart, lineOf, NAMES, PAPER } from './figure-9.ts';
import type { SystemName } from './plan.ts';
import {
  conflictsOf,
  cores,
  cpuPerTrade,
  type Figure9Results,
  isCorrect,
  MIX,
  mixShare,
  readCalls,
  type ReadsVariant,
  saturation,
  type SystemRun,
  tradesPerSecond,
  transactions,
} from './results.ts';
import { TRANSACTIONS, type TransactionRules, type TransactionType } from './transactions/index.ts';

const CHECKED =
  'positions, histories, settlements, balances and indexes hold, and broker totals where trades update them; no order is ' +
  'left incomplete, and every acknowledged Trade-Result is there';

export function findingsOf(results: Figure9Results): Omit<FindingsParts, 'targets'> {
  if (!isCorrect(results)) {
    const { wrong } = results;
    const detail =
      wrong.length > 0 ? wrong.join('; ') : 'nothing has been measured and checked yet';
    return noNumbers(detail);
  }
  const check = { passed: true, detail: `${results.checked.join(', ')}: ${CHECKED}` };
  return { headline: headline(results), check, ...numbers(results) };
}

function numbers(results: Figure9Results): Pick<Findings, 'tables' | 'charts'> {
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

function headline(results: Figure9Results): string {
  const sentences = systemsOf(results.unpaced).map((system) => {
    const runs = runsOf(results.unpaced, system);
    const completed = sum(runs.map(({ records }) => records.tradeResult.ended));
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
    ...inflationSentence(results),
    ...sentences,
    ...brokerSentence(results),
    'TPC-E-like, not comparable with results of the TPC.',
  ].join(' ');
}

/** The finding: what the paper's 30 times are here. */
function inflationSentence({ unpaced }: Figure9Results): readonly string[] {
  const of = (system: SystemName): number | null => {
    const runs = runsOf(unpaced, system);
    const completed = sum(runs.map(({ records }) => records.tradeResult.ended));
    return completed < HEADLINE_SAMPLES_MIN ? null : cpuPerTrade(runs);
  };
  const theirs = of('postgres');
  const times = systemsOf(unpaced)
    .filter((system) => system !== 'postgres')
    .flatMap((system) => {
      const ours = of(system);
      if (ours === null || theirs === null) return [];
      return [`${(ours / theirs).toFixed(1)} times (${NAMES[system]})`];
    });
  if (times.length === 0) return [];
  return [
    `A Trade-Result takes ${times.join(' and ')} the processor time of PostgreSQL; in the paper about ${PAPER.inflation} times.`,
  ];
}

function brokerSentence({ brokers }: Figure9Results): readonly string[] {
  const retried = brokers.map(({ mode, result: { records } }) => {
    const { ended, retried: again } = records.tradeResult;
    return `${((100 * again) / Math.max(1, ended)).toFixed(1)} % (${mode})`;
  });
  return retried.length === 0
    ? []
    : [`Trade-Results that met a conflict, by the broker’s update: ${retried.join(', ')}.`];
}

function ladderTable({ ladder }: Figure9Results): ResultTable {
  const sorted = ladder.toSorted(
    (a, b) => (a.result.offered.tradesPerSecond ?? 0) - (b.result.offered.tradesPerSecond ?? 0),
  );
  const ofClients = ({ cpuSeconds, offered }: RunResult): number | null => {
    const clients = cpuSeconds?.['clients'];
    return clients === undefined ? null : clients / offered.seconds;
  };
  // Without a value, so that no other run is compared with what an overload costs.
  const ifKept = (of: (result: RunResult) => number | null) => (result: RunResult) =>
    saturation(result) === null ? of(result) : null;
  const interval = ({ records }: RunResult) => countInterval(records.tradeResult.ended);
  const count = (
    title: string,
    of: (result: RunResult) => number | null,
    metric?: Column<SystemRun>['metric'],
  ) => column<SystemRun>(title, ({ result }) => rounded(of(result)), metric);
  return resultTable(
    {
      name: 'ladder',
      title: 'The ladder of loads',
      caption:
        'Open loop: a clock starts transactions, and response times count from then. TR/s are Trade-Results per second ' +
        '(TPC-E-like, not comparable with results of the TPC), a tenth of all transactions. At least and at most are the 99 % ' +
        'interval of their count. The system kept up if the offered count is not above that interval and the backlog did not grow; for other loads no cost is stated.',
    },
    Object.keys(NAMES).flatMap((system) => sorted.filter((point) => point.system === system)),
    [
      rowName('system', ({ system }) => NAMES[system]),
      rowName('TR/s offered', ({ result }) => rounded(result.offered.tradesPerSecond)),
      count('seconds', ({ offered }) => offered.seconds),
      column('TR', ({ result }) => result.records.tradeResult.ended),
      count('TR at least', (result) => interval(result).low),
      count('TR at most', (result) => interval(result).high),
      count('TR/s', tradesPerSecond),
      count('cores', ifKept(cores), lower('cores')),
      count('cores of clients', ofClients),
      count(
        'CPU ms per TR',
        ifKept((result) => cpuMs([result])),
        lower('ms'),
      ),
      count('TR, 50 % within ms', (result) => tradesWithinMs(result, 50)),
      count('TR, 90 % within ms', (result) => tradesWithinMs(result, 90)),
      count('TR per order, %', tradesPerOrder),
      count('conflicts per 1,000', conflictsPerThousand),
      column('kept up', ({ result }) => {
        const reason = saturation(result);
        return reason === null ? 'yes' : `no: ${reason}`;
      }),
    ],
  );
}

/**
 * Trade-Results per order that was not rolled back. If it is far from 100, the exchange is the
 * bottleneck or the run is too short.
 */
function tradesPerOrder({ records: { tradeOrder, tradeResult } }: RunResult): number {
  return (100 * tradeResult.ended) / (tradeOrder.ended - tradeOrder.rolledBack);
}

function conflictsPerThousand(result: RunResult): number {
  return (1_000 * conflictsOf(result)) / transactions(result);
}

function tradesWithinMs({ records }: RunResult, percent: number): number | null {
  return statedPercentileMs(records.tradeResult.histogram, percent);
}

/** Milliseconds of processor time per Trade-Result. */
function cpuMs(runs: readonly RunResult[]): number | null {
  const seconds = cpuPerTrade(runs);
  return seconds === null ? null : 1_000 * seconds;
}

function lineTable(results: Figure9Results): ResultTable {
  const rows = systemsOf(results.ladder).map((system) =>
    Object.assign(lineOf(results, system), { name: NAMES[system] }),
  );
  return resultTable(
    {
      name: 'lines',
      title: 'Cores against TR/s: the straight line',
      caption:
        'A least-squares fit through the loads that the system kept up with; of each load, the round of median cost. The interval holds ' +
        'the true slope with 95 % confidence.',
    },
    rows,
    [
      rowName('system', ({ name }) => name),
      column('loads', ({ loads }) => loads.length),
      column('from TR/s', ({ from }) => rounded(from)),
      column('to TR/s', ({ to }) => rounded(to)),
      column('range, times', ({ from, to }) => rounded(to / from)),
      column('R²', ({ fit }) => (fit === null ? null : rounded(fit.rSquared, 5)), higher('')),
      column('cores without load', ({ fit }) => rounded(fit?.intercept ?? null)),
      column(
        'cores per TR/s',
        ({ fit }) => rounded(fit?.slope ?? null),
        lower('cores', ['from', 'to']),
      ),
      column('from', ({ fit }) => (fit === null ? null : rounded(fit.slope - fit.slopeError))),
      column('to', ({ fit }) => (fit === null ? null : rounded(fit.slope + fit.slopeError))),
    ],
  );
}

interface SystemCost {
  readonly name: string;
  /** Along the ladder and at full load: milliseconds, and times PostgreSQL's. */
  readonly ladder: number | null;
  readonly ladderTimes: number | null;
  readonly full: number | null;
  readonly fullTimes: number | null;
}

function costTable(results: Figure9Results): ResultTable {
  const ladder = (system: SystemName): number | null =>
    cpuMs(lineOf(results, system).kept.map(({ result }) => result));
  const full = (system: SystemName): number | null => cpuMs(runsOf(results.unpaced, system));
  const times = (value: number | null, of: number | null): number | null =>
    value === null || of === null ? null : value / of;
  const costs = systemsOf([...results.unpaced, ...results.ladder]).map((system): SystemCost => ({
    name: NAMES[system],
    ladder: ladder(system),
    ladderTimes: times(ladder(system), ladder('postgres')),
    full: full(system),
    fullTimes: times(full(system), full('postgres')),
  }));
  const paper: SystemCost = {
    name: 'paper',
    ladder: null,
    ladderTimes: null,
    full: (1_000 * PAPER.cores) / PAPER.tradesPerSecond,
    fullTimes: PAPER.inflation,
  };
  return resultTable(
    {
      name: 'cost',
      title: 'What a Trade-Result costs, with its share of the mix',
      caption:
        'Processor time of all processes, clients included. The paper compares cores at full load with a published record on ' +
        'other hardware: about 30 times the cores of a database.',
    },
    [...costs, paper],
    [
      rowName('system', ({ name }) => name),
      column('CPU ms per TR, ladder', (cost) => rounded(cost.ladder), lower('ms')),
      column('relative to functions', ({ ladderTimes }) => rounded(ladderTimes)),
      column('CPU ms per TR, full load', (cost) => rounded(cost.full), lower('ms')),
      column('relative to functions', ({ fullTimes }) => rounded(fullTimes)),
    ],
  );
}

function unpacedTable({ unpaced, durability }: Figure9Results): ResultTable {
  return resultTable(
    {
      name: 'unpaced',
      title: 'Maximum throughput',
      caption: 'Closed loop: response times are meaningless here, so there are none.',
    },
    systemsOf(unpaced).flatMap((system) => unpaced.filter((point) => point.system === system)),
    [
      rowName('system', ({ system }) => NAMES[system]),
      rowName('users', ({ result }) => result.offered.users),
      column('TR/s', ({ result }) => rounded(tradesPerSecond(result)), higher('TR/s')),
      column('Trade-Results', ({ result }) => result.records.tradeResult.ended),
      column('transactions/s', ({ result }) =>
        rounded(transactions(result) / result.offered.seconds),
      ),
      column('cores', ({ result }) => rounded(cores(result))),
      column(
        'conflicts per 1,000',
        ({ result }) => rounded(conflictsPerThousand(result)),
        lower('conflicts'),
      ),
      column('a commit survives', ({ system }) => durability.get(system) ?? null),
    ],
  );
}

interface TransactionRow extends TypeRecord, TransactionRules {
  readonly system: SystemName;
  readonly type: TransactionType;
  readonly result: RunResult;
}

/** The transactions of each system at the highest load that it kept up with. */
function transactionsTable(results: Figure9Results): ResultTable {
  const rows = systemsOf(results.ladder).flatMap((system) => {
    const highest = lineOf(results, system).kept.at(-1);
    return highest === undefined ? [] : transactionRows(highest);
  });
  const ofMix =
    (of: (row: TransactionRow) => string | number | null, otherwise: string | null) =>
    (row: TransactionRow) =>
      row.mixPercentMax > 0 ? of(row) : otherwise;
  return resultTable(
    {
      name: 'transactions',
      title: 'The transactions, at the highest load that the system kept up with',
      caption:
        'Shares and limits of the specification (6.3.1, 6.5.1), which runs for hours: a share outside of what is allowed is "within ' +
        'chance" if the 99 % interval of its count reaches the allowed shares. 90 % must be faster than the limit, and the mean must ' +
        'not exceed the 90th percentile, which needs a hundred transactions.',
    },
    rows,
    [
      column('system', ({ system }) => NAMES[system]),
      column('transaction', ({ title }) => title),
      column('transactions', ({ ended }) => ended),
      column(
        '% of mix',
        ofMix(({ result, type }) => rounded(mixShare(result, type)), null),
      ),
      column(
        'allowed',
        ofMix(
          ({ mixPercentMin, mixPercentMax }) => `${mixPercentMin} to ${mixPercentMax}`,
          'once a minute',
        ),
      ),
      column(
        'share allowed',
        ofMix(({ result, type }) => shareVerdict(result, type), null),
      ),
      column('mean ms', ({ histogram }) => rounded(histogram.mean / 1_000)),
      column('90 % within ms', ({ histogram }) => rounded(statedPercentileMs(histogram, 90))),
      column('limit ms', ({ responseMsMax }) => responseMsMax),
      column('90 % within limit', limitVerdict),
      column('conflicts', ({ conflicts }) => conflicts),
      column('retried', ({ retried }) => retried),
      column('rolled back', ({ rolledBack }) => rolledBack),
    ],
  );
}

function transactionRows({ system, result }: SystemRun): readonly TransactionRow[] {
  return [...MIX, 'dataMaintenance' as const].flatMap((type) => {
    const record = result.records[type];
    return record.ended === 0 ? [] : [{ system, type, result, ...record, ...TRANSACTIONS[type] }];
  });
}

function limitVerdict({ histogram, responseMsMax }: TransactionRow): string {
  const within = statedPercentileMs(histogram, 90);
  if (within === null) return 'too few';
  return within <= responseMsMax && histogram.mean / 1_000 <= within ? 'yes' : 'NO';
}

/** Whether the share of the mix is one that the specification allows, or could be one. */
function shareVerdict(result: RunResult, type: TransactionType): string {
  const { mixPercentMin, mixPercentMax } = TRANSACTIONS[type];
  const isAllowed = (low: number, high: number): boolean =>
    high >= mixPercentMin && low <= mixPercentMax;
  const share = mixShare(result, type);
  if (isAllowed(share, share)) return 'yes';
  const { low, high } = countInterval(result.records[type].ended);
  const percent = 100 / transactions(result);
  return isAllowed(low * percent, high * percent) ? 'no, but within chance' : 'NO';
}

function readsTable({ reads }: Figure9Results): ResultTable {
  const [off] = reads;
  const per = (title: string, of: (calls: StoreCounts) => number) =>
    column<ReadsVariant>(title, ({ result }) =>
      rounded((result.store === null ? 0 : of(result.store)) / transactions(result)),
    );
  const calls = (result: RunResult): number => readCalls(result) / transactions(result);
  return resultTable(
    {
      name: 'reads',
      title: 'Batching and prefetching: reads of the store per transaction',
      caption:
        'Means over the mix, each variant on a copy of the same store, at full speed. The paper’s prefetching ' +
        'saves a factor of ten on rows with many columns; here rows have one or two, and batching merges the reads of many rows.',
    },
    reads,
    [
      rowName('variant', ({ name }) => name),
      per('rows read', (store) => store.reads.operations),
      column('calls that read', ({ result }) => rounded(calls(result)), lower('calls')),
      per('scans', (store) => store.scans.operations),
      per('calls that scan', (store) => store.scans.rpcs),
      column('fewer calls, times', ({ result }) =>
        rounded(calls(off?.result ?? result) / calls(result)),
      ),
      per('conditional mutations, calls', (store) => store.conditionals.rpcs),
      column('TR/s', ({ result }) => rounded(tradesPerSecond(result)), higher('TR/s')),
      column('CPU ms per TR', ({ result }) => rounded(cpuMs([result])), lower('ms')),
    ],
  );
}

function brokersTable({ brokers }: Figure9Results): ResultTable {
  return resultTable(
    {
      name: 'brokers',
      title: 'The broker’s update in Trade-Result, and the conflicts that it causes',
      caption:
        'Each mode at full speed on a copy of the same store: many times the nominal load of its customers, so brokers are hot. ' +
        'The update is omitted, as in the paper; part of the transaction; or a row of a side table, which an observer aggregates.',
    },
    brokers,
    [
      rowName('update', ({ mode }) => mode),
      column('TR/s', ({ result }) => rounded(tradesPerSecond(result)), higher('TR/s')),
      column('Trade-Results', ({ result }) => result.records.tradeResult.ended),
      column('CPU ms per TR', ({ result }) => rounded(cpuMs([result])), lower('ms')),
      column('Trade-Results retried, %', ({ result }) => rounded(tradesRetriedPercent(result))),
      column('their conflicts', ({ result }) => result.records.tradeResult.conflicts),
      column('all conflicts per 1,000', ({ result }) => rounded(conflictsPerThousand(result))),
      column(
        'TR, 90 % within ms',
        ({ result }) => rounded(tradesWithinMs(result, 90)),
        lower('ms'),
      ),
    ],
  );
}

function tradesRetriedPercent({ records: { tradeResult } }: RunResult): number {
  return (100 * tradeResult.retried) / Math.max(1, tradeResult.ended);
}

/** Systems in the order that all tables use. */
export function systemsOf(points: readonly SystemRun[]): readonly SystemName[] {
  const names = Object.keys(NAMES) as SystemName[];
  return names.filter((name) => points.some(({ system }) => system === name));
}

export function runsOf(points: readonly SystemRun[], system: SystemName): readonly RunResult[] {
  return points.flatMap((point) => (point.system === system ? [point.result] : []));
}
