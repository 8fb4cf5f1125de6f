/**
 * The run record: all results of one execution of an experiment, except its histograms and its time
 * series.
 *
 * A run is one folder. `run.json` holds the `RunRecord` below, `histograms/` the latency
 * distribution of each point, and `time-series/` its progress. Charts, CSV files and the page are
 * made from these alone, so any reader can rebuild them at any time.
 *
 * The rule of the record: A POINT HAS A LATENCY ONLY IF ITS SYSTEM KEPT UP AND ITS RESULT WAS
 * CHECKED AND FOUND RIGHT. A saturated point has none, because its latency is unbounded and the
 * measured value would only show how long the measurement took. A point whose check failed has
 * none, because the speed of a wrong answer is meaningless. `pointLatencyAllowed` is that rule;
 * writer and reader both apply it.
 *
 * Units are part of each name. Rates called `...PercentPerHour` are crawl rates: new documents per
 * hour, in percent of the repository.
 */

/** Increased when a reader of the old format would misread the new one. */
export const FORMAT_VERSION = 1;

export interface RunRecord {
  readonly formatVersion: typeof FORMAT_VERSION;
  /** The experiment that was run: `crawl-rate`. */
  readonly experiment: string;
  /** Unique name of the run: experiment and start, `crawl-rate-20260117T081500Z`. */
  readonly runId: string;
  /**
   * `running` until the record is closed; `interrupted` if a signal ended the run, `failed` if an
   * error did. If it stays `running`, the run was killed. In each of these states the folder holds
   * the measurements so far.
   */
  readonly state: 'running' | 'finished' | 'interrupted' | 'failed';
  /** The process that is measuring; null once the record is closed, and in older records. */
  readonly process: RunProcess | null;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly profile: Profile;
  /** The command that repeats the run. */
  readonly commandLine: string;
  /** Every parameter in force, defaults included. */
  readonly parameters: Parameters;
  readonly seed: number;
  /**
   * Independent repeats of each point, their histograms merged. With one, the run is exploratory.
   */
  readonly repeats: number;
  readonly label: 'exploratory' | null;
  readonly environment: Environment;
  readonly store: StoreDescription;
  readonly repository: RepositoryDescription | null;
  readonly crawl: CrawlResult | null;
  readonly capacity: Capacity | null;
  readonly mapreduceModel: MapreduceModel | null;
  readonly points: readonly Point[];
  /** The findings of an experiment without crawl rates; null for the crawl-rate experiment. */
  readonly findings: Findings | null;
  readonly targets: readonly Target[];
  /** The limitations of the numbers, in whole sentences. */
  readonly limitations: readonly string[];
}

/** A process, named so that a later one with the same number is not mistaken for it. */
export interface RunProcess {
  readonly host: string;
  /**
   * The containers of a machine may share its name, and number their processes anew. Null where
   * there is no /proc, and in older records.
   */
  readonly namespace: number | null;
  readonly pid: number;
  /** In clock ticks since the machine was started; null where the system does not tell. */
  readonly started: string | null;
}

export type Profile = 'smoke' | 'quick' | 'standard' | 'full' | 'custom';

export type Parameters = Readonly<
  Record<string, string | number | boolean | null | readonly number[]>
>;

/** Where the run took place. An unknown fact is null, never guessed. */
export interface Environment {
  /** Null outside a git checkout. `dirty`: files differed from the commit. */
  readonly commit: { readonly hash: string; readonly dirty: boolean } | null;
  readonly nodeVersion: string;
  readonly cpuModel: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly operatingSystem: string;
  readonly kernel: string;
  /** The file system of the output folder: `ext4`, `overlay`, ... */
  readonly fileSystem: string | null;
}

export interface StoreDescription {
  readonly name: string;
  /**
   * The durability of the store, in one sentence: "Each commit is on disk before it is
   * acknowledged."
   */
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
  /** The total number of groups; the list below may be shorter. */
  readonly crossHostDuplicateGroups: number;
  readonly crossHostDuplicates: readonly CrossHostDuplicate[];
  /** Counts of items by kind: "pages skipped: not HTML" → 12. */
  readonly counts: Readonly<Record<string, number>>;
  readonly check: Check;
}

