/**
 * What the paper claims, next to what runs of this project measured. The page of all figures shows
 * these claims, and numbers.test.ts compares the table of the README with them.
 *
 * Every verdict is a rule, so that a new run gets verdicts of its own. The bounds in the rules are
 * our choice, for instance half of the paper's 1,000 and 30 times, and twice its 50 operations. A
 * number that a record does not have was not measured, and has no verdict.
 */
import { formatRatio } from '../charts/format.ts';
import { stateOf } from '../crawl-rate/points.ts';
import type { RunRecord, System } from '../run-record.ts';

export interface Claim {
  readonly says: string;
  /** The paper's number. */
  readonly paper: string;
  /** The script that measures it. */
  readonly script: string;
  /** Null if the record does not have it. */
  readonly finding: Finding | null;
}

export interface Finding {
  readonly measured: string;
  readonly verdict: string;
}

/**
 * The records by their experiment: `crawl-rate`, `micro`, `brokerage`, `web-index`, `failover`; and
 * `micro-hbase`, which is `micro` on HBase.
 */
export type RecordsByExperiment = ReadonlyMap<string, RunRecord>;

export function claimsOf(records: RecordsByExperiment): readonly Claim[] {
  return CLAIMS.map(({ says, paper, script, experiment, find }) => {
    const record = records.get(experiment);
    return { says, paper, script, finding: record === undefined ? null : find(record, records) };
  });
}

interface KnownClaim extends Omit<Claim, 'finding'> {
  readonly experiment: string;
  readonly find: (record: RunRecord, records: RecordsByExperiment) => Finding | null;
}

const CLAIMS: readonly KnownClaim[] = [
  {
    says: 'At 1 % per hour, a document waits far less than in a batch',
    paper: 'about 1,000 times',
    experiment: 'crawl-rate',
    script: 'bench:crawl-rate',
    find: shorterWait,
  },
  {
    says: 'Percolator stops keeping up at some crawl rate',
    paper: '40 %/hour',
    experiment: 'crawl-rate',
    script: 'bench:crawl-rate',
    find: endOfPercolator,
  },
  {
    says: 'The latency of the batch does not depend on low crawl rates',
    paper: 'flat',
    experiment: 'crawl-rate',
    script: 'bench:crawl-rate',
    find: flatBatch,
  },
  {
    says: "Reads cost little more than raw Bigtable's",
    paper: '0.94',
    experiment: 'micro',
    script: 'bench:micro',
    find: (_, records) => ofRaw(records, 'read', { low: 0.85, high: Infinity }),
  },
  {
    says: 'Writes cost about four times as much',
    paper: '0.23',
    experiment: 'micro',
    script: 'bench:micro',
    find: (_, records) => ofRaw(records, 'write', { low: 0.18, high: 0.3 }),
  },
  {
    says: 'A brokerage needs far more processor than on a database',
    paper: '30 times',
    experiment: 'brokerage',
    script: 'bench:brokerage',
    find: moreProcessor,
  },
  {
    says: 'Cost grows in a straight line with the load',
    paper: 'yes',
    experiment: 'brokerage',
    script: 'bench:brokerage',
    find: straightLine,
  },
  {
    says: 'Documents in results are younger than with a batch',
    paper: 'by 50 %',
    experiment: 'web-index',
    script: 'bench:web-index',
    find: younger,
  },
  {
    says: 'A document takes about 50 operations of Bigtable',
    paper: '50',
    experiment: 'web-index',
    script: 'bench:web-index',
    find: operations,
  },
  {
    says: 'A third of the tablet servers is killed, and the rate comes back',
    paper: 'yes, after a dip',
    experiment: 'failover',
    script: 'bench:failover',
    find: comesBack,
  },
];

/** The median latency of a system at a crawl rate; null if the record does not have it. */
export function medianMs(
  { points }: RunRecord,
  system: System,
  ratePercentPerHour: number,
): number | null {
  const found = points.find(
    (point) => point.system === system && point.ratePercentPerHour === ratePercentPerHour,
  );
  return found?.latency?.medianMs ?? null;
}

