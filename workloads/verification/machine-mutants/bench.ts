/**
 * A bench of judges: a process that runs one job after the other, step by step, and is replaced
 * when it has ended.
 *
 * A step that computes for too long is ended. Time is the process's own processor time, which other
 * work does not lengthen: a busy machine does not make a mutant look as if it looped. Nor does a
 * bench that stands still while its process takes step after step.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ownCpuUs } from '../../harness/processes/processor-time.ts';
import type { Job, StepMessage } from './step.ts';

export interface JobResult {
  /** Why the job ended before all steps had passed; undefined if all passed. */
  readonly failure?: Failure | undefined;
  readonly passed: readonly PassedStep[];
  readonly cpuMs: number;
}

type PassedStep = Extract<StepMessage, { kind: 'passed' }>;

interface Failure {
  readonly step: string;
  readonly why: string;
  readonly isLoading: boolean;
  /** Whether the step was ended because it computed or waited for too long. */
  readonly isLate?: boolean;
}

const LOOK_MS = 200;
const HEAP_MB = 1_000;
/** Engines that one process loads. Each stays in its memory. */
const JOBS_MAX = 25;

export class Bench implements Disposable {
  /** A test that fails, or is ended, leaves its files here. */
  #folder: string | undefined;
  #child: ChildProcess | undefined;
  #jobs = 0;
  #isOver = false;

  /**
   * @param cpuMsMax the limit of a step, by its name
   * @throws if the bench was disposed of
   */
  async run(job: Job, cpuMsMax: (step: string) => number): Promise<JobResult> {
    if (this.#isOver) throw new Error('no judge is asked any more');
    if (this.#jobs >= JOBS_MAX || this.#child?.connected === false) this.#end();
    this.#folder ??= mkdtempSync(path.join(tmpdir(), 'percolator-judges-'));
    const child = (this.#child ??= startProcess(this.#folder));
    this.#jobs++;
    const startMs = cpuMsOf(child) ?? 0;
    let [step, beganMs, cpuMs] = ['loading', startMs, startMs];
    let failure: Failure | undefined;
    const passed: PassedStep[] = [];
    const look = (): void => {
      cpuMs = cpuMsOf(child) ?? cpuMs;
    };
    const over = Promise.withResolvers<void>();
    const onMessage = (received: unknown): void => {
      const message = received as StepMessage;
      look();
      if (message.kind === 'ended') {
        if (!message.isAsNew) this.#end();
        over.resolve();
      } else if (message.kind === 'failed') failure ??= message;
      else if (message.kind === 'passed') passed.push(message);
      else [step, beganMs] = [message.step, cpuMs];
    };
    const onExit = (code: number | null, signal: NodeJS.Signals | null): void => {
      const why = `its process ended with ${signal ?? `exit code ${code}`}`;
      failure ??= { step, why, isLoading: false };
      this.#end();
      over.resolve();
    };
    const watching = setInterval(() => {
      // By the time of the last look: what the process had told by then has been heard.
      const isLate = cpuMs - beganMs >= cpuMsMax(step);
      look();
      if (!isLate) return;
      failure ??= { step, why: 'computes for too long', isLoading: false, isLate };
      this.#end(); // Even if it has just told that it is as good as new.
    }, LOOK_MS);
    child.on('message', onMessage).on('exit', onExit);
    child.send(job);
    await over.promise;
    clearInterval(watching);
    child.off('message', onMessage).off('exit', onExit);
    return { failure, passed, cpuMs: cpuMs - startMs };
  }

  /** Ends the process, even in the middle of a job, and removes the files of its tests. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#end();
    if (this.#folder === undefined) return;
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }

  #end(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
    this.#jobs = 0;
  }
}

function startProcess(folder: string): ChildProcess {
  return fork(new URL('judge-process.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`, '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, TMPDIR: folder },
  });
}

/**
 * Processor time so far; undefined once the process has ended. On other systems than Linux the
 * elapsed time serves instead.
 */
function cpuMsOf({ pid = 0 }: ChildProcess): number | undefined {
  if (process.platform !== 'linux') return performance.now();
  const us = ownCpuUs(pid);
  return us === null ? undefined : us / 1_000;
}
