/** Makes the tables of the report from the points. */
import {
  higherIsBetter,
  lowerIsBetter,
  countInterval,
  statedPercentileMs,
  type ResultTable,
} from '#results';
import { rounded } from '../harness/statistics/rounded.ts';
import { TRANSACTIONS, type TransactionType } from './model/index.ts';
import type { RunResult } from './clients.ts';
import { type Line, lineOf, NAMES, PAPER } from './figure-9.ts';
import type { SystemName } from './plan.ts';
import {
  conflictsOf,
  cores,
  cpuPerTrade,
  MIX,
  mixShare,
  type Point,
  saturation,
  tradesPerSecond,
  transactions,
} from './point.ts';
import type { Results } from './results.ts';

type Row = ResultTable['rows'][number];

export function ladderTable({ ladder }: Results): ResultTable {
  const sorted = ladder.toSorted(
    (a, b) => (a.result.offered.tradesPerSecond ?? 0) - (b.result.offered.tradesPerSecond ?? 0),
  );
  return {
    name: 'ladder',
    title: 'The ladder of loads',
    caption:
      'Open loop: a clock starts transactions, and response times count from then. TR/s are Trade-Results per second ' +
      '(TPC-E-like, not comparable with results of the TPC), a tenth of all transactions. At least and at most are the 99 % ' +
      'interval of their count. The system kept up if the offered count is not above that interval and the backlog did not grow; for other loads no cost is stated.',
    columns: [
      'system',
      'TR/s offered',
      'seconds',
      'TR',
      'TR at least',
      'TR at most',
      'TR/s',
      'cores',
      'cores of clients',
      'CPU ms per TR',
      'TR, 50 % within ms',
      'TR, 90 % within ms',
      'TR per order, %',
      'conflicts per 1,000',
      'kept up',
    ],
    rows: Object.keys(NAMES).flatMap((system) =>
      sorted.flatMap((point) => (point.system === system ? [ladderRow(point)] : [])),
    ),
    metrics: {
      rowNames: 2,
      columns: [lowerIsBetter('cores', 'cores'), lowerIsBetter('CPU ms per TR', 'ms')],
    },
  };
}

function ladderRow({ system, result }: Point): Row {
  const { offered, records, cpuSeconds } = result;
  const clients = cpuSeconds?.['clients'];
  const interval = countInterval(records.tradeResult.ended);
  const reason = saturation(result);
  return [
    NAMES[system],
    rounded(offered.tradesPerSecond),
    rounded(offered.seconds),
    records.tradeResult.ended,
    rounded(interval.low),
    rounded(interval.high),
    rounded(tradesPerSecond(result)),
    // Without a value, so that no other run is compared with what an overload costs.
    reason === null ? rounded(cores(result)) : null,
    rounded(clients === undefined ? null : clients / offered.seconds),
    reason === null ? milliseconds(cpuPerTrade([result])) : null,
    rounded(statedPercentileMs(records.tradeResult.histogram, 50)),
    rounded(statedPercentileMs(records.tradeResult.histogram, 90)),
    rounded(tradesPerOrder(result)),
    rounded((1_000 * conflictsOf(result)) / transactions(result)),
    reason === null ? 'yes' : `no: ${reason}`,
  ];
}

/**
 * Trade-Results per order that was not rolled back. If it is far from 100, the exchange is the
 * bottleneck or the run is too short.
 */
function tradesPerOrder({ records: { tradeOrder, tradeResult } }: RunResult): number {
  return (100 * tradeResult.ended) / (tradeOrder.ended - tradeOrder.rolledBack);
}

export function lineTable(results: Results): ResultTable {
  return {
    name: 'lines',
    title: 'Cores against TR/s: the straight line',
    caption:
      'A least-squares fit through the loads that the system kept up with; of each load, the round of median cost. The interval holds ' +
      'the true slope with 95 % confidence.',
    columns: [
      'system',
      'loads',
      'from TR/s',
      'to TR/s',
      'range, times',
      'R²',
      'cores without load',
      'cores per TR/s',
      'from',
      'to',
    ],
    rows: systemsOf(results.ladder).map((system) =>
      lineRow(NAMES[system], lineOf(results, system)),
    ),
    metrics: {
      rowNames: 1,
      columns: [
        higherIsBetter('R²', ''),
        lowerIsBetter('cores per TR/s', 'cores', { intervalColumns: ['from', 'to'] }),
      ],
    },
  };
}

