/**
 * Lets a process of its own take the steps, and ends it if it computes for too long.
 *
 * Time is the process's own processor time: on a busy machine nothing takes longer by it, so a mutant is
 * never taken for one that loops because others are at work.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { KEPT } from './folders.ts';
import type { Job, Told } from './step.ts';

export interface Ended {
  /** All steps passed, or how it ended before that. */
  readonly failure?: { readonly step: string; readonly why: string; readonly isLoading: boolean };
  readonly passed: readonly Extract<Told, { told: 'passed' }>[];
  readonly cpuMs: number;
}

const NODE_COMPILE_CACHE = path.join(KEPT, 'compiled');
const LOOK_MS = 200;
const HEAP_MB = 600;

/** @param cpuMsMax of a step, by its name */
export async function runSteps(
  job: Job,
  cpuMsMax: (step: string) => number,
  signal?: AbortSignal,
): Promise<Ended> {
  const child = startProcess(job.measures);
  const passed: Extract<Told, { told: 'passed' }>[] = [];
  let failure: Ended['failure'];
  let step = 'loading';
  let beganMs = 0;
  child.on('message', (message) => {
    const told = message as Told;
    if (told.told === 'began') {
      ({ step } = told);
      beganMs = cpuMsOf(child);
    } else if (told.told === 'passed') passed.push(told);
    else if (told.told === 'failed') failure ??= told;
  });
  const watching = setInterval(() => {
    if (cpuMsOf(child) - beganMs < cpuMsMax(step)) return;
    failure ??= { step, why: 'computes for too long', isLoading: false };
    child.kill('SIGKILL');
  }, LOOK_MS);
  const stop = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', stop);
  child.send(job);
  const code = await new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  clearInterval(watching);
  signal?.removeEventListener('abort', stop);
  signal?.throwIfAborted();
  const isCut = failure === undefined && passed.length < job.steps.length;
  if (isCut) failure = { step, why: `its process ended with ${code}`, isLoading: false };
  const cpuMs = lastSeen.get(child) ?? 0;
  return failure === undefined ? { passed, cpuMs } : { failure, passed, cpuMs };
}

function startProcess(measures: boolean): ChildProcess {
  return fork(new URL('judge-process.ts', import.meta.url), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`, '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Halves the time to load the engine. What has been compiled before is counted wrongly, however.
    env: {
      ...process.env,
      ...(measures ? { NODE_DISABLE_COMPILE_CACHE: '1' } : { NODE_COMPILE_CACHE }),
    },
  });
}

const lastSeen = new WeakMap<ChildProcess, number>();
const startedMs = new WeakMap<ChildProcess, number>();
const TICK_MS = 10;

/** Processor time so far; where the system does not tell it in a file, the time since it was started. */
function cpuMsOf(child: ChildProcess): number {
  let cpuMs: number;
  try {
    const words = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    cpuMs = (Number(words[11]) + Number(words[12])) * TICK_MS;
  } catch {
    const since = startedMs.get(child) ?? performance.now();
    startedMs.set(child, since);
    cpuMs = process.platform === 'linux' ? (lastSeen.get(child) ?? 0) : performance.now() - since;
  }
  lastSeen.set(child, cpuMs);
  return cpuMs;
}
