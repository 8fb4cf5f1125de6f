/**
 * What a run of figure 7 measured, above all its points: one system at one crawl rate. The record
 * keeps them as the table `points` of its findings, from which `pointsOf` reads them again.
 *
 * The rule: A POINT HAS A LATENCY ONLY IF ITS SYSTEM KEPT UP. The latency of a saturated system is
 * unbounded: the measured value would only show how long the measurement took. And a percentile is
 * stated only if it rests on enough documents.
 *
 * Rates called `...PercentPerHour` are new documents per hour, in percent of the repository.
 */
import { formatSystem } from '../charts/format.ts';
import { column, lower, resultTable, rowName } from '../columns-and-series.ts';
import {
  type Histogram,
  isStated,
  PERCENTILE_SAMPLES_MIN,
  percentileMs,
  statedPercentileMs,
} from '../histogram.ts';
import type { Check, ResultTable, RunRecord } from '../run-record.ts';

export type System = 'percolator' | 'mapreduce';

/** In the order of legends and tables. */
export const SYSTEMS: readonly System[] = ['mapreduce', 'percolator'];

/**
 * `invalid`: the measurement failed, not the system: the generator lagged, or the run never
 * settled.
 */
export type Verdict = 'sustained' | 'saturated' | 'invalid';

export interface Point {
  readonly system: System;
  readonly ratePercentPerHour: number;
  readonly verdict: Verdict;
  readonly verdictReason: string;
  /** Measured documents and the interval they arrived in, over all repeats. */
  readonly documents: number;
  readonly seconds: number;
  readonly documentsPerSecondOffered: number;
  readonly documentsPerSecondCompleted: number;
  /** Growth of the backlog in documents per second; about 0 if the system kept up. */
  readonly backlogGrowthPerSecond: number;
  readonly latency: Latency | null;
  readonly cpuSecondsPerDocument: number | null;
  /** Batch cycles measured; null for Percolator. */
  readonly cyclesMeasured: number | null;
  /** Lateness of the load generator; null if no load is generated in real time. */
  readonly generatorLagP99Ms: number | null;
}

export interface Latency {
  readonly count: number;
  readonly minMs: number;
  readonly meanMs: number;
  readonly medianMs: number;
  /** Null if there are too few documents for one. */
  readonly p90Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number;
}

/** A point as it was measured, with what only charts and the further tables show. */
export interface MeasuredPoint extends Point {
  /** The median of each repeat alone, for the spread between runs; empty with one repeat. */
  readonly repeatMediansMs: readonly number[];
  /** Null if the point has no latency. */
  readonly histogram: Histogram | null;
  /** The progress of the first repeat. */
  readonly progress: readonly ProgressRow[];
}

export interface ProgressRow {
  /** Since the point began, warm-up included. */
  readonly seconds: number;
  /** Documents so far, by their scheduled arrival. */
  readonly arrived: number;
  /** Documents clustered so far. `arrived - completed` is the backlog. */
  readonly completed: number;
}

/** @param histogram microseconds, repeats merged; counts only if the system kept up */
export function measuredPoint(
  given: Omit<MeasuredPoint, 'latency' | 'histogram'>,
  histogram: Histogram | null,
): MeasuredPoint {
  const isKnown = given.verdict === 'sustained' && histogram !== null && histogram.totalCount > 0;
  if (!isKnown) return { ...given, latency: null, histogram: null };
  const latency = {
    count: histogram.totalCount,
    minMs: percentileMs(histogram, 0),
    meanMs: histogram.mean / 1000,
    medianMs: percentileMs(histogram, 50),
    p90Ms: statedPercentileMs(histogram, 90),
    p99Ms: statedPercentileMs(histogram, 99),
    maxMs: percentileMs(histogram, 100),
  };
  return { ...given, latency, histogram };
}

type PointState = 'measured' | 'saturated' | 'invalid';

export function stateOf({ verdict, latency }: Pick<Point, 'verdict' | 'latency'>): PointState {
  if (verdict === 'saturated') return 'saturated';
  return verdict === 'sustained' && latency !== null ? 'measured' : 'invalid';
}

/** The title of the column of crawl rates. */
export const RATE = '% per hour';
const TABLE = 'points';

export function pointsTable(points: readonly Point[]): ResultTable {
  return resultTable(
    {
      name: TABLE,
      title: 'All points',
      caption:
        'Each system at each crawl rate. Without a latency are points at which the system did not keep up, or whose ' +
        'measurement is invalid: the last column says why. A percentile needs a hundred documents.',
    },
    points,
    [
      rowName('system', ({ system }) => formatSystem(system)),
      rowName(RATE, ({ ratePercentPerHour }) => ratePercentPerHour),
      column('verdict', ({ verdict }) => verdict),
      column('documents', ({ documents }) => documents),
      column('seconds', ({ seconds }) => seconds),
      column('offered, documents/s', (point) => point.documentsPerSecondOffered),
      column('completed, documents/s', (point) => point.documentsPerSecondCompleted),
      column('backlog grows, documents/s', (point) => point.backlogGrowthPerSecond),
      column('latencies', ({ latency }) => latency?.count ?? null),
      column('min ms', ({ latency }) => latency?.minMs ?? null),
      column('mean ms', ({ latency }) => latency?.meanMs ?? null),
      column('median ms', ({ latency }) => latency?.medianMs ?? null),
      column('p90 ms', ({ latency }) => latency?.p90Ms ?? null),
      column('p99 ms', ({ latency }) => latency?.p99Ms ?? null, lower('ms')),
      column('max ms', ({ latency }) => latency?.maxMs ?? null),
      column('cycles', ({ cyclesMeasured }) => cyclesMeasured),
      column('CPU s of a document', (point) => point.cpuSecondsPerDocument, lower('s')),
      column('generator late, p99 ms', ({ generatorLagP99Ms }) => generatorLagP99Ms),
      column('why', ({ verdictReason }) => verdictReason),
    ],
  );
}