function lineRow(name: string, { fit, loads, from, to }: Line): Row {
  const range = [name, loads.length, rounded(from), rounded(to), rounded(to / from)];
  if (fit === null) return [...range, null, null, null, null, null];
  const { rSquared, intercept, slope, slopeError } = fit;
  const slopes = [slope, slope - slopeError, slope + slopeError];
  return [...range, rounded(rSquared, 5), rounded(intercept), ...slopes.map((one) => rounded(one))];
}

export function costTable(results: Results): ResultTable {
  const ladder = (system: SystemName): number | null =>
    cpuPerTrade(lineOf(results, system).kept.map(({ result }) => result));
  const full = (system: SystemName): number | null => cpuPerTrade(runsOf(results.unpaced, system));
  const relative = (value: number | null, of: number | null): number | null =>
    value === null || of === null ? null : rounded(value / of);
  return {
    name: 'cost',
    title: 'What a Trade-Result costs, with its share of the mix',
    caption:
      'Processor time of all processes, clients included. The paper compares cores at full load with a published record on ' +
      'other hardware: about 30 times the cores of a database.',
    columns: [
      'system',
      'CPU ms per TR, ladder',
      'relative to functions',
      'CPU ms per TR, full load',
      'relative to functions',
    ],
    rows: [
      ...systemsOf([...results.unpaced, ...results.ladder]).map((system) => [
        NAMES[system],
        milliseconds(ladder(system)),
        relative(ladder(system), ladder('functions')),
        milliseconds(full(system)),
        relative(full(system), full('functions')),
      ]),
      [
        'paper',
        null,
        null,
        rounded((1_000 * PAPER.cores) / PAPER.tradesPerSecond),
        PAPER.inflation,
      ],
    ],
    metrics: {
      rowNames: 1,
      columns: [
        lowerIsBetter('CPU ms per TR, ladder', 'ms'),
        lowerIsBetter('CPU ms per TR, full load', 'ms'),
      ],
    },
  };
}

export function unpacedTable({ unpaced, durability }: Results): ResultTable {
  return {
    name: 'unpaced',
    title: 'Maximum throughput',
    caption: 'Closed loop: response times are meaningless here, so there are none.',
    columns: [
      'system',
      'users',
      'TR/s',
      'Trade-Results',
      'transactions/s',
      'cores',
      'conflicts per 1,000',
      'a commit survives',
    ],
    rows: systemsOf(unpaced).flatMap((system) =>
      runsOf(unpaced, system).map((result) => [
        NAMES[system],
        result.offered.users,
        rounded(tradesPerSecond(result)),
        result.records.tradeResult.ended,
        rounded(transactions(result) / result.offered.seconds),
        rounded(cores(result)),
        rounded((1_000 * conflictsOf(result)) / transactions(result)),
        durability.get(system) ?? null,
      ]),
    ),
    metrics: {
      rowNames: 2,
      columns: [higherIsBetter('TR/s', 'TR/s'), lowerIsBetter('conflicts per 1,000', 'conflicts')],
    },
  };
}

/** The transactions of each system at the highest load that it kept up with. */
export function transactionsTable(results: Results): ResultTable {
  return {
    name: 'transactions',
    title: 'The transactions, at the highest load that the system kept up with',
    caption:
      'Shares and limits of the specification (6.3.1, 6.5.1), which runs for hours: a share outside of what is allowed is "within ' +
      'chance" if the 99 % interval of its count reaches the allowed shares. 90 % must be faster than the limit, and the mean must ' +
      'not exceed the 90th percentile, which needs a hundred transactions.',
    columns: [
      'system',
      'transaction',
      'transactions',
      '% of mix',
      'allowed',
      'share allowed',
      'mean ms',
      '90 % within ms',
      'limit ms',
      '90 % within limit',
      'conflicts',
      'retried',
      'rolled back',
    ],
    rows: systemsOf(results.ladder).flatMap((system) => {
      const highest = lineOf(results, system).kept.at(-1);
      return highest === undefined ? [] : transactionRows(NAMES[system], highest.result);
    }),
  };
}