/** URLs on different hosts that were clustered together, and the keys they share. */
export interface CrossHostDuplicate {
  readonly urls: readonly string[];
  readonly shares: string;
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

export type System = 'percolator' | 'mapreduce';

/**
 * `invalid`: the measurement failed, not the system: the generator lagged, or the run never
 * settled.
 */
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
  /** Growth of the backlog in documents per second; about 0 if the system kept up. */
  readonly backlogGrowthPerSecond: number;
  readonly check: Check;
  readonly latency: Latency | null;
  /** The median of each repeat alone, for the spread between runs; empty with one repeat. */
  readonly repeatMediansMs: readonly number[];
  /** Lateness of the load generator; null if no load is generated in real time. */
  readonly generatorLagP99Ms: number | null;
  readonly cpuSecondsPerDocument: number | null;
  /** Batch cycles measured; null for Percolator. */
  readonly cyclesMeasured: number | null;
  readonly timeSeriesFile: string | null;
  readonly notes: readonly string[];
}

export interface Check {
  readonly passed: boolean;
  /** The comparison that was made, or the fault that was found. */
  readonly detail: string;
}

/** Always read from the histogram, so that table, chart and CSV cannot disagree. */
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
  /** Null if the load of this run cannot judge it; `reason` says why. */
  readonly met: boolean | null;
  readonly reason?: string | null;
  /**
   * Measurements that the number rests on, of the part that has the fewest; null, and missing in
   * older records, if it is no statistic. With fewer than 30 the target is not judged.
   */
  readonly samples?: number | null;
}

/** Whether the run was a simulation: the seed decides its numbers, not the machine. */
export function isVirtual({ store }: Pick<RunRecord, 'store'>): boolean {
  return store.name === 'virtual';
}

/** The verdict on a target, in the words of every page and every script. */
export function targetVerdict({ met }: Target): 'met' | 'NOT met' | 'not judged' {
  if (met === null) return 'not judged';
  return met ? 'met' : 'NOT met';
}

/**
 * Tables and charts of an experiment. If the check of a measurement failed there are none, because
 * the numbers of a wrong answer are meaningless.
 */
export interface Findings {
  /**
   * A `proof` searches for violations, and its check says whether there are none. Its tables count
   * what was searched, so a failed check leaves them. Missing in older records, which are
   * measurements.
   */
  readonly kind?: 'measurement' | 'proof' | null;
  /** The place in the paper, or the subject: "Percolator paper, figure 8". */
  readonly kicker: string;
  readonly title: string;
  /** The main finding in a sentence or two. */
  readonly headline: string;
  readonly check: Check;
  readonly tables: readonly ResultTable[];
  readonly charts: readonly ResultChart[];
}

/** A table is shown with the chart of its name, or of a name that begins with it and a hyphen. */
export interface ResultTable {
  /** Also names its file, `<name>.csv`. */
  readonly name: string;
  readonly title: string;
  readonly caption: string;
  readonly columns: readonly string[];
  /** One value per column; null is an empty cell. A row that begins with `paper` is the paper's. */
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** What two runs are compared by; null in a table that only explains. */
  readonly metrics?: TableMetrics | null;
}

export interface TableMetrics {
  /**
   * The number of columns, from the first, that name a row. Rows of one name are repeats of the
   * same measurement.
   */
  readonly rowNames: number;
  readonly columns: readonly ResultMetric[];
}

/** A column of measurements. */
export interface ResultMetric {
  readonly column: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /** The two columns that hold the 95 % confidence interval of the value. */
  readonly intervalColumns?: readonly string[] | null;
  /** The intervals row by row, where the table does not show them. */
  readonly intervals?: readonly (Interval | null)[] | null;
}

/** A 95 % confidence interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
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
  /**
   * Labels for single values, which are then the only ticks: 1 is "reads". Empty for a numeric
   * axis.
   */
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

/**
 * A point, with its interval if it has one: a 95 % confidence interval, unless the caption says
 * otherwise.
 */
export interface ResultMark {
  readonly x: number;
  readonly y: number;
  readonly low: number | null;
  readonly high: number | null;
  /** The number of measurements that `y` rests on; missing in older records. */
  readonly samples?: number | null;
}

/** Whether a point may have a latency; see the rule above. */
export function pointLatencyAllowed(point: Pick<Point, 'verdict' | 'check'>): boolean {
  return point.verdict === 'sustained' && point.check.passed;
}
