/**
 * The work of a job, summed over its tasks. Failed attempts count only in `failedAttempts` and in
 * the elapsed seconds.
 */
import type { MapReport, ReduceReport } from './tasks.ts';

export interface JobReport {
  readonly seconds: { readonly map: number; readonly reduce: number; readonly total: number };
  /** Processor time of the workers in successful attempts, user and system, in seconds. */
  readonly cpuSeconds: number;
  readonly inputBytes: number;
  readonly recordsRead: number;
  /** Records that `map` emitted, before any combining. */
  readonly recordsEmitted: number;
  /** Records that were left after combining, and their bytes in the spill files. */
  readonly recordsShuffled: number;
  readonly bytesShuffled: number;
  /** Keys: how often `reduce` was called. */
  readonly groups: number;
  readonly recordsWritten: number;
  readonly bytesWritten: number;
  /**
   * External sorting: sorted runs, merges and bytes written to runs. All 0 if everything fitted.
   */
  readonly sortedRuns: number;
  readonly merges: number;
  readonly bytesSpilled: number;
  readonly mapTasks: number;
  readonly reduceTasks: number;
  readonly failedAttempts: number;
}

interface JobTimes {
  readonly startedMs: number;
  readonly mappedMs: number;
  readonly reducedMs: number;
  readonly endedMs: number;
}

interface JobFacts {
  readonly maps: readonly MapReport[];
  readonly reduces: readonly ReduceReport[];
  readonly failedAttempts: number;
  readonly times: JobTimes;
  readonly inputBytes: number;
}

export function summarize({
  maps,
  reduces,
  failedAttempts,
  times,
  inputBytes,
}: JobFacts): JobReport {
  const segments = maps.flatMap((report) => report.segments);
  return {
    seconds: secondsOf(times),
    cpuSeconds: sum([...maps, ...reduces], (report) => report.cpuMs) / 1000,
    inputBytes,
    recordsRead: sum(maps, (report) => report.recordsRead),
    recordsEmitted: sum(maps, (report) => report.recordsEmitted),
    recordsShuffled: sum(segments, (segment) => segment.records),
    bytesShuffled: sum(segments, (segment) => segment.bytes),
    groups: sum(reduces, (report) => report.groups),
    recordsWritten: sum(reduces, (report) => report.recordsWritten),
    bytesWritten: sum(reduces, (report) => report.bytesWritten),
    sortedRuns: sum(reduces, (report) => report.runs),
    merges: sum(reduces, (report) => report.merges),
    bytesSpilled: sum(reduces, (report) => report.spilledBytes),
    mapTasks: maps.length,
    reduceTasks: reduces.length,
    failedAttempts,
  };
}

function secondsOf({ startedMs, mappedMs, reducedMs, endedMs }: JobTimes): JobReport['seconds'] {
  return {
    map: (mappedMs - startedMs) / 1000,
    reduce: (reducedMs - mappedMs) / 1000,
    total: (endedMs - startedMs) / 1000,
  };
}

function sum<T>(items: readonly T[], amount: (item: T) => number): number {
  return items.reduce((total, item) => total + amount(item), 0);
}
