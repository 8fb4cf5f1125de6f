/** Chains by GNU sort; sort-chain.sh describes the arrangement and its reasons. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MapReduceError } from '../job.ts';
import { isUri, type Split } from '../input.ts';
import {
  type ChainEngine,
  type ChainRun,
  encodedParameters,
  type EngineSize,
  outsideEngine,
  runProgram,
  STREAMING_PROGRAM,
  wholeFile,
  type Workplace,
} from './engine.ts';
import { endOfRecords } from './whole-files.ts';

const PIPELINE = fileURLToPath(new URL('sort-chain.sh', import.meta.url));
const NAME = 'sort';

/** Why the pipeline cannot run here, as a sentence; undefined if it can. */
export async function whyNoGnuSort(): Promise<string | undefined> {
  const { execa } = await import('execa');
  const { stdout, code, failed } = await execa('sort', ['--version'], { reject: false });
  if (code === 'ENOENT') return 'sort is not found on PATH, and the comparison needs GNU sort.';
  if (!failed && stdout.includes('GNU coreutils')) return undefined;
  return 'sort on PATH is not GNU sort (coreutils), which the comparison needs.';
}

/** Each input is mapped and sorted by processes of its own, so one input per core is best. */
export function sortEngine({ memoryBytes }: Pick<EngineSize, 'memoryBytes'>): ChainEngine {
  return outsideEngine(NAME, (...run) => runPipeline(memoryBytes, ...run));
}

async function runPipeline(
  memoryBytes: number,
  { chain, signal }: ChainRun,
  inputs: readonly Split[],
  { work, output }: Workplace,
): Promise<void> {
  for (const path of [...inputs.map((input) => input.path), output]) refuseUri(path);
  const files = await Promise.all(inputs.map(pathAndLength));
  const env = {
    NODE: process.execPath,
    PROGRAM: STREAMING_PROGRAM,
    JOB: chain.url,
    PARAMETERS: chain.parameters.map(encodedParameters).join(' '),
    WORK: work,
    OUTPUT: join(output, 'part-00000'),
    MEMORY_EACH: kibibytes(memoryBytes / inputs.length),
    MEMORY_ALL: kibibytes(memoryBytes),
    THREADS: String(inputs.length),
  };
  await runProgram(NAME, ['sh', PIPELINE, ...files.flat()], { env, signal });
}

function refuseUri(path: string): void {
  if (!isUri(path)) return;
  const reason = `${NAME} reads and writes only files of this machine`;
  throw new MapReduceError('INVALID_ARGUMENT', `${path} is in another file system, and ${reason}`);
}

/** Names the length also of an input that ends where its file does: the file may grow. */
async function pathAndLength(input: Split): Promise<[path: string, length: string]> {
  const path = wholeFile(input, NAME);
  return [path, input.end === Infinity ? 'all' : String(await endOfRecords(input))];
}

function kibibytes(bytes: number): string {
  return String(Math.max(1, Math.floor(bytes / 1024)));
}
