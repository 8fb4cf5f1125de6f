/**
 * What the paper claims, next to what runs of this project measured. The page of all figures shows
 * these claims, and checks/numbers.test.ts compares the table of the README with them.
 *
 * Every verdict is a rule, so that a new run gets verdicts of its own; the bounds are in
 * thresholds.ts. A number that a record does not have was not measured, and has no verdict, nor has
 * one that rests on fewer than 30 samples.
 */
import { sum } from 'simple-statistics';
import { formatRatio } from '../charts/format.ts';
import { type Point, pointsOf, stateOf, type System } from '../figure-7/points.ts';
import type { RunRecord } from '../run-record.ts';
import { tooFewSamples } from '../histogram.ts';
import { EXPERIMENTS, type ExperimentName } from './experiments.ts';
import { CLAIMS as ONLY_CLAIMS, formatJudged, SHARED } from '../thresholds.ts';

const BOUNDS = { ...SHARED, ...ONLY_CLAIMS };

export interface Claim {
  /** Its name on a command line: `waiting`. */
  readonly id: string;
  readonly says: string;
  /** The paper's number. */
  readonly paper: string;
  /** The bounds of the verdict. */
  readonly holdsIf: string;
  /** The script that measures it. */
  readonly script: string;
  /** The experiment that measures it, and those that add to it where they were measured. */
  readonly experiments: readonly [ExperimentName, ...ExperimentName[]];
  /** What a run of another machine may differ by, and still have found the same. */
  readonly tolerance: Tolerance;
  /** Null if the record does not have it. */
  readonly finding: Finding | null;
}

export interface Finding {
  readonly measured: string;
  readonly verdict: string;
  /** What two runs are compared by, by what it is of: a store, or nothing. */
  readonly numbers: Readonly<Record<string, number>>;
}

export interface Tolerance {
  /** At least 1: how many times one number may be the other. */
  readonly factor: number;
  /** A number that is better than the reference's may be so by more. */
  readonly better: 'higher' | 'lower' | 'neither';
  /** What is compared, if not the number that is shown. */
  readonly of?: string;
}

/** The records by their experiment, as experiments.ts names them. */
export type RecordsByExperiment = ReadonlyMap<string, RunRecord>;

export function claimsOf(records: RecordsByExperiment): readonly Claim[] {
  return CLAIMS.map(({ find, ...claim }) => {
    const record = records.get(claim.experiments[0]);
    const found = record === undefined ? null : find(record, records);
    const { script } = EXPERIMENTS[claim.experiments[0]];
    return { ...claim, script, finding: found === null ? null : judged(found) };
  });
}

function judged({ measured, verdict, numbers, samples }: Found): Finding {
  return { measured, verdict: tooFewSamples(samples) ?? verdict, numbers };
}

/** A finding with the samples that it rests on, of the part that has the fewest. */
interface Found extends Finding {
  readonly samples?: number | null;
}

interface KnownClaim extends Omit<Claim, 'finding' | 'script'> {
  readonly find: (record: RunRecord, records: RecordsByExperiment) => Found | null;
}

