/**
 * Runs the clustering through GNU sort; sort-pipeline.sh describes the arrangement and its reasons.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

const PIPELINE = fileURLToPath(new URL('sort-pipeline.sh', import.meta.url));
const MAP = fileURLToPath(new URL('mr-map.ts', import.meta.url));
const REDUCE = fileURLToPath(new URL('mr-reduce.ts', import.meta.url));

export interface SortPipelineOptions {
  /** Files of documents, each mapped and sorted by processes of its own: one per core is best. */
  readonly inputs: readonly string[];
  /** File for the clusters; synced when the promise resolves. */
  readonly output: string;
  /** Memory of all sorts of one phase together, as for the workers of the MapReduce. */
  readonly memoryBytes: number;
  /** Kills the pipeline. */
  readonly signal?: AbortSignal | undefined;
  /** For pipes and the spill files of sort. Default: the system's folder for temporary files. */
  readonly temporaryFolder?: string | undefined;
}

/** Why the pipeline cannot run here, as a sentence; undefined if it can. */
export async function whyNoGnuSort(): Promise<string | undefined> {
  const { stdout, failed } = await execa('sort', ['--version'], { reject: false });
  if (failed) return 'sort is not found on PATH, and the comparison needs GNU sort.';
  if (stdout.includes('GNU coreutils')) return undefined;
  return 'sort on PATH is not GNU sort (coreutils), which the comparison needs.';
}

/** Clusters the documents of the inputs into one file, a cluster per line. */
export async function clusterBySortPipeline(options: SortPipelineOptions): Promise<void> {
  const { inputs, output, memoryBytes, signal, temporaryFolder = tmpdir() } = options;
  const work = await mkdtemp(join(temporaryFolder, 'sort-pipeline-'));
  // A process group of its own, so that all programs of the pipeline can be killed together.
  const running = execa('sh', [PIPELINE, ...inputs], {
    detached: true,
    env: {
      NODE: process.execPath,
      MAP,
      REDUCE,
      WORK: work,
      OUTPUT: output,
      MEMORY_EACH: kibibytes(memoryBytes / inputs.length),
      MEMORY_ALL: kibibytes(memoryBytes),
      THREADS: String(inputs.length),
    },
  });
  const stop = (): void => killGroup(running.pid);
  signal?.addEventListener('abort', stop);
  try {
    await running;
  } finally {
    signal?.removeEventListener('abort', stop);
    await rm(work, { recursive: true, force: true });
  }
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has just ended on its own.
  }
}

function kibibytes(bytes: number): string {
  return String(Math.max(1, Math.floor(bytes / 1024)));
}
