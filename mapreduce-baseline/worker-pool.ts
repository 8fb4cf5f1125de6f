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
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { assert } from '#engine/base';
import { isFinal, MapReduceError, type MapReduceErrorCode } from './job.ts';
import type { Task, TaskReport } from './tasks.ts';

const WORKERS_MAX = 1024;

export interface WorkerPoolOptions {
  /** Processes, 1 to 1024. Default: one per core. More than that only wait for one another. */
  readonly workers?: number | undefined;
}

/** How one attempt at a task went, and on which worker. */
export type TaskAttempt =
  | { readonly worker: number; readonly report: TaskReport }
  | { readonly worker: number; readonly error: unknown };

/** A task waiting for a worker. */
interface WaitingTask {
  readonly task: Task;
  /** A worker that has failed this task before; another one is preferred. */
  readonly avoid: number | undefined;
  readonly settle: PromiseWithResolvers<TaskAttempt>;
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
  readonly #waiting: WaitingTask[] = [];
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
  async attempt(task: Task, avoid?: number): Promise<TaskAttempt> {
    if (this.#closed !== undefined) throw this.#closed;
    const settle = Promise.withResolvers<TaskAttempt>();
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

  async #runOn(worker: WorkerProcess, { task, settle }: WaitingTask): Promise<void> {
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

const PROGRAM = fileURLToPath(new URL('worker.ts', import.meta.url));
/** How long a worker may take to end on its own before it is killed. */
const GOODBYE_MS = 2000;

/** The messages of a worker process: one when it is ready, then one per task. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly report: TaskReport }
  | {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly code?: MapReduceErrorCode | undefined;
    };

/** One worker process as its parent sees it: given a task at a time, it answers or it ends. */
class WorkerProcess {
  /** Distinguishes this process from the one that replaces it. */
  readonly id: number;
  /** Resolves when the process takes tasks; rejects if it ends before. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended; says whether it ever was ready. */
  readonly ended: Promise<{ wasReady: boolean }>;
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<{ wasReady: boolean }>();
  #wasReady = false;
  #alive = true;
  /** The task in flight; there is at most one. */
  #task: { readonly name: string; readonly settle: PromiseWithResolvers<TaskReport> } | undefined;

  constructor(id: number) {
    this.id = id;
    this.ready = this.#ready.promise;
    this.ended = this.#ended.promise;
    this.#child = fork(PROGRAM, {
      serialization: 'advanced', // Keeps errors and their causes whole.
      execArgv: [], // A debugger or profiler of the parent is not for the workers.
      stdio: ['ignore', 2, 'inherit', 'ipc'], // What a job prints is no output of the parent.
    });
    this.#child.on('message', (message) => this.#receive(message as WorkerMessage));
    this.#child.on('error', (error) => this.#end(error.message));
    this.#child.on('exit', (code, signal) => this.#end(signal ?? `exit code ${code}`));
  }

  get processId(): number | undefined {
    return this.#alive ? this.#child.pid : undefined;
  }

  get idle(): boolean {
    return this.#alive && this.#task === undefined;
  }

  /**
   * Rejects with ATTEMPT_FAILED if the task throws, or with the code of a final error; with
   * WORKER_DIED if the process ends first; with a DataCloneError if the task cannot be sent.
   */
  async run(task: Task): Promise<TaskReport> {
    assert(this.idle, 'a worker is given one task at a time');
    const settle = Promise.withResolvers<TaskReport>();
    // Throws if the task cannot be cloned; then the worker stays idle.
    this.#child.send(task, (error) => {
      if (error !== null) this.#child.kill('SIGKILL'); // `exit` settles the task.
    });
    this.#task = { name: task.name, settle };
    return settle.promise;
  }

  /** Lets the process end, and kills it if it takes too long. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), GOODBYE_MS);
    await this.ended;
    clearTimeout(killer);
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === 'ready') {
      this.#wasReady = true;
      this.#ready.resolve();
      return;
    }
    const task = this.#task;
    if (task === undefined) return; // A failure after the task: the process ends.
    this.#task = undefined;
    if (message.kind === 'done') {
      task.settle.resolve(message.report);
      return;
    }
    const { error: cause, code } = message;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const known = code !== undefined && isFinal(code) ? code : 'ATTEMPT_FAILED';
    task.settle.reject(new MapReduceError(known, `${task.name}: ${reason}`, { cause }));
  }

  #end(how: string): void {
    if (!this.#alive) return;
    this.#alive = false;
    const name = this.#task?.name ?? 'no task';
    const error = new MapReduceError('WORKER_DIED', `${name}: the worker process ended (${how})`);
    this.#task?.settle.reject(error);
    this.#task = undefined;
    this.#ready.reject(error);
    this.ready.catch(() => {}); // No caller waits for the start of a replacement.
    this.#ended.resolve({ wasReady: this.#wasReady });
  }
}
