/**
 * The run record: everything one execution of an experiment leaves behind, except its histograms.
 *
 * A run is one folder. `run.json` holds the `RunRecord` below; `histograms/` the latency
 * distribution of each point. Charts, CSV files and the page are made from these alone, so they
 * can be rebuilt at any time and by anybody.
 *
 * The rule of the record: A POINT HAS A LATENCY ONLY IF ITS SYSTEM KEPT UP AND ITS RESULT WAS
 * CHECKED AND FOUND RIGHT. A saturated point has none, because its latency is unbounded and what
 * a clock saw is only how long somebody watched; a point whose check failed has none, because a
 * wrong answer has no speed. `pointLatencyAllowed` is that rule; writer and reader both apply it.
 *
 * Units are part of each name. Rates called `...PercentPerHour` are crawl rates: new documents per
 * hour, in percent of the repository.
 */

/** Grows when a reader of the old format would misread the new one. */
export const FORMAT_VERSION = 1;

export interface RunRecord {
  readonly formatVersion: typeof FORMAT_VERSION;
  /** Which experiment was run: `crawl-rate`. */
  readonly experiment: string;
  /** Names the run among all others: experiment and start, `crawl-rate-20260117T081500Z`. */
  readonly runId: string;
  /** `running` until `finish`; a folder left so was killed, and holds what it had measured. */
  readonly state: 'running' | 'finished' | 'interrupted';
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly profile: Profile;
  /** The command that repeats the run. */
  readonly commandLine: string;
  /** Every parameter in force, defaults included. */
  readonly parameters: Parameters;
  readonly seed: number;
  /** Independent repeats of each point, their histograms merged. With one, the run is exploratory. */
  readonly repeats: number;
  readonly label: 'exploratory' | null;
  readonly environment: Environment;
  readonly store: StoreDescription;
  readonly repository: RepositoryDescription | null;
  readonly crawl: CrawlResult | null;
  readonly capacity: Capacity | null;
  readonly mapreduceModel: MapreduceModel | null;
  readonly points: readonly Point[];
  /** What an experiment without crawl rates has found; null for the crawl rate itself. */
  readonly findings: Findings | null;
  readonly targets: readonly Target[];
  /** What a reader must know before believing the numbers; whole sentences. */
  readonly limitations: readonly string[];
}

export type Profile = 'smoke' | 'quick' | 'standard' | 'full' | 'custom';

export type Parameters = Readonly<
  Record<string, string | number | boolean | null | readonly number[]>
>;

/** Where the run took place. What cannot be found out is null, never guessed. */
export interface Environment {
  /** Null outside a git checkout. `dirty`: files differed from the commit. */
  readonly commit: { readonly hash: string; readonly dirty: boolean } | null;
  readonly nodeVersion: string;
  readonly cpuModel: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly operatingSystem: string;
  readonly kernel: string;
  /** Of the output folder: `ext4`, `overlay`, ... */
  readonly fileSystem: string | null;
}

export interface StoreDescription {
  readonly name: string;
  /** What survives what, in one sentence: "Each commit is on disk before it is acknowledged." */
  readonly durability: string;
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
  /** How many groups were found in all; the list below may be shorter. */
  readonly crossHostDuplicateGroups: number;
  readonly crossHostDuplicates: readonly CrossHostDuplicate[];
  /** How many things of each kind were met: "pages skipped: not HTML" → 12. */
  readonly counts: Readonly<Record<string, number>>;
  readonly check: Check;
}

/** URLs on different hosts that were clustered together, and what they share. */
export interface CrossHostDuplicate {
  readonly urls: readonly string[];
  readonly shares: string;
}

/** The most each system can do on this machine; null where it was not measured. */
export interface Capacity {
  readonly percolatorDocumentsPerSecond: number | null;
  readonly mapreduceDocumentsPerSecond: number | null;
  /** q: cost of a document in Percolator over its cost in the batch. The paper's cluster: 7.5. */
  readonly costRatio: number | null;
}

