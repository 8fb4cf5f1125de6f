/**
 * `./run.sh mapreduce`: runs a chain of map and reduce steps over files, on our runner or on an
 * existing engine.
 *
 * 1. Find the engine.
 * 2. Run the jobs of the module that --job names, by default the clustering of a crawl, one after
 *    the other. Every engine calls the same functions.
 * 3. Report the time, the processor time of all processes, and what was written.
 */
import { existsSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  choice,
  counted,
  flag,
  integer,
  type Progress,
  runCommand,
  startProgress,
  text,
  textList,
  workersOption,
} from '#harness';
import { filesOf, isUri, type JobChain, loadChain, MapReduceError } from '#mapreduce';
import { UsageError } from '#results';
import { CLUSTERING } from '../../crawl-rate/batch/index.ts';
import {
  BATCH_ENGINES,
  batchCpuSeconds,
  type BatchEngineName,
  isHadoopConfigured,
  openBatchEngine,
} from '../../harness/batch-engines.ts';
import { checkFolderWritable } from '../../harness/command-line/surroundings.ts';

const MEBIBYTE = 1024 * 1024;
/** What the user can repair, and what another attempt would not. */
const USAGE: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'JOB_INVALID', 'RECORD_INVALID']);

const specification = {
  script: 'mapreduce',
  description:
    'Runs map and reduce steps over files of lines, with the runner of this project, GNU sort, Hadoop Streaming ' +
    'or Spark. The result is the same. Without --job it clusters the documents of a crawl, as the batch of ' +
    'figure 7 does.',
  options: {
    engine: choice({
      choices: BATCH_ENGINES,
      description:
        'what runs the steps; hadoop is the one of HADOOP_HOME or one from Maven, on the cluster of HADOOP_CONF_DIR or in one process; spark is spark-submit, or Python’s pyspark, and changes bytes that are not UTF-8',
      default: 'local',
    }),
    input: textList({
      description: 'a file of lines, or a folder of such files; may be given several times',
      placeholder: 'path',
    }),
    output: text({
      description: 'new folder for the parts of the result; appears when it is whole',
      placeholder: 'folder',
    }),
    job: text({
      description:
        'module that exports createJob, and chain if there are several jobs (mapreduce-baseline/job.ts)',
      placeholder: 'file',
    }),
    workers: workersOption(
      'processes that map or reduce at the same time; with hadoop also the number of reducers; with spark (which uses all cores), and with hadoop on a cluster, nothing but the number of reducers; sort has processes for each input instead',
    ),
    memory: integer({
      description:
        'memory for sorting, of all workers together; with less, more is sorted on disk; spark and clusters have settings of their own',
      default: 512,
      min: 1,
      max: 1_048_576,
      unit: 'MiB',
    }),
    setting: textList({
      description: 'a setting of Hadoop or Spark; may be given several times',
      placeholder: 'name=value',
    }),
    json: flag({ description: 'print the report as JSON' }),
  },
  examples: [
    {
      command: './run.sh mapreduce --engine hadoop --input crawl.tsv --output clusters',
      does: 'Clusters the documents of a file on Hadoop.',
    },
    {
      command: './run.sh mapreduce --job count-words.ts --input texts --output counts',
      does: 'Runs a job of your own on all files of a folder.',
    },
  ],
} as const;

await runCommand(specification, async (options, { signal }) => {
  const progress = startProgress({ stream: process.stderr });
  try {
    const report = await run(options, progress, signal);
    const told = options.json ? JSON.stringify(report, null, 2) : inWords(report);
    process.stdout.write(`${told}\n`);
  } finally {
    progress.end();
  }
});

interface MapReduceOptions {
  readonly engine: BatchEngineName;
  readonly input: readonly string[];
  readonly output: string | undefined;
  readonly job: string | undefined;
  readonly workers: number;
  readonly memory: number;
  readonly setting: readonly string[];
}

interface MapReduceReport {
  readonly engine: string;
  readonly jobs: number;
  /** Null for what is not on this machine's disk. */
  readonly inputBytes: number | null;
  readonly seconds: number;
  /** The processor time of this process and of all that it started; null if not known. */
  readonly cpuSeconds: number | null;
  readonly output: string;
  readonly outputBytes: number | null;
}

