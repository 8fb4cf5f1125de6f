/**
 * Chains by Hadoop Streaming: one Hadoop job for each job of the chain.
 *
 * Without a cluster's configuration Hadoop runs in one process, from and to files of this machine.
 * On a cluster this repository must be at the same path on every node, or be a folder that all of
 * them share, and so must files that are named by a path; anything else is named by a URI of the
 * cluster's, such as `hdfs://`, and is then the cluster's to make whole and durable.
 *
 * Two settings decide whether the result is right. `stream.reduce.output=keyonlytext` keeps Hadoop
 * from adding a tab to lines without one. `textinputformat.record.delimiter` makes a line of the
 * input end at a newline alone. Between map and reduce Hadoop also ends lines at carriage returns,
 * so a job must not emit any.
 *
 * `combine` is not used: Hadoop reads a combiner's output as it reads the reducer's, keys alone, and
 * would lose the values.
 */
import { basename, join } from 'node:path';
import { MapReduceError } from '../errors.ts';
import type { Split } from '../input-splits.ts';
import {
  type ChainEngine,
  type ChainRun,
  type EngineSize,
  isUri,
  outsideEngine,
  streamingCommand,
  type Workplace,
} from './engine.ts';
import { runProgram } from './program.ts';
import { moveParts, uriOf, wholeFiles } from './whole-files.ts';

const NAME = 'Hadoop';

export interface HadoopOptions extends EngineSize {
  /** Starts Hadoop Streaming; the words of the job are appended. */
  readonly command: readonly string[];
  /** Starts Hadoop's shell of file systems; needed for outputs that are named by a URI. */
  readonly fileSystem: readonly string[];
  /** Settings of Hadoop by their names. They take precedence over those of its configuration. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether Hadoop runs the job in its own process; otherwise its configuration decides. */
  readonly isLocal: boolean;
}

export function hadoopEngine(options: HadoopOptions): ChainEngine {
  return outsideEngine(NAME, async (run, inputs, place) => {
    if (isUri(place.output)) return runOnCluster(options, { run, inputs, place });
    const between = (job: number): string => join(place.work, `after-${job}`);
    await runJobs(options, { run, inputs, place, between });
    await moveParts(between(run.chain.parameters.length), place.output);
  });
}

interface Jobs {
  readonly run: ChainRun;
  readonly inputs: readonly Split[];
  readonly place: Workplace;
  /** The folder for the output of a job; the first is 1. */
  readonly between: (job: number) => string;
}

/**
 * The last job writes to the output itself. What is between the jobs is next to it meanwhile, in a
 * folder with a name that no other run has.
 */
async function runOnCluster(options: HadoopOptions, jobs: Omit<Jobs, 'between'>): Promise<void> {
  const { output, work } = jobs.place;
  const { length } = jobs.run.chain.parameters;
  const folder = `${output}.${basename(work)}`;
  const between = (job: number): string => (job === length ? output : `${folder}/after-${job}`);
  const remove = [...options.fileSystem, '-rm', '-r', '-f', '-skipTrash', folder];
  try {
    await runJobs(options, { ...jobs, between });
  } catch (error) {
    // Why the jobs failed says more than why their folder could not be removed.
    await runProgram(NAME, remove, {}).catch(() => {});
    throw error;
  }
  if (length > 1) await runProgram(NAME, remove, {});
}

async function runJobs(options: HadoopOptions, jobs: Jobs): Promise<void> {
  const { run, place, between } = jobs;
  let inputs: readonly string[] = await wholeFiles(jobs.inputs, place.work, NAME);
  for (const [i, parameters] of run.chain.parameters.entries()) {
    const output = between(i + 1);
    await runStreaming(options, { run, parameters, inputs, output, place });
    inputs = [output];
  }
}

interface Step {
  readonly run: ChainRun;
  readonly parameters: unknown;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly place: Workplace;
}

async function runStreaming(options: HadoopOptions, step: Step): Promise<void> {
  const { run, parameters, inputs, output } = step;
  const side = (name: 'map' | 'reduce'): string =>
    streamingCommand(name, run.chain.url, parameters).map(quoted).join(' ');
  const words = [
    ...Object.entries(settingsOf(options, step)).flatMap(([name, value]) => [
      '-D',
      `${name}=${value}`,
    ]),
    ...inputs.flatMap((input) => ['-input', uriOf(input)]),
    '-output',
    uriOf(output),
    '-mapper',
    side('map'),
    '-reducer',
    side('reduce'),
  ];
  await runProgram(NAME, [...options.command, ...words], { signal: run.signal });
}

function settingsOf(
  { settings, isLocal, workers, memoryBytes }: HadoopOptions,
  { place }: Step,
): Readonly<Record<string, string>> {
  const local = {
    'mapreduce.framework.name': 'local',
    'fs.defaultFS': 'file:///',
    'hadoop.tmp.dir': join(place.work, 'hadoop'),
    'mapreduce.local.map.tasks.maximum': String(workers),
    'mapreduce.local.reduce.tasks.maximum': String(workers),
    'mapreduce.task.io.sort.mb': String(sortMebibytes({ memoryBytes, workers })),
    // Hadoop looks once a second whether a job has ended, and once in five whether it may go on.
    'mapreduce.client.progressmonitor.pollinterval': '100',
    'mapreduce.client.completion.pollinterval': '100',
  };
  return {
    'stream.reduce.output': 'keyonlytext',
    'textinputformat.record.delimiter': '\n',
    'mapreduce.job.reduces': String(workers),
    ...(isLocal ? local : {}),
    ...settings,
  };
}

/** Hadoop's default is 100, which is more than a split of a local file needs. */
function sortMebibytes({ memoryBytes, workers }: EngineSize): number {
  return Math.min(100, Math.max(1, Math.floor(memoryBytes / workers / 2 ** 20)));
}

/** Hadoop Streaming splits a command at spaces, and knows quotes, but no way to write one. */
function quoted(word: string): string {
  if (!word.includes('"')) return `"${word}"`;
  throw new MapReduceError('INVALID_ARGUMENT', `Hadoop Streaming cannot pass on a quote: ${word}`);
}
