/** Chains by Spark; spark-chain.py describes how. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isUri } from '../input.ts';
import {
  type ChainEngine,
  type EngineSize,
  outsideEngine,
  runProgram,
  streamingCommand,
} from './engine.ts';
import { inputOf, moveParts, uriOf, wholeFiles } from './whole-files.ts';

const NAME = 'Spark';
const SCRIPT = fileURLToPath(new URL('spark-chain.py', import.meta.url));

export interface SparkOptions extends Pick<EngineSize, 'workers'> {
  /** Starts a script of Spark's: `spark-submit`, or a Python that has pyspark. */
  readonly command: readonly string[];
  /** Settings of Spark by their names, such as `spark.executor.memory`. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Spark's own configuration decides where it runs; by default on all cores of this machine.
 * Inputs must be UTF-8: Spark takes lines for texts, and changes other bytes.
 */
export function sparkEngine({ command, settings, workers }: SparkOptions): ChainEngine {
  return outsideEngine(NAME, async ({ chain, signal }, inputs, { work, output }) => {
    const files = await wholeFiles(inputs, work, NAME);
    await using spills = await spillFolder(work);
    const after = isUri(output) ? output : join(work, 'after');
    const task = {
      inputs: files.map(inputOf),
      output: uriOf(after),
      reducers: workers,
      jobs: chain.parameters.map((parameters) => ({
        map: shellCommand(streamingCommand('map', chain.url, parameters)),
        reduce: shellCommand(streamingCommand('reduce', chain.url, parameters)),
      })),
    };
    const env = {
      // Python hashes texts differently in each process unless it is told not to.
      PYTHONHASHSEED: '0',
      SPARK_LOCAL_DIRS: join(spills.path, 'spark'),
      PYSPARK_SUBMIT_ARGS: shellCommand([...confWords(settings), 'pyspark-shell']),
    };
    // Any word may be spark-submit, because another program, such as nice, may start it.
    const isSubmit = command.some((word) => basename(word).includes('spark-submit'));
    const words = [
      ...command,
      ...(isSubmit ? confWords(settings) : []),
      SCRIPT,
      JSON.stringify(task),
    ];
    await runProgram(NAME, words, { env, signal });
    if (!isUri(output)) await moveParts(after, output);
  });
}

/**
 * A folder for Spark's temporary files: next to the output, or in the system's folder for temporary
 * files if the path has a comma, which Spark takes for the end of a path. A link to the folder
 * would not help, because Spark follows it.
 */
async function spillFolder(work: string): Promise<AsyncDisposable & { path: string }> {
  if (!work.includes(',')) return { path: work, [Symbol.asyncDispose]: async () => {} };
  return mkdtempDisposable(join(tmpdir(), 'mapreduce-'));
}

function confWords(settings: SparkOptions['settings']): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['--conf', `${name}=${value}`]);
}

/** The words as one text, which Python's `shlex` splits again. */
function shellCommand(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(' ');
}