/**
 * A number of the row that begins with these cells, in the last column of this name; null if there
 * is none.
 */
export function numberIn(
  { findings }: RunRecord,
  table: string,
  column: string,
  ...first: readonly string[]
): number | null {
  const found = findings?.tables.find(({ name }) => name === table);
  const row = found?.rows.find((cells) => first.every((cell, i) => cells[i] === cell));
  const value = row?.[found?.columns.lastIndexOf(column) ?? -1];
  return typeof value === 'number' ? value : null;
}

function shorterWait(record: RunRecord): Finding | null {
  const [batch, ours] = [medianMs(record, 'mapreduce', 1), medianMs(record, 'percolator', 1)];
  if (batch === null || ours === null) return null;
  const times = batch / ours;
  return {
    measured: formatRatio(times),
    verdict: times >= 500 ? 'holds' : times > 1 ? 'holds, by less' : 'does not hold',
  };
}

function endOfPercolator({ points }: RunRecord): Finding | null {
  const rates = (state: ReturnType<typeof stateOf>): readonly number[] =>
    points
      .filter((point) => point.system === 'percolator' && stateOf(point) === state)
      .map(({ ratePercentPerHour }) => ratePercentPerHour);
  const highest = Math.max(...rates('measured'));
  if (!Number.isFinite(highest)) return null;
  const isReached = rates('saturated').some((rate) => rate > highest);
  return {
    measured: `above ${highest} %/hour`,
    verdict: isReached ? (highest > 40 ? 'holds, later' : 'holds') : 'not reached',
  };
}

/** Compares the latencies of the batch at the rates at which Percolator kept up. */
function flatBatch(record: RunRecord): Finding | null {
  const { points } = record;
  const kept = points.filter(
    (point) => stateOf(point) === 'measured' && point.system === 'percolator',
  );
  const seconds = kept.flatMap(({ ratePercentPerHour }) => {
    const ms = medianMs(record, 'mapreduce', ratePercentPerHour);
    return ms === null ? [] : [ms / 1000];
  });
  if (seconds.length < 2) return null;
  const [low, high] = [Math.min(...seconds), Math.max(...seconds)];
  const bounds = new Set([low.toFixed(1), high.toFixed(1)]);
  return {
    measured: `${[...bounds].join(' to ')} s`,
    verdict: high <= 1.5 * low ? 'holds' : 'does not hold',
  };
}

/**
 * The rate of an operation relative to the raw store's, on each store; first on HBase, the store
 * that is like the paper's.
 */
function ofRaw(
  records: RecordsByExperiment,
  operation: string,
  { low, high }: { readonly low: number; readonly high: number },
): Finding | null {
  return onEachStore({
    stores: ['hbase', 'emulator', 'embedded'],
    of: (store) => {
      const record = records.get(store === 'hbase' ? 'micro-hbase' : 'micro');
      return record === undefined
        ? null
        : numberIn(record, 'figure-8', 'relative', store, operation);
    },
    words: (value) => value.toFixed(2),
    holds: (value) => value >= low && value <= high,
    otherwise: 'does not hold on one machine',
  });
}

function moreProcessor(record: RunRecord): Finding | null {
  return onEachStore({
    // The last column of this name is that of the full load.
    of: (store) => numberIn(record, 'cost', 'relative to functions', `Percolator, ${store}`),
    words: (value) => value.toFixed(1),
    unit: ' times, at full load',
    holds: (value) => value >= 15,
    holdsByLess: (value) => value > 1,
    otherwise: 'does not hold',
  });
}

function straightLine(record: RunRecord): Finding | null {
  return onEachStore({
    of: (store) => numberIn(record, 'lines', 'R²', `Percolator, ${store}`),
    before: 'R² ',
    words: (value) => value.toFixed(3),
    holds: (value) => value >= 0.95,
    otherwise: 'does not hold',
  });
}