async function run(
  options: MapReduceOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<MapReduceReport> {
  const { workers } = options;
  const outputFolder = checkedOutput(options);
  const inputs = await inputsOf(options);
  const chain = options.job === undefined ? CLUSTERING : await chainOf(options.job);
  const memoryBytes = options.memory * MEBIBYTE;
  const settings = settingsOf(options);
  await using engine = await openBatchEngine(options.engine, { workers, memoryBytes, settings });
  progress.phase(`${counted(chain.parameters.length, 'jobs')} on ${engine.name}`, 0);
  const startedMs = performance.now();
  const cpuBefore = batchCpuSeconds(engine);
  const files = inputs.map((file) => ({ path: file }));
  await asUsage(() => engine.run({ chain, inputs: files, outputFolder, signal }));
  const seconds = (performance.now() - startedMs) / 1000;
  const cpuAfter = batchCpuSeconds(engine);
  return {
    engine: engine.name,
    jobs: chain.parameters.length,
    inputBytes: await bytesOf(inputs),
    seconds,
    cpuSeconds: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
    output: outputFolder,
    outputBytes: isUri(outputFolder) ? null : await bytesOf(await filesOf(outputFolder)),
  };
}

async function asUsage<T>(action: () => Promise<T>, begin = ''): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof MapReduceError) || !USAGE.has(error.code)) throw error;
    throw new UsageError(`${begin}${error.message.replace(/\.$/, '')}.`, { cause: error });
  }
}

function inWords({
  engine,
  jobs,
  inputBytes,
  seconds,
  cpuSeconds,
  output,
  outputBytes,
}: MapReduceReport): string {
  const read = inputBytes === null ? '' : ` of ${megabytes(inputBytes)}`;
  const cpu = cpuSeconds === null ? '' : `, ${cpuSeconds.toFixed(1)} s of processor`;
  const written = outputBytes === null ? '' : ` (${megabytes(outputBytes)})`;
  return `${engine}: ${counted(jobs, 'jobs')}${read} in ${seconds.toFixed(1)} s${cpu}. Output: ${output}${written}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} MB`;
}

function checkedOutput({ output, engine }: MapReduceOptions): string {
  if (output === undefined) {
    throw new UsageError('--output must name a new folder, but is missing.');
  }
  if (isUri(output)) return checkedUri('--output', output, engine);
  checkFolderWritable('--output', output);
  if (!existsSync(output)) return path.resolve(output);
  throw new UsageError(`--output must be a new folder, but "${output}" exists.`);
}

async function inputsOf({ input, engine }: MapReduceOptions): Promise<readonly string[]> {
  if (input.length === 0) {
    throw new UsageError('--input must name a file or a folder, but is missing.');
  }
  const found = input.map(async (name) => {
    if (isUri(name)) return [checkedUri('--input', name, engine)];
    if (!existsSync(name)) {
      throw new UsageError(`--input must be a file or a folder that exists, but is "${name}".`);
    }
    const files = statSync(name).isDirectory()
      ? await asUsage(() => filesOf(name), '--input must be a file or a folder of files, but ')
      : [regularFile(name)];
    return files.map((file) => path.resolve(file));
  });
  return (await Promise.all(found)).flat();
}

/** A pipe is refused, because most engines cannot read an input that has no size. */
function regularFile(name: string): string {
  if (statSync(name).isFile()) return name;
  throw new UsageError(
    `--input must be a file or a folder, and no pipe or device, but is "${name}".`,
  );
}

function checkedUri(option: string, uri: string, engine: BatchEngineName): string {
  if (engine === 'spark') return uri;
  if (engine === 'hadoop') {
    if (isHadoopConfigured()) return uri;
    throw new UsageError(
      `${option} must be a path if neither HADOOP_CONF_DIR nor HADOOP_HOME is set, but is "${uri}".`,
    );
  }
  throw new UsageError(
    `${option} must be a path with --engine ${engine}, which reads this machine’s files, but is "${uri}".`,
  );
}

function settingsOf({ setting, engine }: MapReduceOptions): Readonly<Record<string, string>> {
  if (setting.length > 0 && engine !== 'hadoop' && engine !== 'spark') {
    throw new UsageError(
      `--setting has an effect only with --engine hadoop or spark, but --engine is ${engine}.`,
    );
  }
  return Object.fromEntries(
    setting.map((given) => {
      const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(given) ?? [];
      if (name !== '') return [name, value];
      throw new UsageError(`--setting must be name=value, but is "${given}".`);
    }),
  );
}

async function chainOf(file: string): Promise<JobChain> {
  if (!existsSync(file)) {
    throw new UsageError(`--job must be a module that exists, but is "${file}".`);
  }
  if (!/\.[cm]?[jt]s$/.test(file)) {
    throw new UsageError(
      `--job must be a module, whose name ends in .js, .mjs, .cjs, .ts, .mts or .cts, but is "${file}".`,
    );
  }
  const url = pathToFileURL(file).href;
  return asUsage(() => loadChain(url), '--job must be a module with jobs, but ');
}

async function bytesOf(files: readonly string[]): Promise<number | null> {
  if (files.some(isUri)) return null;
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
