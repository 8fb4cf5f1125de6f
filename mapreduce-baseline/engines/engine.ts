/**
 * An engine that runs a chain of jobs: our own, or an existing one that keeps Hadoop Streaming's
 * contract. All engines run the map and reduce functions of one module, and differ in how they
 * bring records from map to reduce. With every engine an output folder of this machine appears
 * whole or not at all (output-folder.ts).
 */
import { mkdtempDisposable, open, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MapReduceError } from '../errors.ts';
import { isUri, unpackedInputs } from '../input-files.ts';
import { type Input, resolveInput, type Split } from '../input-splits.ts';
import type { JobChain } from '../job-chain.ts';
import { UnfinishedOutput } from '../output-folder.ts';

export interface ChainRun {
  readonly chain: JobChain;
  /**
   * At least one; our own engine also runs without any. An input whose path is a URI, such as one
   * of a cluster's file system, is for engines that know that file system, and is read whole.
   */
  readonly inputs: readonly Input[];
  /**
   * Must not exist; has the parts of the last job when the run has succeeded. If it is a URI, the
   * engine itself writes it.
   */
  readonly outputFolder: string;
  /** Ends the run, and all its processes. */
  readonly signal?: AbortSignal | undefined;
}

/** What an engine may use of this machine. */
export interface EngineSize {
  /**
   * Processes that map or reduce at the same time. With Hadoop in one process, it is also the
   * number of reducers. With Spark and a Hadoop cluster, it is only the number of reducers: their
   * settings decide what runs at the same time. GNU sort has processes for each input instead, and
   * one reducer.
   */
  readonly workers: number;
  /**
   * Bytes for sorting, of all workers together. Too little: more is sorted on the disk. With GNU
   * sort, each later job of a chain may take as much again at the same time. Spark and a Hadoop
   * cluster have settings of their own.
   */
  readonly memoryBytes: number;
}

export interface ChainEngine extends AsyncDisposable {
  readonly name: string;
  /**
   * Resolves when the output folder is there, on the disk.
   * @throws INVALID_ARGUMENT, OUTPUT_EXISTS, RECORD_INVALID, JOB_INVALID, TASK_FAILED; what the
   *   signal was aborted with, or POOL_CLOSED, if the run was ended
   */
  run(run: ChainRun): Promise<void>;
}

/** The folders of one run of an engine. */
export interface Workplace {
  /** For anything; removed at the end. */
  readonly work: string;
  /** An empty folder, or a URI; the parts in it become the output. */
  readonly output: string;
}

type Start = (run: ChainRun, inputs: readonly Split[], place: Workplace) => Promise<void>;

/** An engine that is a program: `start` writes the parts, and this publishes them. */
export function outsideEngine(name: string, start: Start): ChainEngine {
  return {
    name,
    run: async (run) => {
      if (run.inputs.length === 0) {
        throw new MapReduceError('INVALID_ARGUMENT', `${name} needs at least one input`);
      }
      await Promise.all(run.inputs.map(resolveUnlessUri)); // Before anything is made.
      if (isUri(run.outputFolder)) return startAtUri(start, run);
      await using unfinished = await UnfinishedOutput.begin(run.outputFolder);
      await start(run, await inputsOf(run, unfinished.work), unfinished);
      await syncFiles(unfinished.output);
      await unfinished.publish({ durable: true });
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The engine writes the output in place; only its temporary files are on this machine. */
async function startAtUri(start: Start, run: ChainRun): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'mapreduce-'));
  const inputs = await inputsOf(run, folder.path);
  await start(run, inputs, { work: folder.path, output: run.outputFolder });
}

async function inputsOf({ inputs, signal }: ChainRun, work: string): Promise<Split[]> {
  const unpacked = await unpackedInputs(inputs, work, signal);
  return Promise.all(unpacked.map(resolveUnlessUri));
}

/** An input that names no end has Infinity: the engine reads its file to the end. */
async function resolveUnlessUri(input: Input): Promise<Split> {
  const { path, start = 0, end } = input;
  if (!isUri(path)) return { ...(await resolveInput(input)), end: end ?? Infinity };
  if (start === 0 && end === undefined) return { path, start, end: Infinity };
  throw new MapReduceError(
    'INVALID_ARGUMENT',
    `input ${path}: a part of a file of another file system cannot be an input`,
  );
}

async function syncFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    await using file = await open(join(folder, name));
    await file.sync();
  }
}

export const STREAMING_PROGRAM: string = fileURLToPath(
  new URL('../streaming-program.ts', import.meta.url),
);
/** Starts the program. */
export const STREAMING_STARTER: string = fileURLToPath(new URL('../streaming.sh', import.meta.url));
export const SHELL = '/bin/sh';

/** The command of one side of a job, as words; its Node is the repository's own. */
export function streamingCommand(
  side: 'map' | 'reduce',
  url: string,
  parameters: unknown,
): string[] {
  const started = [SHELL, STREAMING_STARTER, process.execPath, STREAMING_PROGRAM];
  return [...started, side, url, encodedParameters(parameters)];
}

/** In an object, because JSON has no `undefined`. */
export function encodedParameters(parameters: unknown): string {
  return Buffer.from(JSON.stringify({ parameters })).toString('base64url');
}

/**
 * The path of the file, which the engine reads from its first byte; the caller sees to `end`.
 * @throws INVALID_ARGUMENT if the split begins later
 */
export function wholeFile({ path, start }: Split, engine: string): string {
  if (start === 0) return path;
  throw new MapReduceError(
    'INVALID_ARGUMENT',
    `input ${path} begins at byte ${start}, and ${engine} reads files from their first byte`,
  );
}
