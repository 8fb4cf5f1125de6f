/**
 * Runs all tasks of a phase, with retries.
 *
 * An attempt fails if the job throws or the worker process dies. The coordinator treats both alike:
 * it tries again, preferably on another worker, unless the error is final. It gives up when one
 * task has failed `attemptsMax` times: it starts no further tasks, waits for those in flight,
 * because their files are about to be removed, and throws an error that names the task and its last
 * failure.
 */
import { isFinal, MapReduceError } from './errors.ts';
import type { Task, TaskReport } from './tasks.ts';
import type { WorkerPool } from './worker-pool.ts';

export class TaskRunner {
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
