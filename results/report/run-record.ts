/**
 * The run record: all results of one execution of an experiment.
 *
 * A run is one folder. `run.json` holds the `RunRecord` below; charts, CSV files and the page are
 * made from it alone, so any reader can rebuild them at any time. Records of figure 7 were once of
 * another form: figure-7/old-record.ts converts them.
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
   * Independent repeats of each point. With one, the run is exploratory.
   */
  readonly repeats: number;
  readonly label: 'exploratory' | null;
  readonly environment: Environment;
  readonly store: StoreDescription;
  readonly findings: Findings;
  readonly targets: readonly Target[];
  /** The limitations of the numbers, in whole sentences. */
  readonly limitations: readonly string[];
  /**
   * What makes this run itself doubtful, such as a clock that was set, in whole sentences: its page
   * says them first. Missing in older records.
   */
  readonly doubts?: readonly string[] | null;
  /** The run second by second, if it was watched (`--watch`); missing in older records. */
  readonly timeline?: Timeline | null;
}

/** What the page of a watched run has shown while it went on. Seconds count from its beginning. */
export interface Timeline {
  readonly panels: readonly TimelinePanel[];
  /** Phases, and what happened at a moment: `from` is then `to`. */
  readonly events: readonly TimelineEvent[];
}

export interface TimelinePanel {
  /** Also the name of its chart: `live-throughput`. */
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly series: readonly TimelineSeries[];
}

export interface TimelineSeries {
  readonly name: string;
  /** A level to reach, or to stay below. */
  readonly isTarget: boolean;
  /** Null interrupts the line. */
  readonly points: readonly TimelinePoint[];
}

export interface TimelinePoint {
  readonly seconds: number;
  readonly value: number | null;
}

export interface TimelineEvent {
  readonly from: number;
  /** Null while it goes on. */
  readonly to: number | null;
  readonly label: string;
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

export interface Check {
  readonly passed: boolean;
  /** The comparison that was made, or the fault that was found. */
  readonly detail: string;
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
  /** Spans of the horizontal axis with names; missing in older records, as is the next field. */
  readonly spans?: readonly ResultSpan[] | null;
  /** Two series, by name, between which the distance is what the chart shows. */
  readonly gap?: { readonly upper: string; readonly lower: string } | null;
}

export interface ResultSpan {
  readonly from: number;
  /** Null: to the end of the axis. */
  readonly to: number | null;
  readonly label: string;
}

export interface ResultAxis {
  readonly title: string;
  readonly scale: 'linear' | 'logarithmic';
  /**
   * Labels for single values, which are then the only ticks: 1 is "reads". Empty for a numeric
   * axis.
   */
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  /** Where the axis ends although there are higher values; missing in older records. */
  readonly max?: number | null;
}

export interface ResultSeries {
  readonly name: string;
  readonly look: 'percolator' | 'other' | 'paper';
  /** Whether the points are joined. */
  readonly isLine: boolean;
  /**
   * The series whose colour it has, with hollow marks and a dashed line: the 99th percentile of the
   * same system. Missing in older records, as is the next field.
   */
  readonly sameAs?: string | null;
  /** The values have no bound: the marks are arrows at the upper edge, and `y` says nothing. */
  readonly isUnbounded?: boolean | null;
  /** It is drawn only if the reader asks for it. */
  readonly isOff?: boolean | null;
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
  /** A text next to the mark; missing in older records. */
  readonly label?: string | null;
}