/** The points of a run of bench:crawl-rate; none if its check failed, or nothing was measured. */
export function pointsOf({ findings }: Pick<RunRecord, 'findings'>): readonly Point[] {
  const table = findings.tables.find(({ name }) => name === TABLE);
  return (table?.rows ?? []).map((cells) => {
    const at = (title: string): unknown => cells[table?.columns.indexOf(title) ?? -1] ?? null;
    const number = (title: string): number => Number(at(title));
    const known = (title: string): number | null => (at(title) === null ? null : Number(at(title)));
    return {
      system: at('system') === formatSystem('percolator') ? 'percolator' : 'mapreduce',
      ratePercentPerHour: number(RATE),
      verdict: at('verdict') as Verdict,
      verdictReason: String(at('why')),
      documents: number('documents'),
      seconds: number('seconds'),
      documentsPerSecondOffered: number('offered, documents/s'),
      documentsPerSecondCompleted: number('completed, documents/s'),
      backlogGrowthPerSecond: number('backlog grows, documents/s'),
      latency:
        known('latencies') === null
          ? null
          : {
              count: number('latencies'),
              minMs: number('min ms'),
              meanMs: number('mean ms'),
              medianMs: number('median ms'),
              p90Ms: known('p90 ms'),
              p99Ms: known('p99 ms'),
              maxMs: number('max ms'),
            },
      cpuSecondsPerDocument: known('CPU s of a document'),
      cyclesMeasured: known('cycles'),
      generatorLagP99Ms: known('generator late, p99 ms'),
    };
  });
}

export interface Figure7 {
  readonly points: readonly MeasuredPoint[];
  readonly repository: RepositoryDescription | null;
  readonly crawl: CrawlResult | null;
  readonly capacity: Capacity | null;
  readonly mapreduceModel: MapreduceModel | null;
  /** The first point whose check failed, or what was compared at all of them. */
  readonly check: Check;
}

/** The synthetic repository, as loaded before the first point. */
export interface RepositoryDescription {
  readonly documents: number;
  /** The paper's ratio is 0.75 of the documents, for each of the three key tables. */
  readonly keysPerTable: number;
  readonly documentBytes: number;
  readonly clusters: number;
  readonly meanClusterSize: number;
  /** Share, from 0 to 1, of documents in a cluster of two or more. */
  readonly nonSingletonShare: number;
}

/** A real crawl, clustered by the same code. */
export interface CrawlResult {
  readonly file: string;
  readonly pages: number;
  readonly distinctContents: number;
  readonly clusters: number;
  readonly meanClusterSize: number;
  readonly nonSingletonShare: number;
  /** The total number of groups; the list below may be shorter. */
  readonly crossHostDuplicateGroups: number;
  /** URLs on different hosts that were clustered together, and what they share. */
  readonly crossHostDuplicates: readonly {
    readonly urls: readonly string[];
    readonly shares: string;
  }[];
  /** Counts of items by kind: "pages skipped: not HTML" → 12. */
  readonly counts: Readonly<Record<string, number>>;
  readonly check: Check;
}

/** The capacity of each system on this machine; null if it was not measured. */
export interface Capacity {
  readonly percolatorDocumentsPerSecond: number | null;
  readonly mapreduceDocumentsPerSecond: number | null;
  /** q: cost of a document in Percolator over its cost in the batch. The paper's cluster: 7.5. */
  readonly costRatio: number | null;
}

/**
 * Duration of a batch run over a repository of size 1 + arrivals: F + V·size, fitted to the cycles.
 */
export interface MapreduceModel {
  readonly fixedSeconds: number;
  readonly perRepositorySeconds: number;
}

export const PERCENTILES: readonly number[] = [
  0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 100,
];

export interface Distribution {
  readonly point: Point;
  readonly count: number;
  readonly ms: readonly (number | null)[];
}

export function distributionsOf(points: readonly MeasuredPoint[]): readonly Distribution[] {
  return points.flatMap(({ histogram, ...point }) => {
    const count = histogram?.totalCount ?? 0;
    if (histogram === null || count < PERCENTILE_SAMPLES_MIN) return [];
    return [{ point, count, ms: percentilesMs(histogram, PERCENTILES) }];
  });
}

/** The percentiles that have enough documents: p99.9 of 50 documents is only their maximum. */
function percentilesMs(
  histogram: Histogram,
  percentiles: readonly number[],
): readonly (number | null)[] {
  return percentiles.map((one) =>
    isStated(one, histogram.totalCount) ? percentileMs(histogram, one) : null,
  );
}

export interface Waiting {
  readonly point: Point;
  readonly rows: readonly { readonly seconds: number; readonly documents: number }[];
}

export function waitingOf(points: readonly MeasuredPoint[]): readonly Waiting[] {
  return points.flatMap(({ progress, ...point }) => {
    if (progress.length === 0) return [];
    const rows = progress.flatMap(({ seconds, arrived, completed }, i) => {
      const waiting = { seconds, documents: arrived - completed };
      if (point.system === 'percolator') return [waiting];
      // MapReduce is sampled when a run has ended. Just before, the run's documents waited too.
      return [{ seconds, documents: arrived - (progress[i - 1]?.completed ?? 0) }, waiting];
    });
    return [{ point, rows }];
  });
}

/** Rows may be more than a call can have arguments. */
export function mostWaiting(rows: Waiting['rows']): number {
  return rows.reduce((most, { documents }) => Math.max(most, documents), 0);
}
