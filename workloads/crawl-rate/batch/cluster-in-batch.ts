/**
 * Clusters the repository in batch, as was done before Percolator: three MapReduces in a row.
 *
 * Phase 1 reads the documents; phases 2 and 3 read the representatives from the phase before. Only
 * the clusters, the output of phase 3, are synced to the disk: the outputs of the earlier phases
 * are useless without their run, and are removed at its end.
 */
import { mkdtemp, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { runJob, type Grouping, type Input, type JobReport, type WorkerPool } from '#mapreduce';
import { PHASES, type ClusterJobParameters, type Phase } from './cluster-job.ts';

const JOB_URL = new URL('cluster-job.ts', import.meta.url).href;

export interface BatchOptions {
  /**
   * Files of documents, one line each; see cluster-job.ts. Set `end` if a file is being written.
   */
  readonly inputs: readonly Input[];
  /** Must not exist; holds the clusters when the run has succeeded. See `readClusters`. */
  readonly outputFolder: string;
  /** Reduce tasks per phase. Default: the MapReduce's own choice from the size of its input. */
  readonly partitions?: number | undefined;
  /**
   * Memory for buffers and tables per worker. Default 256 MiB; less makes reducers sort on disk.
   */
  readonly memoryBytesPerWorker?: number | undefined;
  /** Default `hash`: clusters need no order. */
  readonly grouping?: Grouping | undefined;
}

export interface BatchReport {
  readonly documents: number;
  readonly clusters: number;
  /** Bytes of documents read. */
  readonly bytesRead: number;
  /** Wall-clock time of the whole run, in seconds. */
  readonly seconds: number;
  /** Processor time of the workers, in seconds. */
  readonly cpuSeconds: number;
  /** The report of each phase's job. */
  readonly phases: readonly JobReport[];
}

/** Clusters all documents of the inputs. */
export async function clusterInBatch(
  pool: WorkerPool,
  options: BatchOptions,
): Promise<BatchReport> {
  const outputFolder = resolve(options.outputFolder);
  const between = await makeFolderBeside(outputFolder);
  try {
    const phases: JobReport[] = [];
    let inputs = options.inputs;
    for (const phase of PHASES) {
      const target = phase === 3 ? outputFolder : join(between, `after-phase-${phase}`);
      phases.push(await runPhase(pool, phase, { ...options, inputs, outputFolder: target }));
      inputs = phase === 3 ? [] : await partsOf(target);
    }
    return summarize(phases);
  } finally {
    await rm(between, { recursive: true, force: true });
  }
}

async function runPhase(pool: WorkerPool, phase: Phase, options: BatchOptions): Promise<JobReport> {
  const parameters: ClusterJobParameters = { phase };
  return runJob(pool, {
    name: `clustering phase ${phase}`,
    job: { url: JOB_URL, parameters },
    durable: phase === 3,
    ...options,
  });
}

async function makeFolderBeside(outputFolder: string): Promise<string> {
  const parent = dirname(outputFolder);
  await mkdir(parent, { recursive: true });
  return mkdtemp(join(parent, `${basename(outputFolder)}.phases-`));
}

/** The files a job left in its output folder, in order. */
async function partsOf(folder: string): Promise<Input[]> {
  const names = await readdir(folder);
  return names.toSorted().map((name) => ({ path: join(folder, name) }));
}

function summarize(phases: readonly JobReport[]): BatchReport {
  return {
    documents: phases[0]?.recordsRead ?? 0,
    clusters: phases.at(-1)?.recordsWritten ?? 0,
    bytesRead: phases[0]?.inputBytes ?? 0,
    seconds: phases.reduce((sum, phase) => sum + phase.seconds.total, 0),
    cpuSeconds: phases.reduce((sum, phase) => sum + phase.cpuSeconds, 0),
    phases,
  };
}