/**
 * Not judged if not even results without any delay would be 50 % younger: then the number tells the
 * run's schedule, not its system.
 */
function younger(record: RunRecord): Finding | null {
  const [ours, batch, none] = ['observers', 'batch', 'no delay'].map((system) =>
    numberIn(record, 'age', 'mean age', system),
  );
  if (typeof ours !== 'number' || typeof batch !== 'number') return null;
  if (typeof none !== 'number') return null;
  const percentOf = (age: number): number => 100 * (1 - age / batch);
  const [percent, most] = [percentOf(ours), percentOf(none)];
  const verdict = percent >= 50 ? 'holds' : percent > 0 ? 'holds, by less' : 'does not hold';
  return {
    measured: `by ${percent.toFixed(0)} %; with no delay by ${most.toFixed(0)} %`,
    verdict: most < 50 ? 'not judged' : verdict,
  };
}

function operations(record: RunRecord): Finding | null {
  const [recrawl, load] = ['observers, recrawls', 'observers, load'].map((work) =>
    numberIn(record, 'cost', 'operations', work),
  );
  if (typeof recrawl !== 'number' || typeof load !== 'number') return null;
  return {
    measured: `${recrawl.toFixed(0)} for a recrawl, ${load.toFixed(0)} in a load`,
    verdict: recrawl <= 100 ? 'holds' : 'does not hold',
  };
}

/**
 * Holds if the rate is back within 15 s after the master has found the servers dead, as the target
 * of the experiment itself asks.
 */
function comesBack(record: RunRecord): Finding | null {
  const [lowest, detected, back] = [
    'lowest second',
    'detected, after the failure',
    '95 % of the rate is back, after the failure',
  ].map((what) => numberIn(record, 'failure', 'value', what));
  if (typeof lowest !== 'number' || typeof detected !== 'number') return null;
  const dip = `a dip to ${lowest.toFixed(0)} %`;
  if (typeof back !== 'number') return { measured: dip, verdict: 'does not hold' };
  return {
    measured: `${dip}, back after ${back.toFixed(0)} s`,
    verdict: back - detected <= 15 ? 'holds' : 'holds, later',
  };
}

interface OnStores {
  /** Default: embedded and emulator. */
  readonly stores?: readonly Store[];
  readonly of: (store: Store) => number | null;
  readonly before?: string;
  readonly words: (value: number) => string;
  readonly unit?: string;
  readonly holds: (value: number) => boolean;
  /** Asked if `holds` is true of no store: whether the claim holds by less. Default: no. */
  readonly holdsByLess?: (value: number) => boolean;
  /** The verdict if it holds on no store, not even by less. */
  readonly otherwise: string;
}

function onEachStore({
  stores = ['embedded', 'emulator'],
  of,
  before = '',
  words,
  unit = '',
  holds,
  holdsByLess = () => false,
  otherwise,
}: OnStores): Finding | null {
  const found = stores.flatMap((store) => {
    const value = of(store);
    return value === null ? [] : [{ store, value }];
  });
  if (found.length === 0) return null;
  const measured = found.map(({ store, value }, i) => {
    return store === 'embedded' && i === 0 ? words(value) : `${WORDS[store]} ${words(value)}`;
  });
  const holding = found.filter(({ value }) => holds(value)).map(({ store }) => NAMES[store]);
  const where = holding.length === found.length ? '' : ` on ${holding.join(' and ')}`;
  const fallback = found.some(({ value }) => holdsByLess(value)) ? 'holds, by less' : otherwise;
  return {
    measured: `${before}${measured.join(', ')}${unit}`,
    verdict: holding.length === 0 ? fallback : `holds${where}`,
  };
}

type Store = 'hbase' | 'emulator' | 'embedded';

const WORDS = { hbase: 'HBase', emulator: 'emulator', embedded: 'embedded' } as const;
const NAMES = { ...WORDS, emulator: 'the emulator', embedded: 'the embedded store' } as const;
