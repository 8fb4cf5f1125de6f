/**
 * Jobs that follow one another: each reads what the one before it has written. A chain is one
 * module, and the parameters of each of its jobs.
 *
 * Only the output of the last job is synced to the disk: the outputs of the earlier jobs are
 * useless without their run, and are removed at its end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { filesOf, type Input, unpackedInputs } from './input.ts';
import { importJob, MapReduceError } from './job.ts';
import { makeFolderOf, refuseExisting } from './output.ts';
import { type JobOptions, type JobReport, runJob } from './run-job.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface JobChain {
  /** Module that exports `createJob`, as a `file:` URL. */
  readonly url: string;
  /** What each job passes to `createJob`, in order; at least one. */
  readonly parameters: readonly unknown[];
}

export interface ChainOptions extends Omit<JobOptions, 'name' | 'job' | 'durable'> {
  readonly chain: JobChain;
}

/**
 * The chain that a module defines: its exports `createJob` and, if it has several jobs, `chain`,
 * the parameters of each.
 * What the module prints while it is loaded is not this process's output, and it may not end the
 * process.
 * @throws INVALID_ARGUMENT if the module cannot be loaded, or is no job
 */
export async function loadChain(url: string): Promise<JobChain> {
  const { createJob, chain = [undefined] } = await loadModule(url);
  if (typeof createJob !== 'function') {
    throw new MapReduceError('INVALID_ARGUMENT', `${url} does not export createJob`);
  }
  if (Array.isArray(chain) && chain.length > 0) return { url, parameters: chain };
  throw new MapReduceError(
    'INVALID_ARGUMENT',
    `${url} must export as chain a list of parameters, one for each job`,
  );
}

/**
 * Runs the jobs on a pool of workers. Returns the report of each.
 * @throws what `runJob` throws
 */
export async function runChain(pool: WorkerPool, options: ChainOptions): Promise<JobReport[]> {
  const { chain, ...ofJobs } = options;
  const reports: JobReport[] = [];
  await throughFolders(options, async (parameters, inputs, outputFolder, isLast) => {
    const name = nameOf(chain, reports.length);
    const job = { url: chain.url, parameters };
    const step = { ...ofJobs, name, job, inputs, outputFolder, durable: isLast };
    reports.push(await runJob(pool, step));
  });
  return reports;
}

type ChainStep = (
  parameters: unknown,
  inputs: readonly Input[],
  outputFolder: string,
  isLast: boolean,
) => Promise<void>;

/** Calls `step` for each job, with a folder for its output; the last one is the chain's own. */
async function throughFolders(
  { chain, inputs, outputFolder }: Pick<ChainOptions, 'chain' | 'inputs' | 'outputFolder'>,
  step: ChainStep,
): Promise<void> {
  const target = resolve(outputFolder);
  await refuseExisting(target); // The last job does so too, but after the work of all others.
  await makeFolderOf(target);
  const between = await mkdtemp(join(dirname(target), `${basename(target)}.jobs-`));
  try {
    let next: readonly Input[] = await unpackedInputs(inputs, between);
    for (const [i, parameters] of chain.parameters.entries()) {
      const isLast = i === chain.parameters.length - 1;
      const folder = isLast ? target : join(between, `after-${i + 1}`);
      await step(parameters, next, folder, isLast);
      next = isLast ? [] : (await filesOf(folder)).map((path) => ({ path }));
    }
  } finally {
    await rm(between, { recursive: true, force: true });
  }
}

function nameOf({ url, parameters }: JobChain, index: number): string {
  const module = basename(url).replace(/\.[^.]*$/, '');
  return parameters.length === 1 ? module : `${module} ${index + 1} of ${parameters.length}`;
}

async function loadModule(url: string): Promise<Record<string, unknown>> {
  const printed = process.stdout;
  const write = printed.write.bind(printed);
  printed.write = process.stderr.write.bind(process.stderr);
  const sayEnded = (): void => {
    process.stderr.write(`The job ${url} ended this process while it was loaded.\n`);
    process.exitCode = 2;
  };
  process.once('exit', sayEnded);
  try {
    return await importJob(url, 'INVALID_ARGUMENT');
  } finally {
    process.off('exit', sayEnded);
    printed.write = write;
  }
}
