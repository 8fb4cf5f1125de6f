/**
 * The coordinator: runs one job on a pool of workers.
 *
 * 1. Cut the inputs into map tasks and run them; each leaves a spill file.
 * 2. When all are done, run one reduce task per partition over the segments of that partition.
 * 3. Publish the parts, all or none (output.ts).
 *
 * A failed attempt at a task is repeated, preferably on another worker; its files have names of
 * their own and are never read. When a task has failed too often, the unfinished folder is removed
 * and the job fails.
 *
 * Not done: backup copies of slow tasks. On one machine a slow worker has no faster neighbour.
 */
import { join, resolve } from 'node:path';
import { systemClock } from '#engine/base';
import { type Input, planTaskInputs, resolveInputs, type Split } from './input.ts';
import { isFinal, MapReduceError } from './job.ts';
import { UnfinishedOutput } from './output.ts';
import type {
  Grouping,
  JobModule,
  MapReport,
  MapTask,
  ReduceReport,
  ReduceTask,
  SegmentList,
  Task,
  TaskReport,
} from './tasks.ts';
import type { WorkerPool } from './worker-pool.ts';

/**
 * Runs the job; resolves when the output folder is there.
 * @throws INVALID_ARGUMENT, OUTPUT_EXISTS, RECORD_INVALID, JOB_INVALID, TASK_FAILED, POOL_CLOSED
 */
export async function runJob(pool: WorkerPool, options: JobOptions): Promise<JobReport> {
  const startedMs = systemClock.monotonicMs();
  const inputs = await resolveInputs(options.inputs);
  const resolved = resolveOptions(options, totalBytes(inputs), pool.size);
  await using unfinished = await UnfinishedOutput.begin(resolved.outputFolder);
  const job = new JobRun(pool, resolved, unfinished);
  const maps = await job.runMaps(inputs);
  const mappedMs = systemClock.monotonicMs();
  const reduces = await job.runReduces(maps);
  const reducedMs = systemClock.monotonicMs();
  await unfinished.publish(resolved);
  const { failedAttempts } = job;
  const times = { startedMs, mappedMs, reducedMs, endedMs: systemClock.monotonicMs() };
  return summarize({ maps, reduces, failedAttempts, times, inputBytes: totalBytes(inputs) });
}

/** One run of a job: the workers' spill files are in the output's `work`. */
class JobRun {
  readonly #options: ResolvedOptions;
  readonly #unfinished: UnfinishedOutput;
  readonly #runner: TaskRunner;

  constructor(pool: WorkerPool, options: ResolvedOptions, unfinished: UnfinishedOutput) {
    this.#options = options;
    this.#unfinished = unfinished;
    this.#runner = new TaskRunner(pool, options.attempts);
  }

  get failedAttempts(): number {
    return this.#runner.failedAttempts;
  }

  async runMaps(inputs: readonly Split[]): Promise<MapReport[]> {
    const { job, partitions, memoryBytesPerWorker: memoryBytes, splitBytes } = this.#options;
    const taskInputs = planTaskInputs(inputs, splitBytes);
    const reports = await this.#runner.runAll(taskInputs, (input, index, attempt): MapTask => {
      const name = `map task ${index} of ${taskInputs.length} of ${this.#options.name}`;
      const spillPath = join(this.#unfinished.work, `map-${index}.attempt-${attempt}`);
      return { kind: 'map', name, job, input, partitions, spillPath, memoryBytes };
    });
    return reports.filter((report) => report.kind === 'map');
  }

  async runReduces(maps: readonly MapReport[]): Promise<ReduceReport[]> {
    const { job, partitions, memoryBytesPerWorker: memoryBytes } = this.#options;
    const { grouping, durable } = this.#options;
    const spills = spillsByPartition(maps, partitions);
    const reports = await this.#runner.runAll(spills, (lists, index, attempt): ReduceTask => {
      const name = `reduce task ${index} of ${partitions} of ${this.#options.name}`;
      const part = `part-${String(index).padStart(5, '0')}`;
      const attemptPath = join(this.#unfinished.work, `${part}.attempt-${attempt}`);
      const partPath = join(this.#unfinished.output, part);
      const common = { name, job, grouping, memoryBytes, durable };
      return { kind: 'reduce', spills: lists, attemptPath, partPath, ...common };
    });
    return reports.filter((report) => report.kind === 'reduce');
  }
}

