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

export interface JobResult {
  /** Why the job ended before all steps had passed; undefined if all passed. */
  readonly failure?: StepFailure | undefined;
  readonly passed: readonly PassedStep[];
  readonly cpuMs: number;
}

type PassedStep = Extract<StepMessage, { kind: 'passed' }>;

interface StepFailure {
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
    let failure: StepFailure | undefined;
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

/* The messages between the bench and its process. */

/** One judge's work on one mutant. */
export type JudgeStep =
  // The name is the test file, from the root of the project.
  | { readonly kind: 'tests'; readonly name: string }
  | { readonly kind: 'seeds'; readonly name: string; readonly from: number; readonly to: number }
  | {
      readonly kind: 'search';
      readonly name: string;
      readonly scenario: string;
      readonly suspicion: 'all' | 'crashed';
      readonly crashes?: number;
      readonly copies?: number;
      readonly lostAnswers?: number;
    };

export interface Job {
  /** The change to make while the engine is loaded. None: the unchanged engine. */
  readonly change?: { readonly file: string; readonly text: string } | undefined;
  readonly steps: readonly JudgeStep[];
  /** Whether to report also which code each step has reached. Takes longer. */
  readonly measures: boolean;
}

/** By file: the ranges of code that ran, from the first character to the one after the last. */
export type ReachedRanges = Readonly<Record<string, readonly (readonly [number, number])[]>>;

export type StepMessage =
  | { readonly kind: 'began'; readonly step: string }
  | {
      readonly kind: 'passed';
      readonly step: string;
      readonly cpuMs: number;
      /** The number of tests, seeds or executions. */
      readonly count: number;
      readonly reached?: ReachedRanges;
    }
  | {
      readonly kind: 'failed';
      readonly step: string;
      readonly why: string;
      /** Whether it failed before any test ran. */
      readonly isLoading: boolean;
      /** Whether it was ended because it waited for too long. */
      readonly isLate: boolean;
    }
  /** The job is over; the process ends too, unless it is as good as new. */
  | { readonly kind: 'ended'; readonly isAsNew: boolean };