/** Duration of a batch run over a repository of size 1 + arrivals: F + V·size, fitted to the cycles. */
export interface MapreduceModel {
  readonly fixedSeconds: number;
  readonly perRepositorySeconds: number;
}

export type System = 'percolator' | 'mapreduce';

/** `invalid`: the measurement broke, not the system: the generator lagged, the run never settled. */
export type Verdict = 'sustained' | 'saturated' | 'invalid';

/** One system at one crawl rate. */
export interface Point {
  readonly system: System;
  readonly ratePercentPerHour: number;
  readonly documentsPerSecondOffered: number;
  readonly documentsPerSecondCompleted: number;
  /** Measured documents and the interval they arrived in, over all repeats. */
  readonly documents: number;
  readonly seconds: number;
  readonly verdict: Verdict;
  readonly verdictReason: string;
  /** By how many documents a second the backlog grew; about 0 where the system kept up. */
  readonly backlogGrowthPerSecond: number;
  readonly check: Check;
  readonly latency: Latency | null;
  /** The median of each repeat by itself, for the spread between runs; empty with one repeat. */
  readonly repeatMediansMs: readonly number[];
  /** How late the load generator was; null where nothing is generated in real time. */
  readonly generatorLagP99Ms: number | null;
  readonly cpuSecondsPerDocument: number | null;
  /** Batch cycles measured; null for Percolator. */
  readonly cyclesMeasured: number | null;
  readonly timeSeriesFile: string | null;
  readonly notes: readonly string[];
}

export interface Check {
  readonly passed: boolean;
  /** What was compared with what, or what was found wrong. */
  readonly detail: string;
}

/** Read off the histogram, never computed beside it: table, chart and CSV cannot disagree. */
export interface Latency {
  readonly minMs: number;
  readonly meanMs: number;
  readonly medianMs: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly count: number;
  /** Relative to the run's folder. */
  readonly histogramFile: string;
}

export interface Target {
  readonly name: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean;
}

/** Tables and charts of an experiment. If its check failed there are none: a wrong answer has no numbers. */
export interface Findings {
  /** Where in the paper, or of what: "Percolator paper, figure 8". */
  readonly kicker: string;
  readonly title: string;
  /** What was found, in a sentence or two. */
  readonly headline: string;
  readonly check: Check;
  readonly tables: readonly ResultTable[];
  readonly charts: readonly ResultChart[];
}

export interface ResultTable {
  /** Also names its file, `<name>.csv`. */
  readonly name: string;
  readonly title: string;
  readonly caption: string;
  readonly columns: readonly string[];
  /** As many values as columns; null where there is none. */
  readonly rows: readonly (readonly (string | number | null)[])[];
}

export interface ResultChart {
  /** Also names its file, `<name>.png`. */
  readonly name: string;
  readonly title: string;
  readonly caption: string;
  readonly x: ResultAxis;
  readonly y: ResultAxis;
  readonly series: readonly ResultSeries[];
}

export interface ResultAxis {
  readonly title: string;
  readonly scale: 'linear' | 'logarithmic';
  /** Words for single values, which are then the only ticks: 1 is "reads". Empty for an axis of numbers. */
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
}

export interface ResultSeries {
  readonly name: string;
  readonly look: 'percolator' | 'other' | 'paper';
  /** Whether the points are joined. */
  readonly isLine: boolean;
  readonly points: readonly ResultMark[];
  /** The line that was fitted through the points, with its confidence band. */
  readonly fit?: readonly ResultMark[] | null;
}

/** A point, and where there is one an interval around it: of 95 % confidence, unless the caption says otherwise. */
export interface ResultMark {
  readonly x: number;
  readonly y: number;
  readonly low: number | null;
  readonly high: number | null;
}

/** Whether a point may have a latency at all; see the rule above. */
export function pointLatencyAllowed(point: Pick<Point, 'verdict' | 'check'>): boolean {
  return point.verdict === 'sustained' && point.check.passed;
}
