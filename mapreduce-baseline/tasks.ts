/**
 * The coordinator's messages to a worker, and the worker's reports. Both travel between processes
 * as structured clones.
 *
 * A task may be attempted several times, perhaps by two processes at once if a worker is thought
 * dead too early. Each attempt therefore writes to files of its own, and only the report of one of
 * them is believed.
 */
import type { ExternalMergeReport } from './external-merge.ts';
import type { TaskInput } from './input-splits.ts';
import type { Segment } from './spill-file.ts';

/**
 * How reducers bring equal keys together; a partition larger than the memory is sorted either way.
 */
export type Grouping = 'hash' | 'sort';

/** The job's code and its parameters. */
export interface JobModule {
  /** Module that exports `createJob`, as a `file:` URL. */
  readonly url: string;
  /** Passed to `createJob`; must be cloneable. */
  readonly parameters?: unknown;
}

export interface MapTask {
  readonly kind: 'map';
  readonly name: string;
  readonly job: JobModule;
  readonly input: TaskInput;
  readonly partitions: number;
  readonly spillPath: string;
  readonly memoryBytes: number;
}

export interface MapReport {
  readonly kind: 'map';
  readonly spillPath: string;
  readonly segments: readonly Segment[];
  readonly recordsRead: number;
  readonly recordsEmitted: number;
  readonly cpuMs: number;
}

/** Segments of one spill file. */
export interface SegmentList {
  readonly path: string;
  readonly segments: readonly Segment[];
}

export interface ReduceTask {
  readonly kind: 'reduce';
  readonly name: string;
  readonly job: JobModule;
  readonly grouping: Grouping;
  readonly spills: readonly SegmentList[];
  /** Written by this attempt alone ... */
  readonly attemptPath: string;
  /** ... and renamed to this when it is complete. */
  readonly partPath: string;
  readonly memoryBytes: number;
  /** Whether the part is synced to the disk before it is renamed. */
  readonly durable: boolean;
}

export interface ReduceReport extends ExternalMergeReport {
  readonly kind: 'reduce';
  readonly partPath: string;
  readonly groups: number;
  readonly recordsWritten: number;
  readonly bytesWritten: number;
  readonly cpuMs: number;
}

export type Task = MapTask | ReduceTask;
export type TaskReport = MapReport | ReduceReport;
