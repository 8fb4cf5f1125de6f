/** The options of a job, with their defaults; only `resolveOptions` validates them. */
import { resolve } from 'node:path';
import { MapReduceError } from './errors.ts';
import type { Input } from './input-splits.ts';
import type { Grouping, JobModule } from './tasks.ts';

const MEBIBYTE = 1024 * 1024;
const PARTITIONS_MAX = 4096;
const SPLIT_BYTES_MIN = MEBIBYTE;
const SPLIT_BYTES_MAX = 64 * MEBIBYTE;
/** Map tasks per worker: enough that the last ones to finish do not leave a core idle for long. */
const MAP_TASKS_PER_WORKER = 4;
const PARTITIONS_PER_WORKER = 4;
/** The least `memoryBytesPerWorker`. */
export const MEMORY_BYTES_MIN: number = 64 * 1024;

export interface JobOptions {
  /** For messages. Default: the URL of the job's module. */
  readonly name?: string | undefined;
  readonly job: JobModule;
  readonly inputs: readonly Input[];
  /** Must not exist; appears when the job has succeeded, with files `part-00000` and so on. */
  readonly outputFolder: string;
  /**
   * Reduce tasks, and files of output, 1 to 4096. Default: 4 per worker, or one for each 64 MiB of
   * input if these are more. Too few: external merges; too many: small files.
   */
  readonly partitions?: number | undefined;
  /**
   * Bytes of buffers and tables per worker, 64 KiB at least. Default 256 MiB. It does not count the
   * runtime itself, about 60 MB a process. Too small: external merges.
   */
  readonly memoryBytesPerWorker?: number | undefined;
  /**
   * `hash` (default) needs no order and is faster; `sort` gives each part in byte order of the
   * keys.
   */
  readonly grouping?: Grouping | undefined;
  /**
   * Input bytes per map task. Default: a quarter of a worker's share, from 1 to 64 MiB. Too small:
   * a message and a file per split; too large: one core idles at the end of the map phase.
   */
  readonly splitBytes?: number | undefined;
  /** How often a task may be attempted, 1 or more. Default 4. */
  readonly attempts?: number | undefined;
  /**
   * Whether the output survives a power failure once the job has succeeded. Default true; costs a
   * sync per part. For an intermediate output, computed again after a crash, false is right.
   */
  readonly durable?: boolean | undefined;
}

export interface ResolvedOptions {
  readonly name: string;
  readonly job: JobModule;
  readonly outputFolder: string;
  readonly partitions: number;
  readonly memoryBytesPerWorker: number;
  readonly grouping: Grouping;
  readonly splitBytes: number;
  readonly attempts: number;
  readonly durable: boolean;
}

export function resolveOptions(
  options: JobOptions,
  inputBytes: number,
  workers: number,
): ResolvedOptions {
  const { job, partitions, memoryBytesPerWorker, splitBytes, attempts } = options;
  const largest = Number.MAX_SAFE_INTEGER;
  return {
    name: options.name ?? job.url,
    job,
    outputFolder: resolve(options.outputFolder),
    partitions: whole('partitions', partitions ?? partitionsFor(inputBytes, workers), [
      1,
      PARTITIONS_MAX,
    ]),
    memoryBytesPerWorker: whole('memoryBytesPerWorker', memoryBytesPerWorker ?? 256 * MEBIBYTE, [
      MEMORY_BYTES_MIN,
      largest,
    ]),
    grouping: options.grouping ?? 'hash',
    splitBytes: whole('splitBytes', splitBytes ?? splitBytesFor(inputBytes, workers), [1, largest]),
    attempts: whole('attempts', attempts ?? 4, [1, largest]),
    durable: options.durable ?? true,
  };
}

function partitionsFor(inputBytes: number, workers: number): number {
  const forSize = Math.ceil(inputBytes / SPLIT_BYTES_MAX);
  return Math.min(PARTITIONS_MAX, Math.max(workers * PARTITIONS_PER_WORKER, forSize));
}

function splitBytesFor(inputBytes: number, workers: number): number {
  const share = Math.ceil(inputBytes / (workers * MAP_TASKS_PER_WORKER));
  return Math.min(SPLIT_BYTES_MAX, Math.max(SPLIT_BYTES_MIN, share));
}

function whole(name: string, value: number, [least, most]: [number, number]): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const allowed =
    most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `from ${least} to ${most}`;
  throw new MapReduceError(
    'INVALID_ARGUMENT',
    `${name} is ${value}; it must be a whole number ${allowed}`,
  );
}
