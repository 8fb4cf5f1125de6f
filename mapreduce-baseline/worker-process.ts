/** One worker process as its parent sees it: given a task at a time, it answers or it ends. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { assert } from '#engine/base';
import { isFinal, MapReduceError, type MapReduceErrorCode } from './errors.ts';
import type { Task, TaskReport } from './tasks.ts';

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

export class WorkerProcess {
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
