/**
 * The data of the charts: made from a run in Node, carried to the page as JSON.
 *
 * Latencies are in seconds. A point without one (saturated, failed, invalid) has null, so no chart
 * can draw a number by mistake.
 */
import type { System } from '../run-record.ts';
import type { PaperFigures } from './paper.ts';

export interface ChartData {
  readonly paper: PaperFigures;
  /** In order of rate, Percolator and MapReduce mixed. */
  readonly points: readonly ChartPoint[];
  /** The batch model between and beyond the measured rates; empty if none was fitted. */
  readonly model: readonly { readonly rate: number; readonly seconds: number }[];
  /** T0: the time of one batch run over the repository, from the model; null if none was fitted. */
  readonly batchRunSeconds: number | null;
  readonly distributions: readonly Distribution[];
  readonly backlogs: readonly Backlog[];
}

export interface ChartPoint {
  readonly system: System;
  /** Crawl rate in percent of the repository per hour. */
  readonly rate: number;
  readonly state: 'measured' | 'saturated' | 'failed' | 'invalid';
  readonly medianSeconds: number | null;
  readonly p99Seconds: number | null;
  readonly documents: number;
  readonly backlogGrowthPerSecond: number;
  readonly cpuSecondsPerDocument: number | null;
}

/** The percentile curve of one point. */
export interface Distribution {
  readonly system: System;
  readonly rate: number;
  readonly curve: readonly { readonly percentile: number; readonly seconds: number }[];
}

/** The documents waiting, over the time of one point. */
export interface Backlog {
  readonly system: System;
  readonly rate: number;
  readonly curve: readonly { readonly seconds: number; readonly documents: number }[];
}

/** The curves that the reader has selected. */
export interface Visible {
  readonly median: boolean;
  readonly p99: boolean;
  readonly paper: boolean;
}