const CLAIMS: readonly KnownClaim[] = [
  {
    id: 'waiting',
    says: 'At 1 % per hour, a document waits far less than in a batch',
    paper: 'about 1,000 times',
    experiments: ['crawl-rate'],
    tolerance: { factor: 2, better: 'higher' },
    holdsIf: `at least ${BOUNDS.latencyRatioMin} times; by less: above 1`,
    find: shorterWait,
  },
  {
    id: 'saturation',
    says: 'Percolator stops keeping up at some crawl rate',
    paper: '40 %/hour',
    experiments: ['crawl-rate'],
    tolerance: { factor: 5, better: 'higher' },
    holdsIf: `a rate tried ends it; later: above ${BOUNDS.wallRate} %/hour`,
    find: endOfPercolator,
  },
  {
    id: 'flat-batch',
    says: 'The latency of the batch does not depend on low crawl rates',
    paper: 'flat',
    experiments: ['crawl-rate'],
    tolerance: { factor: 1.5, better: 'lower', of: 'highest over lowest' },
    holdsIf: `highest at most ${BOUNDS.flatRatioMax} times the lowest`,
    find: flatBatch,
  },
  {
    id: 'reads',
    says: "Reads cost little more than raw Bigtable's",
    paper: '0.94',
    experiments: ['micro', 'micro-hbase'],
    tolerance: { factor: 1.25, better: 'higher' },
    holdsIf: `at least ${BOUNDS.readsOfRawMin}`,
    find: (_, records) => ofRaw(records, 'read', { min: BOUNDS.readsOfRawMin, max: Infinity }),
  },
  {
    id: 'writes',
    says: 'Writes cost about four times as much',
    paper: '0.23',
    experiments: ['micro', 'micro-hbase'],
    tolerance: { factor: 1.25, better: 'neither' },
    holdsIf: `${BOUNDS.writesOfRaw.min} to ${BOUNDS.writesOfRaw.max}`,
    find: (_, records) => ofRaw(records, 'write', BOUNDS.writesOfRaw),
  },
  {
    id: 'processor',
    says: 'A brokerage needs far more processor than on a database',
    paper: '30 times',
    experiments: ['brokerage'],
    tolerance: { factor: 1.5, better: 'neither' },
    holdsIf: `at least ${BOUNDS.inflationMin} times; by less: above 1`,
    find: moreProcessor,
  },
  {
    id: 'straight-line',
    says: 'Cost grows in a straight line with the load',
    paper: 'yes',
    experiments: ['brokerage'],
    tolerance: { factor: 3, better: 'lower', of: '1 - R²' },
    holdsIf: `R² of at least ${BOUNDS.rSquaredMin}`,
    find: straightLine,
  },
  {
    id: 'freshness',
    says: 'Documents in results are younger than with a batch',
    paper: 'by 50 %',
    experiments: ['web-index'],
    tolerance: { factor: 1.25, better: 'higher' },
    holdsIf: `at least ${BOUNDS.youngerPercentMin} %; by less: above 0`,
    find: younger,
  },
  {
    id: 'operations',
    says: 'A document takes about 50 operations of Bigtable',
    paper: '50',
    experiments: ['web-index'],
    tolerance: { factor: 1.25, better: 'lower' },
    holdsIf: `a recrawl at most ${BOUNDS.operationsMax}`,
    find: operations,
  },
  {
    id: 'recovery',
    says: 'A third of the tablet servers is killed, and the rate comes back',
    paper: 'yes, after a dip',
    experiments: ['failover'],
    tolerance: { factor: 2, better: 'lower', of: 'seconds after detection' },
    holdsIf: `at most ${BOUNDS.recoverySecondsMax} s after detection; later: ever`,
    find: comesBack,
  },
];

export const CLAIM_IDS: readonly string[] = CLAIMS.map(({ id }) => id);