/** In the order of the map tasks, so that the same inputs give the same output, byte for byte. */
function spillsByPartition(maps: readonly MapReport[], partitions: number): SegmentList[][] {
  return Array.from({ length: partitions }, (_, partition) =>
    maps.flatMap(({ spillPath: path, segments }) => {
      const mine = segments.filter((segment) => segment.partition === partition);
      return mine.length === 0 ? [] : [{ path, segments: mine }];
    }),
  );
}

function totalBytes(inputs: readonly Split[]): number {
  return sum(inputs, ({ start, end }) => end - start);
}

/*
 * Runs all tasks of a phase, with retries.
 *
 * An attempt fails if the job throws or the worker process dies. The coordinator treats both alike:
 * it tries again, preferably on another worker, unless the error is final. It gives up when one
 * task has failed `attemptsMax` times: it starts no further tasks, waits for those in flight,
 * because their files are about to be removed, and throws an error that names the task and its last
 * failure.
 */

class TaskRunner {
  /** Attempts that have failed, also those that a retry has made up for. */
  failedAttempts = 0;
  readonly #pool: WorkerPool;
  readonly #attemptsMax: number;
  #failure: MapReduceError | undefined;

  constructor(pool: WorkerPool, attemptsMax: number) {
    this.#pool = pool;
    this.#attemptsMax = attemptsMax;
  }

  /** Runs one task per item; the reports are in the order of the items. */
  async runAll<Item>(
    items: readonly Item[],
    taskFor: (item: Item, index: number, attempt: number) => Task,
  ): Promise<TaskReport[]> {
    const reports: TaskReport[] = [];
    const left = items.entries(); // Shared: each item is taken once.
    const runSome = async (): Promise<void> => {
      for (const [index, item] of left) {
        reports[index] = await this.#runOne((attempt) => taskFor(item, index, attempt));
        if (this.#failure !== undefined) return;
      }
    };
    // One loop for each worker: with more, tasks would wait in the pool, which would start them
    // even after a failure.
    const running = await Promise.allSettled(Array.from({ length: this.#pool.size }, runSome));
    if (this.#failure !== undefined) throw this.#failure;
    for (const ended of running) if (ended.status === 'rejected') throw ended.reason;
    return reports;
  }

  async #runOne(taskFor: (attempt: number) => Task): Promise<TaskReport> {
    let avoid: number | undefined;
    for (let attempt = 0; ; attempt++) {
      const task = taskFor(attempt);
      const result = await this.#pool.attempt(task, avoid);
      if ('report' in result) return result.report;
      this.failedAttempts++;
      avoid = result.worker;
      const { error } = result;
      if (error instanceof MapReduceError && isFinal(error.code)) this.#failure ??= error;
      if (attempt + 1 === this.#attemptsMax) {
        this.#failure ??= taskFailed(task, this.#attemptsMax, error);
      }
      if (this.#failure !== undefined) throw this.#failure;
    }
  }
}

function taskFailed(task: Task, attempts: number, cause: unknown): MapReduceError {
  const last = cause instanceof Error ? cause.message : String(cause);
  const times = attempts === 1 ? 'time' : 'times';
  const message = `${task.name} failed ${attempts} ${times}; the last time: ${last}`;
  return new MapReduceError('TASK_FAILED', message, { cause });
}

/* The options of a job, with their defaults; only `resolveOptions` validates them. */

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

interface ResolvedOptions {
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

function resolveOptions(options: JobOptions, inputBytes: number, workers: number): ResolvedOptions {
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

/*
 * The work of a job, summed over its tasks. Failed attempts count only in `failedAttempts` and in
 * the elapsed seconds.
 */

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

function summarize({ maps, reduces, failedAttempts, times, inputBytes }: JobFacts): JobReport {
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
