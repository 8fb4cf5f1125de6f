/**
 * Chains by Hadoop Streaming: one Hadoop job for each job of the chain.
 *
 *     one process     no cluster is configured: Hadoop runs in one process, from and to files of
 *                     this machine
 *     shared files    a cluster whose file system is a folder that all nodes have: this repository
 *                     must be in it too, and is used from there
 *     a cluster       with a file system of its own, such as HDFS (hadoop-cluster.ts): inputs of this
 *                     machine and the program are put there, and the output is fetched
 *
 * An input or output that is named by a URI is read or written in place. Whether such an output
 * appears whole, and survives a crash, is up to the cluster.
 *
 * Two settings decide whether the result is right. `stream.reduce.output=keyonlytext` keeps Hadoop
 * from adding a tab to lines without one. `textinputformat.record.delimiter` makes a line of the
 * input end at a newline alone. In what a program writes, Hadoop also ends lines at carriage
 * returns: the mapper escapes them (output.ts), and the reducer refuses to emit any.
 *
 * `combine` is not used: Hadoop reads a combiner's output as it reads the reducer's, keys alone,
 * and would lose the values.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { MapReduceError } from '../job.ts';
import { isUri } from '../input.ts';
import {
  type ChainEngine,
  type EngineSize,
  outsideEngine,
  runProgram,
  streamingCommand,
  type Workplace,
} from './engine.ts';
import {
  fetchParts,
  fileSystemOf,
  type HadoopAccess,
  type HadoopWork,
  killJobs,
  NAME,
  removeFolder,
  settingWords,
  stage,
  type Staged,
} from './hadoop-cluster.ts';
import { inputOf, literalInput, moveParts, plainPath, uriOf, wholeFiles } from './whole-files.ts';

/** A folder of the cluster's to which each user may write. */
const SHARED_FOLDER = '/tmp';

export interface HadoopOptions extends EngineSize, HadoopAccess {
  /** Starts Hadoop Streaming; the words of the job are appended. */
  readonly command: readonly string[];
  /** Whether Hadoop runs the job in its own process; otherwise its configuration decides. */
  readonly isLocal: boolean;
}

export function hadoopEngine(options: HadoopOptions): ChainEngine {
  let clusterFileSystem: Promise<string | undefined> | undefined;
  return outsideEngine(NAME, async (run, inputs, given) => {
    await using plain = options.isLocal ? await plainPath(given.work) : undefined;
    const place = { ...given, work: plain?.path ?? given.work };
    const work = { run, files: await wholeFiles(inputs, place.work, NAME), place };
    if (!options.isLocal) clusterFileSystem ??= fileSystemOf(options);
    const fileSystem = await clusterFileSystem?.catch((error: unknown) => {
      clusterFileSystem = undefined; // The next run asks again.
      throw error;
    });
    if (fileSystem === undefined && !isUri(place.output)) await runOnFiles(options, work);
    else await runOnCluster(options, fileSystem, work);
  });
}

/** Tasks find this machine's files under the same paths. */
function onFiles({ run, files }: HadoopWork): Staged {
  return {
    command: (side, parameters) => streamingCommand(side, run.chain.url, parameters),
    archives: [],
    inputs: files.map(inputOf),
  };
}

async function runOnFiles(options: HadoopOptions, work: HadoopWork): Promise<void> {
  const { run, place } = work;
  const after = (job: number): string => join(place.work, `after-${job}`);
  await runJobs(options, work, { staged: onFiles(work), outputOf: (job) => uriOf(after(job)) });
  await moveParts(after(run.chain.parameters.length), place.output);
}

/**
 * Temporary files are in a folder of the cluster's file system whose name no other run has: next to
 * the output if that is a URI, otherwise in /tmp.
 * @param fileSystem of the cluster; undefined if it shares this machine's
 */
async function runOnCluster(
  options: HadoopOptions,
  fileSystem: string | undefined,
  work: HadoopWork,
): Promise<void> {
  const { run, place } = work;
  const { length } = run.chain.parameters;
  const isFetched = !isUri(place.output);
  // After a slash, the folder would be in the output, which Hadoop itself must create.
  const given = place.output.replace(/\/+$/u, '');
  const near = isFetched ? `${fileSystem}${SHARED_FOLDER}/mapreduce` : given;
  const folder = `${near}.unfinished-${randomUUID()}`;
  const output = isFetched ? `${folder}/output` : given;
  const outputOf = (job: number): string => (job === length ? output : `${folder}/after-${job}`);
  try {
    const staged =
      fileSystem === undefined ? onFiles(work) : await stage(options, { ...work, folder });
    await runJobs(options, work, { staged, outputOf });
    if (isFetched) await fetchParts(options, output, work);
  } catch (error) {
    // Why the jobs failed says more than why their folder could not be removed.
    await removeFolder(options, folder).catch(() => {});
    throw error;
  }
  await removeFolder(options, folder);
}

interface Jobs {
  readonly staged: Staged;
  /** The place for the output of a job, as a URI; the first job is 1. */
  readonly outputOf: (job: number) => string;
}

async function runJobs(
  options: HadoopOptions,
  { run, place }: HadoopWork,
  { staged, outputOf }: Jobs,
): Promise<void> {
  const { command, archives } = staged;
  let { inputs } = staged;
  for (const [i, parameters] of run.chain.parameters.entries()) {
    const output = outputOf(i + 1);
    const words = [
      ...settingWords(settingsOf(options, place)),
      ...archives.flatMap((archive) => ['-archives', archive]),
      '-cmdenv',
      'PERCOLATOR_LINES_END_AT_RETURNS=1',
      ...inputs.flatMap((input) => ['-input', input]),
      '-output',
      output,
      '-mapper',
      command('map', parameters).map(quoted).join(' '),
      '-reducer',
      command('reduce', parameters).map(quoted).join(' '),
    ];
    await runProgram(NAME, [...options.command, ...words], {
      signal: run.signal,
      stopped: (said) => killJobs(options, said),
    });
    inputs = [literalInput(output)];
  }
}

function settingsOf(
  { settings, isLocal, workers, memoryBytes }: HadoopOptions,
  { work }: Workplace,
): Readonly<Record<string, string>> {
  const local = {
    'mapreduce.framework.name': 'local',
    'fs.defaultFS': 'file:///',
    'hadoop.tmp.dir': join(work, 'hadoop'),
    'mapreduce.local.map.tasks.maximum': String(workers),
    'mapreduce.local.reduce.tasks.maximum': String(workers),
    'mapreduce.task.io.sort.mb': String(sortMebibytes({ memoryBytes, workers })),
    // By default, Hadoop's client reports progress every second, and looks every five seconds
    // whether the job has ended.
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

/** The sort buffer of one task: its share of the memory, but at most Hadoop's default of 100. */
function sortMebibytes({ memoryBytes, workers }: EngineSize): number {
  return Math.min(100, Math.max(1, Math.floor(memoryBytes / workers / 2 ** 20)));
}

/** Hadoop Streaming splits a command at spaces outside of quotes, and has no escapes. */
function quoted(word: string): string {
  if (!word.includes('"')) return `"${word}"`;
  throw new MapReduceError('INVALID_ARGUMENT', `Hadoop Streaming cannot pass on a quote: ${word}`);
}
