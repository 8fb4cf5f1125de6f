/**
 * An engine that runs a chain of jobs: our own, or an existing one that keeps Hadoop Streaming's
 * contract. All engines run the map and reduce functions of one module, and differ in how they
 * bring records from map to reduce. With every engine an output folder of this machine appears
 * whole or not at all (output.ts).
 */
import { mkdtempDisposable, open, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Input, isUri, resolveInput, type Split, unpackedInputs } from '../input.ts';
import { type JobChain, runChain } from '../job-chain.ts';
import { MapReduceError } from '../job.ts';
import { UnfinishedOutput } from '../output.ts';
import { MEMORY_BYTES_MIN } from '../run-job.ts';
import { openWorkerPool } from '../worker-pool.ts';

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

interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Finds the reason, as its group `told`, in what a failed program said. */
  readonly reason?: RegExp | undefined;
  /** If the signal has stopped the program, is told what the program had said. */
  readonly stopped?: ((said: string) => Promise<void>) | undefined;
}

/** The complaint of a streaming program, which reaches us through most engines. */
const COMPLAINT = /^.*streaming-program(?: (?<code>[A-Z_]+))?: (?<told>.*)$/m;

/** Codes of complaints that are those of the run. */
const FINAL = ['RECORD_INVALID', 'JOB_INVALID'] as const;

/** A failed program may have said a lot; the message has this much of its end. */
const TOLD_CHARACTERS = 2_000;

/**
 * Runs the program of an outside engine. It gets a process group of its own, so that all its
 * processes can be killed together.
 * @returns what it said
 * @throws TASK_FAILED, or the code of a complaint, if it fails; the message has the reason, or the
 *   end of what the program said
 */
export async function runProgram(
  name: string,
  [command = '', ...words]: readonly string[],
  { env = {}, signal, reason = COMPLAINT, stopped }: ProgramOptions,
): Promise<string> {
  const { execa } = await import('execa');
  signal?.throwIfAborted(); // Nothing is awaited between this and the listener.
  const running = execa(command, words, {
    detached: true,
    env: { ...localeOf(process.env), ...env },
    stdin: 'ignore',
    reject: false,
  });
  const stop = (): void => killGroup(running.pid);
  signal?.addEventListener('abort', stop);
  try {
    const { failed, stdout, stderr, shortMessage } = await running;
    const said = `${stdout}\n${stderr}`.trim();
    if (signal?.aborted === true) await stopped?.(said);
    signal?.throwIfAborted();
    if (!failed) return said;
    const { code = '', told } = reason.exec(said)?.groups ?? {};
    const known = FINAL.find((one) => one === code) ?? 'TASK_FAILED';
    const end = said.slice(-TOLD_CHARACTERS) || shortMessage;
    throw new MapReduceError(known, `${name} failed: ${told ?? end}`);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

/** If the locale is not UTF-8, or is not set, Java cannot open files of every name. */
function localeOf({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): Record<string, string> {
  const locale = [LC_ALL, LC_CTYPE, LANG].find((name) => name !== undefined && name !== '') ?? '';
  return /utf-?8/iu.test(locale) ? {} : { LC_ALL: 'C.UTF-8' };
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has just ended on its own.
  }
}

/**
 * Chains by this baseline itself, on a pool of worker processes that lives as long as the engine. A
 * signal that ends a run ends the pool, too: the engine takes no run after that.
 */
export async function localEngine({ workers, memoryBytes }: EngineSize): Promise<ChainEngine> {
  const pool = await openWorkerPool({ workers });
  return {
    name: 'MapReduce',
    run: async ({ chain, inputs, outputFolder, signal }) => {
      signal?.throwIfAborted();
      // Without workers a running job fails at once, instead of running to its end.
      const stop = (): void => void pool[Symbol.asyncDispose]();
      signal?.addEventListener('abort', stop);
      const share = Math.floor(memoryBytes / workers);
      const memoryBytesPerWorker = Math.max(MEMORY_BYTES_MIN, share);
      try {
        await runChain(pool, { chain, inputs, outputFolder, memoryBytesPerWorker });
      } finally {
        signal?.removeEventListener('abort', stop);
      }
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
