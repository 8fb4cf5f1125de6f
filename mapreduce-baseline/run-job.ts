/**
 * The coordinator: runs one job on a pool of workers.
 *
 * 1. Cut the inputs into map tasks and run them; each leaves a spill file.
 * 2. When all are done, run one reduce task per partition over the segments of that partition.
 * 3. Sync the folder of parts, rename it to the output folder, sync the folder around it.
 *
 * Everything is written inside one unfinished folder next to the output folder, so the output
 * folder appears whole or not at all: a reader that finds it need not check whether it is complete.
 * A failed attempt at a task is repeated, preferably on another worker; its files have names of
 * their own and are never read. When a task has failed too often, the unfinished folder is removed
 * and the job fails.
 *
 * Not done: backup copies of slow tasks. On one machine a slow worker has no faster neighbour.
 */
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '#engine/base';
import { planTaskInputs, resolveInputs, type Split } from './input-splits.ts';
import { resolveOptions, type JobOptions, type ResolvedOptions } from './job-options.ts';
import { summarize, type JobReport } from './job-report.ts';
import { exists, outputExists, syncFolder } from './output-folder.ts';
import type { MapReport, MapTask, ReduceReport, ReduceTask, SegmentList } from './tasks.ts';
import { TaskRunner } from './task-runner.ts';
import type { WorkerPool } from './worker-pool.ts';

/** Runs the job; resolves when the output folder is there. */
export async function runJob(pool: WorkerPool, options: JobOptions): Promise<JobReport> {
  const startedMs = systemClock.monotonicMs();
  const inputs = await resolveInputs(options.inputs);
  const resolved = resolveOptions(options, totalBytes(inputs), pool.size);
  await refuseExistingOutput(resolved.outputFolder);
  const unfinished = await makeUnfinishedFolder(resolved.outputFolder);
  try {
    const job = new JobRun(pool, resolved, unfinished);
    const maps = await job.runMaps(inputs);
    const mappedMs = systemClock.monotonicMs();
    const reduces = await job.runReduces(maps);
    const reducedMs = systemClock.monotonicMs();
    await publish(unfinished, resolved);
    const { failedAttempts } = job;
    const times = { startedMs, mappedMs, reducedMs, endedMs: systemClock.monotonicMs() };
    return summarize({ maps, reduces, failedAttempts, times, inputBytes: totalBytes(inputs) });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/**
 * One run of a job in its unfinished folder: `spills` for the workers, `output` to be published.
 */
class JobRun {
  readonly #options: ResolvedOptions;
  readonly #unfinished: string;
  readonly #runner: TaskRunner;

  constructor(pool: WorkerPool, options: ResolvedOptions, unfinished: string) {
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
      const spillPath = join(this.#unfinished, 'spills', `map-${index}.attempt-${attempt}`);
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
      const attemptPath = join(this.#unfinished, 'spills', `${part}.attempt-${attempt}`);
      const partPath = join(this.#unfinished, 'output', part);
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

/**
 * What if the process dies here? Before the rename there is no output folder, only an unfinished
 * one that no job reads. After it there is the whole output. The parts were synced by the workers;
 * their names are made durable before the rename, and the rename before the job is called finished.
 */
async function publish(unfinished: string, options: ResolvedOptions): Promise<void> {
  const output = join(unfinished, 'output');
  if (options.durable) await syncFolder(output);
  try {
    await rename(output, options.outputFolder);
  } catch (cause) {
    throw outputExists(options.outputFolder, cause);
  }
  if (options.durable) await syncFolder(dirname(options.outputFolder));
}

async function makeUnfinishedFolder(outputFolder: string): Promise<string> {
  const parent = dirname(outputFolder);
  await mkdir(parent, { recursive: true });
  const unfinished = await mkdtemp(join(parent, `${basename(outputFolder)}.unfinished-`));
  await mkdir(join(unfinished, 'spills'));
  await mkdir(join(unfinished, 'output'));
  return unfinished;
}

async function refuseExistingOutput(outputFolder: string): Promise<void> {
  if (await exists(outputFolder)) throw outputExists(outputFolder);
}

function totalBytes(inputs: readonly Split[]): number {
  return inputs.reduce((sum, { start, end }) => sum + end - start, 0);
}
