/**
 * A pool of worker processes, kept from job to job.
 *
 * Starting a process, and warming its compiled code up, costs more than a small job does: a run
 * over a hundred thousand documents would be mostly start-up. So the processes are started once,
 * and jobs come and go. A worker that dies is replaced, and the caller that waits for its task
 * receives an error.
 *
 * Dispose of the pool when done: its processes end with it, and also if this process dies.
 */
import { availableParallelism } from 'node:os';
import { MapReduceError } from './errors.ts';
import type { Task, TaskReport } from './tasks.ts';
import { WorkerProcess } from './worker-process.ts';

const WORKERS_MAX = 1024;

export interface WorkerPoolOptions {
  /** Processes, 1 to 1024. Default: one per core. More than that only wait for one another. */
  readonly workers?: number | undefined;
}

/** How one attempt at a task went, and on which worker. */
export type Attempt =
  | { readonly worker: number; readonly report: TaskReport }
  | { readonly worker: number; readonly error: unknown };

/** A task waiting for a worker. */
interface Waiting {
  readonly task: Task;
  /** A worker that has failed this task before; another one is preferred. */
  readonly avoid: number | undefined;
  readonly settle: PromiseWithResolvers<Attempt>;
}

/**
 * Starts the processes; they take tasks when the promise resolves.
 * @throws INVALID_ARGUMENT; WORKER_DIED if a process does not start
 */
export async function openWorkerPool(options: WorkerPoolOptions = {}): Promise<WorkerPool> {
  const { workers = availableParallelism() } = options;
  if (!Number.isInteger(workers) || workers < 1 || workers > WORKERS_MAX) {
    const allowed = `a whole number from 1 to ${WORKERS_MAX}`;
    throw new MapReduceError('INVALID_ARGUMENT', `workers is ${workers}; it must be ${allowed}`);
  }
  const pool = new WorkerPool(workers);
  try {
    await pool.ready();
    return pool;
  } catch (error) {
    await pool[Symbol.asyncDispose]();
    throw error;
  }
}

export class WorkerPool implements AsyncDisposable {
  /** How many processes the pool keeps. */
  readonly size: number;
  readonly #workers: WorkerProcess[] = [];
  readonly #waiting: Waiting[] = [];
  #workersStarted = 0;
  /** Why no task is taken any more. */
  #closed: MapReduceError | undefined;
  #ended: Promise<unknown> | undefined;

  constructor(size: number) {
    this.size = size;
    for (let slot = 0; slot < size; slot++) this.#workers.push(this.#startWorker(slot));
  }

  async ready(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.ready));
  }

  /** Process ids of the workers that live now. */
  get processIds(): readonly number[] {
    return this.#workers.flatMap((worker) => worker.processId ?? []);
  }

  /**
   * Attempts a task on the next free worker, if possible not on the worker `avoid`. A failed
   * attempt is an answer, not a rejection; the promise rejects with POOL_CLOSED only.
   */
  async attempt(task: Task, avoid?: number): Promise<Attempt> {
    if (this.#closed !== undefined) throw this.#closed;
    const settle = Promise.withResolvers<Attempt>();
    this.#waiting.push({ task, avoid, settle });
    this.#dispatch();
    return settle.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close(new MapReduceError('POOL_CLOSED', 'the pool of workers was disposed'));
    this.#ended ??= Promise.all(this.#workers.map((worker) => worker.end()));
    await this.#ended;
  }

  /**
   * Gives waiting tasks to idle workers; a task that avoids the only idle one waits for another.
   */
  #dispatch(): void {
    for (const worker of this.#workers) {
      if (!worker.idle) continue;
      const index = this.#waiting.findIndex(({ avoid }) => avoid !== worker.id || this.size === 1);
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next !== undefined) void this.#runOn(worker, next);
    }
  }

  async #runOn(worker: WorkerProcess, { task, settle }: Waiting): Promise<void> {
    try {
      settle.resolve({ worker: worker.id, report: await worker.run(task) });
    } catch (error) {
      settle.resolve({ worker: worker.id, error });
    }
    this.#dispatch();
  }

  #startWorker(slot: number): WorkerProcess {
    const worker = new WorkerProcess(this.#workersStarted++);
    void worker.ended.then(({ wasReady }) => {
      if (this.#closed !== undefined) return;
      // A worker that cannot even start would be replaced forever.
      const message = 'a worker process ended before it was ready';
      if (!wasReady) this.#close(new MapReduceError('POOL_CLOSED', message));
      else this.#workers[slot] = this.#startWorker(slot);
      this.#dispatch();
    });
    return worker;
  }

  #close(reason: MapReduceError): void {
    this.#closed ??= reason;
    for (const { settle } of this.#waiting.splice(0)) settle.reject(this.#closed);
  }
}