/** The median latency of a system at a crawl rate; null if the record does not have it. */
export function medianMs(
  record: RunRecord,
  system: System,
  ratePercentPerHour: number,
): number | null {
  const found = pointsOf(record).find(
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
  const found = findings.tables.find(({ name }) => name === table);
  const row = found?.rows.find((cells) => first.every((cell, i) => cells[i] === cell));
  const value = row?.[found?.columns.lastIndexOf(column) ?? -1];
  return typeof value === 'number' ? value : null;
}

function shorterWait(record: RunRecord): Found | null {
  const [batch, ours] = [medianMs(record, 'mapreduce', 1), medianMs(record, 'percolator', 1)];
  if (batch === null || ours === null) return null;
  const times = batch / ours;
  return {
    measured: formatRatio(times),
    numbers: { times },
    verdict: byLess(times, { least: BOUNDS.latencyRatioMin, above: 1 }),
    samples: documentsAt(pointsOf(record), [1]),
  };
}

/** The fewest documents that a point at these rates rests on. */
function documentsAt(points: readonly Point[], rates: readonly number[]): number {
  const counts = points
    .filter(({ ratePercentPerHour }) => rates.includes(ratePercentPerHour))
    .flatMap(({ latency }) => latency?.count ?? []);
  return Math.min(...counts);
}

/** @param least what holds; a value `above` the other bound holds by less */
function byLess(value: number, { least, above }: Record<'least' | 'above', number>): string {
  return value >= least ? 'holds' : value > above ? 'holds, by less' : 'does not hold';
}

function endOfPercolator(record: RunRecord): Found | null {
  const points = pointsOf(record);
  const rates = (state: ReturnType<typeof stateOf>): readonly number[] =>
    points
      .filter((point) => point.system === 'percolator' && stateOf(point) === state)
      .map(({ ratePercentPerHour }) => ratePercentPerHour);
  const highest = Math.max(...rates('measured'));
  if (!Number.isFinite(highest)) return null;
  const isReached = rates('saturated').some((rate) => rate > highest);
  return {
    measured: `above ${highest} %/hour`,
    numbers: { percentPerHour: highest },
    verdict: isReached ? (highest > BOUNDS.wallRate ? 'holds, later' : 'holds') : 'not reached',
    samples: documentsAt(
      points.filter(({ system }) => system === 'percolator'),
      [highest],
    ),
  };
}

/** Compares the latencies of the batch at the rates at which Percolator kept up. */
function flatBatch(record: RunRecord): Found | null {
  const points = pointsOf(record);
  const batches = points.filter(({ system }) => system === 'mapreduce');
  const kept = points.filter(
    (point) => stateOf(point) === 'measured' && point.system === 'percolator',
  );
  // A rate with too few documents says nothing about the others.
  const judgedAt = kept.filter(
    ({ ratePercentPerHour }) => tooFewSamples(documentsAt(batches, [ratePercentPerHour])) === null,
  );
  const rates = (judgedAt.length < 2 ? kept : judgedAt).map((point) => point.ratePercentPerHour);
  const seconds = rates.flatMap((rate) => {
    const ms = medianMs(record, 'mapreduce', rate);
    return ms === null ? [] : [ms / 1000];
  });
  if (seconds.length < 2) return null;
  const [low, high] = [Math.min(...seconds), Math.max(...seconds)];
  const bounds = new Set([low.toFixed(1), high.toFixed(1)]);
  return {
    measured: `${[...bounds].join(' to ')} s`,
    numbers: { ratio: high / low },
    verdict: high <= BOUNDS.flatRatioMax * low ? 'holds' : 'does not hold',
    samples: documentsAt(batches, rates),
  };
}

/**
 * The rate of an operation relative to the raw store's, on each store; first on HBase, the store
 * that is like the paper's.
 */
function ofRaw(
  records: RecordsByExperiment,
  operation: string,
  { min, max }: { readonly min: number; readonly max: number },
): Found | null {
  return onEachStore({
    stores: ['hbase', 'emulator', 'embedded'],
    of: (store) => {
      const record = records.get(store === 'hbase' ? 'micro-hbase' : 'micro');
      return record === undefined
        ? null
        : numberIn(record, 'figure-8', 'relative', store, operation);
    },
    decimals: 2,
    holds: (value) => value >= min && value <= max,
    otherwise: 'does not hold on one machine',
  });
}

function moreProcessor(record: RunRecord): Found | null {
  return onEachStore({
    // The last column of this name is that of the full load.
    of: (store) => numberIn(record, 'cost', 'relative to functions', `Percolator, ${store}`),
    decimals: 1,
    unit: ' times, at full load',
    samplesOf: (store) =>
      Math.min(
        ...[`Percolator, ${store}`, 'PostgreSQL, functions'].map(
          (system) => numberIn(record, 'unpaced', 'Trade-Results', system) ?? Infinity,
        ),
      ),
    holds: (value) => value >= BOUNDS.inflationMin,
    holdsByLess: (value) => value > 1,
    otherwise: 'does not hold',
  });
}

function straightLine(record: RunRecord): Found | null {
  const marks = record.findings.charts.find(({ name }) => name === 'figure-9')?.series ?? [];
  return onEachStore({
    of: (store) => numberIn(record, 'lines', 'R²', `Percolator, ${store}`),
    before: 'R² ',
    decimals: 3,
    comparedBy: (value) => 1 - value,
    samplesOf: (store) => {
      const points = marks.find(({ name }) => name === `Percolator, ${store}`)?.points ?? [];
      return Math.min(...points.map(({ samples }) => samples ?? Infinity));
    },
    holds: (value) => value >= BOUNDS.rSquaredMin,
    otherwise: 'does not hold',
  });
}

/** The fewest recrawls that the numbers of these systems rest on; null in an older record. */
function recrawls(record: RunRecord, ...systems: readonly string[]): number | null {
  const counts = systems.map((system) => numberIn(record, 'searchable', 'recrawls', system));
  return counts.includes(null) ? null : Math.min(...counts.map(Number));
}

/**
 * Not judged if not even results without any delay would be 50 % younger: then the number tells the
 * run's schedule, not its system.
 */
function younger(record: RunRecord): Found | null {
  const [ours, batch, none] = ['observers', 'batch', 'no delay'].map((system) =>
    numberIn(record, 'age', 'mean age', system),
  );
  if (typeof ours !== 'number' || typeof batch !== 'number') return null;
  if (typeof none !== 'number') return null;
  const percentOf = (age: number): number => 100 * (1 - age / batch);
  const [percent, most] = [percentOf(ours), percentOf(none)];
  const { youngerPercentMin: least } = BOUNDS;
  const verdict = (value: number): string => byLess(value, { least, above: 0 });
  return {
    measured: `by ${formatJudged(percent, 0, verdict)} %; with no delay by ${formatJudged(most, 0, verdict)} %`,
    numbers: { percent },
    verdict: most < least ? 'not judged' : verdict(percent),
    samples: recrawls(record, 'observers', 'batch'),
  };
}

function operations(record: RunRecord): Found | null {
  const [recrawl, load] = ['observers, recrawls', 'observers, load'].map((work) =>
    numberIn(record, 'cost', 'operations', work),
  );
  if (typeof recrawl !== 'number' || typeof load !== 'number') return null;
  const holds = (value: number): boolean => value <= BOUNDS.operationsMax;
  return {
    measured: `${formatJudged(recrawl, 0, holds)} for a recrawl, ${load.toFixed(0)} in a load`,
    numbers: { recrawl },
    verdict: holds(recrawl) ? 'holds' : 'does not hold',
    samples: recrawls(record, 'observers'),
  };
}

/**
 * Holds if the rate is back within 15 s after the master has found the servers dead, as the target
 * of the experiment itself asks.
 */
function comesBack(record: RunRecord): Found | null {
  const [lowest, detected, back] = [
    'lowest second',
    'detected, after the failure',
    '95 % of the rate is back, after the failure',
  ].map((what) => numberIn(record, 'failure', 'value', what));
  if (typeof lowest !== 'number' || typeof detected !== 'number') return null;
  const dip = `a dip to ${lowest.toFixed(0)} %`;
  if (typeof back !== 'number') return { measured: dip, verdict: 'does not hold', numbers: {} };
  return {
    measured: `${dip}, back after ${back.toFixed(0)} s`,
    numbers: { afterDetection: back - detected },
    verdict: back - detected <= BOUNDS.recoverySecondsMax ? 'holds' : 'holds, later',
    samples: arrived(record),
  };
}

/** The transactions that arrived in all seconds; null without the table of seconds. */
function arrived({ findings }: RunRecord): number | null {
  const table = findings.tables.find(({ name }) => name === 'seconds');
  const at = table?.columns.indexOf('arrived') ?? -1;
  return at < 0 ? null : sum((table?.rows ?? []).map((row) => Number(row[at])));
}

interface OnStores {
  /** Default: embedded and emulator. */
  readonly stores?: readonly Store[];
  readonly of: (store: Store) => number | null;
  readonly before?: string;
  /** Decimals of a value, unless its verdict needs more. */
  readonly decimals: number;
  readonly unit?: string;
  /** The number by which two runs are compared. Default: the value. */
  readonly comparedBy?: (value: number) => number;
  /** Default: not known. */
  readonly samplesOf?: (store: string) => number;
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
  decimals,
  unit = '',
  comparedBy = (value) => value,
  samplesOf = () => Infinity,
  holds,
  holdsByLess = () => false,
  otherwise,
}: OnStores): Found | null {
  const found = stores.flatMap((store) => {
    const value = of(store);
    return value === null ? [] : [{ store, value }];
  });
  if (found.length === 0) return null;
  const measured = found.map(({ store, value }, i) => {
    const text = formatJudged(value, decimals, holds);
    return store === 'embedded' && i === 0 ? text : `${WORDS[store]} ${text}`;
  });
  const holding = found.filter(({ value }) => holds(value)).map(({ store }) => NAMES[store]);
  const where = holding.length === found.length ? '' : ` on ${holding.join(' and ')}`;
  const fallback = found.some(({ value }) => holdsByLess(value)) ? 'holds, by less' : otherwise;
  return {
    measured: `${before}${measured.join(', ')}${unit}`,
    numbers: Object.fromEntries(found.map(({ store, value }) => [store, comparedBy(value)])),
    verdict: holding.length === 0 ? fallback : `holds${where}`,
    samples: Math.min(...found.map(({ store }) => samplesOf(store))),
  };
}

type Store = 'hbase' | 'emulator' | 'embedded';

const WORDS = { hbase: 'HBase', emulator: 'emulator', embedded: 'embedded' } as const;
const NAMES = { ...WORDS, emulator: 'the emulator', embedded: 'the embedded store' } as const;
