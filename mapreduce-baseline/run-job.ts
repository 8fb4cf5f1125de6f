/**
 * The coordinator: runs one job on a pool of workers.
 *
 * 1. Cut the inputs into map tasks and run them; each leaves a spill file.
 * 2. When all are done, run one reduce task per partition over the segments of that partition.
 * 3. Publish the parts, all or none (output-folder.ts).
 *
 * A failed attempt at a task is repeated, preferably on another worker; its files have names of
 * their own and are never read. When a task has failed too often, the unfinished folder is removed
 * and the job fails.
 *
 * Not done: backup copies of slow tasks. On one machine a slow worker has no faster neighbour.
 */
import { join } from 'node:path';
import { systemClock } from '#engine/base';
import { planTaskInputs, resolveInputs, type Split } from './input-splits.ts';
import { resolveOptions, type JobOptions, type ResolvedOptions } from './job-options.ts';
import { summarize, type JobReport } from './job-report.ts';
import { UnfinishedOutput } from './output-folder.ts';
import type { MapReport, MapTask, ReduceReport, ReduceTask, SegmentList } from './tasks.ts';
import { TaskRunner } from './task-runner.ts';
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
  return inputs.reduce((sum, { start, end }) => sum + end - start, 0);
}