function transactionRows(name: string, result: RunResult): readonly Row[] {
  return [...MIX, 'dataMaintenance' as const].flatMap((type) => {
    const { ended, conflicts, retried, rolledBack, histogram } = result.records[type];
    if (ended === 0) return [];
    const { title, mixPercentMin, mixPercentMax, responseMsMax } = TRANSACTIONS[type];
    const mean = histogram.mean / 1_000;
    const within = statedPercentileMs(histogram, 90);
    const isInMix = mixPercentMax > 0;
    return [
      [
        name,
        title,
        ended,
        isInMix ? rounded(mixShare(result, type)) : null,
        isInMix ? `${mixPercentMin} to ${mixPercentMax}` : 'once a minute',
        isInMix ? shareVerdict(result, type) : null,
        rounded(mean),
        rounded(within),
        responseMsMax,
        within === null ? 'too few' : within <= responseMsMax && mean <= within ? 'yes' : 'NO',
        conflicts,
        retried,
        rolledBack,
      ],
    ];
  });
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

export function readsTable({ reads }: Results): ResultTable {
  const [off] = reads;
  const perTransaction = (result: RunResult, of: number): number | null =>
    rounded(of / transactions(result));
  const calls = ({ store }: RunResult): number =>
    (store?.reads.rpcs ?? 0) + (store?.scans.rpcs ?? 0);
  return {
    name: 'reads',
    title: 'Batching and prefetching: reads of the store per transaction',
    caption:
      'Means over the mix, each variant on a copy of the same store, at full speed. The paper’s prefetching ' +
      'saves a factor of ten on rows with many columns; here rows have one or two, and batching merges the reads of many rows.',
    columns: [
      'variant',
      'rows read',
      'calls that read',
      'scans',
      'calls that scan',
      'fewer calls, times',
      'conditional mutations, calls',
      'TR/s',
      'CPU ms per TR',
    ],
    rows: reads.map(({ name, result }) => {
      const all = calls(result) / transactions(result);
      const before = off === undefined ? all : calls(off.result) / transactions(off.result);
      return [
        name,
        perTransaction(result, result.store?.reads.operations ?? 0),
        rounded(all),
        perTransaction(result, result.store?.scans.operations ?? 0),
        perTransaction(result, result.store?.scans.rpcs ?? 0),
        rounded(before / all),
        perTransaction(result, result.store?.conditionals.rpcs ?? 0),
        rounded(tradesPerSecond(result)),
        milliseconds(cpuPerTrade([result])),
      ];
    }),
    metrics: {
      rowNames: 1,
      columns: [
        lowerIsBetter('calls that read', 'calls'),
        higherIsBetter('TR/s', 'TR/s'),
        lowerIsBetter('CPU ms per TR', 'ms'),
      ],
    },
  };
}

export function brokersTable({ brokers }: Results): ResultTable {
  return {
    name: 'brokers',
    title: 'The broker’s update in Trade-Result, and the conflicts that it causes',
    caption:
      'Each mode at full speed on a copy of the same store: many times the nominal load of its customers, so brokers are hot. ' +
      'The update is omitted, as in the paper; part of the transaction; or a row of a side table, which an observer aggregates.',
    columns: [
      'update',
      'TR/s',
      'Trade-Results',
      'CPU ms per TR',
      'Trade-Results retried, %',
      'their conflicts',
      'all conflicts per 1,000',
      'TR, 90 % within ms',
    ],
    rows: brokers.map(({ mode, result }) => {
      const { ended, retried, conflicts, histogram } = result.records.tradeResult;
      return [
        mode,
        rounded(tradesPerSecond(result)),
        ended,
        milliseconds(cpuPerTrade([result])),
        rounded((100 * retried) / Math.max(1, ended)),
        conflicts,
        rounded((1_000 * conflictsOf(result)) / transactions(result)),
        rounded(statedPercentileMs(histogram, 90)),
      ];
    }),
    metrics: {
      rowNames: 1,
      columns: [
        higherIsBetter('TR/s', 'TR/s'),
        lowerIsBetter('CPU ms per TR', 'ms'),
        lowerIsBetter('TR, 90 % within ms', 'ms'),
      ],
    },
  };
}

/** Systems in the order that all tables use. */
export function systemsOf(points: readonly Point[]): readonly SystemName[] {
  const names = Object.keys(NAMES) as SystemName[];
  return names.filter((name) => points.some(({ system }) => system === name));
}

export function runsOf(points: readonly Point[], system: SystemName): readonly RunResult[] {
  return points.flatMap((point) => (point.system === system ? [point.result] : []));
}

function milliseconds(seconds: number | null): number | null {
  return seconds === null ? null : rounded(1_000 * seconds);
}
