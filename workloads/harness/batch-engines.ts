/**
 * The engines that run a chain of MapReduces: ours, GNU sort, and those found on this machine:
 *
 *     Hadoop Streaming   the user's (HADOOP_HOME), or one from Maven; on the cluster that a
 *                        configuration names (HADOOP_CONF_DIR), or in one process
 *     Spark              `spark-submit` on PATH, or a Python with pyspark
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Artifacts, cachedClassPath, classPathOf, javaOf, javaVersion } from '#engine';
import {
  type ChainEngine,
  type EngineSize,
  hadoopEngine,
  type HadoopOptions,
  localEngine,
  sortEngine,
  sparkEngine,
  whyNoGnuSort,
} from '#mapreduce';
import { UsageError } from '#results';
import { cpuSecondsOf } from './processes/processor-time.ts';

export const BATCH_ENGINES = ['local', 'sort', 'hadoop', 'spark'] as const;
export type BatchEngineName = (typeof BATCH_ENGINES)[number];

export interface BatchEngine extends ChainEngine {
  /**
   * Whether the engine may work in processes that this process has not started, such as those of a
   * cluster.
   */
  readonly mayWorkElsewhere?: boolean;
}

export interface BatchEngineOptions extends EngineSize {
  /** Settings of Hadoop or Spark. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** @throws UsageError if the engine is not on this machine; the sentence says what is missing */
export async function openBatchEngine(
  name: BatchEngineName,
  options: BatchEngineOptions,
): Promise<BatchEngine> {
  const engine = await findBatchEngine(name, options);
  if (typeof engine === 'string') throw new UsageError(engine);
  return engine;
}

/** The engine, or a sentence that says what is missing. */
export async function findBatchEngine(
  name: BatchEngineName,
  { settings = {}, ...size }: BatchEngineOptions,
): Promise<BatchEngine | string> {
  if (name === 'local') return localEngine(size);
  if (name === 'sort') return (await whyNoGnuSort()) ?? sortEngine(size);
  if (name === 'hadoop') {
    const hadoop = await findHadoop(size.memoryBytes);
    if (typeof hadoop === 'string') return hadoop;
    const engine = hadoopEngine({ ...hadoop, ...size, settings });
    return { ...engine, mayWorkElsewhere: !hadoop.isLocal };
  }
  const command = await findSpark();
  if (typeof command === 'string') return command;
  const engine = sparkEngine({ command, ...size, settings });
  return { ...engine, mayWorkElsewhere: !isSparkLocal(settings) };
}

/**
 * CPU seconds so far of this process and all its descendants, the engine's among them; null if the
 * engine may work elsewhere, or the system does not report them.
 * @param serverPids descendants that do not work for the engine, and do not count
 */
export function batchCpuSeconds(
  { mayWorkElsewhere = false }: BatchEngine,
  serverPids: readonly number[] = [],
): number | null {
  if (mayWorkElsewhere) return null;
  const [all, servers] = [cpuSecondsOf([process.pid]), cpuSecondsOf(serverPids)];
  return all === null || servers === null ? null : all - servers;
}

const VERSION = '3.4.2';
const HADOOP: Artifacts = {
  name: `hadoop-${VERSION}`,
  coordinates: [
    `org.apache.hadoop:hadoop-streaming:${VERSION}`,
    `org.apache.hadoop:hadoop-mapreduce-client-jobclient:${VERSION}`,
    `org.apache.hadoop:hadoop-common:${VERSION}`,
    // The rest is for a cluster on this machine (testing/local-hadoop.ts).
    `org.apache.hadoop:hadoop-mapreduce-client-app:${VERSION}`,
    `org.apache.hadoop:hadoop-hdfs:${VERSION}`,
    `org.apache.hadoop:hadoop-yarn-server-resourcemanager:${VERSION}`,
    `org.apache.hadoop:hadoop-yarn-server-nodemanager:${VERSION}`,
    `org.apache.hadoop:hadoop-yarn-server-timelineservice:${VERSION}`,
    'org.bouncycastle:bcpkix-jdk18on:1.78.1',
  ],
  without: [],
  megabytes: 95,
};
const STREAMING = 'org.apache.hadoop.streaming.HadoopStreaming';
const STREAMING_FOLDER = 'share/hadoop/tools/lib';
/** Its version may be a vendor's, such as 3.3.6-amzn-3. Sources and tests may have jars, too. */
const STREAMING_JAR = /^hadoop-streaming-\d(?!.*-(?:sources|tests|javadoc)\.jar$).*\.jar$/;
/** For Hadoop itself, besides what it sorts in memory. */
const JVM_MEBIBYTES = 512;
const MEBIBYTE = 1024 * 1024;

type HadoopCommand = Pick<HadoopOptions, 'command' | 'program' | 'isLocal'>;

/**
 * The Hadoop of this machine, or a sentence that says what is missing.
 * @param memoryBytes that Hadoop's own process may sort in, if it is one from Maven
 */
export async function findHadoop(memoryBytes: number): Promise<HadoopCommand | string> {
  const home = hadoopHome();
  if (home !== undefined) return ofHome(home);
  if ((await javaVersion(process.env)) === undefined) {
    return 'Hadoop needs Java 11 or newer, and none runs from JAVA_HOME, or PATH if that is not set: install one, or set HADOOP_HOME.';
  }
  const classPath = await hadoopClassPath();
  if (classPath === undefined) {
    return 'Hadoop is missing: set HADOOP_HOME, or install Maven and run ./run.sh fetch.';
  }
  const java = [javaOf(process.env), '-XX:+UseSerialGC'];
  const configuration = clusterConfiguration();
  if (configuration === undefined) {
    const heap = `-Xmx${Math.ceil(memoryBytes / MEBIBYTE) + JVM_MEBIBYTES}m`;
    const program = [...java, heap, '-cp', classPath];
    return { command: [...program, STREAMING], program, isLocal: true };
  }
  if (!existsSync(path.join(configuration, 'core-site.xml'))) {
    return `HADOOP_CONF_DIR must name a folder with core-site.xml, but is "${configuration}".`;
  }
  // This Java only submits jobs and copies files.
  const given = ['-XX:TieredStopAtLevel=1', `-Xmx${JVM_MEBIBYTES}m`];
  const program = [...java, ...given, '-cp', `${configuration}${path.delimiter}${classPath}`];
  return { command: [...program, STREAMING], program, isLocal: false };
}

/** The folder of a cluster's configuration, if the user names one. */
function clusterConfiguration(): string | undefined {
  const folder = process.env['HADOOP_CONF_DIR'];
  return folder === '' ? undefined : folder;
}

/** Whether Hadoop, if it is here, may know other files than this machine's. */
export function isHadoopConfigured(): boolean {
  return hadoopHome() !== undefined || clusterConfiguration() !== undefined;
}

function hadoopHome(): string | undefined {
  const home = process.env['HADOOP_HOME'];
  return home === '' ? undefined : home;
}

/** The class path of Hadoop, if it was brought from Maven. */
export function hadoopClassPath(): Promise<string | undefined> {
  return cachedClassPath(HADOOP, process.env);
}

/**
 * Brings Hadoop from Maven.
 * @param progress is told what takes long
 * @throws STORE_UNAVAILABLE if Maven is missing or fails; the message says why
 */
export async function fetchHadoop(progress: (line: string) => void): Promise<void> {
  await classPathOf(HADOOP, process.env, progress);
}

function ofHome(home: string): HadoopCommand | string {
  const folder = path.join(home, STREAMING_FOLDER);
  const jars = existsSync(folder) ? readdirSync(folder) : [];
  const jar = jars.find((name) => STREAMING_JAR.test(name));
  if (jar === undefined) {
    return `HADOOP_HOME must name a Hadoop with ${STREAMING_FOLDER}/hadoop-streaming-*.jar, but is "${home}".`;
  }
  const hadoop = path.join(home, 'bin/hadoop');
  const command = [hadoop, 'jar', path.join(folder, jar)];
  return { command, program: [hadoop], isLocal: false };
}

/** Where packages of vendors keep the configuration. */
const PACKAGED_CONFIGURATION = '/etc/spark/conf';

/** The command that runs a script of Spark's here, or a sentence that says what is missing. */
export async function findSpark(): Promise<readonly string[] | string> {
  if ((await javaVersion(process.env)) === undefined) {
    return 'Spark needs Java 17 or newer, and none runs from JAVA_HOME, or PATH if that is not set: install one.';
  }
  if (await runs('spark-submit', ['--version'])) return ['spark-submit'];
  const python = variable('PYSPARK_DRIVER_PYTHON') ?? 'python3';
  if (await runs(python, ['-c', 'import pyspark'])) return [python];
  return 'Spark is missing: put spark-submit on PATH, or install the Python package pyspark.';
}

/**
 * Whether Spark runs on this machine: the settings, its spark-defaults.conf and MASTER name no
 * master, or the first of them that does (Spark's own order) names a local one.
 */
function isSparkLocal(settings: Readonly<Record<string, string>>): boolean {
  const master = settings['spark.master'] ?? defaultMaster() ?? variable('MASTER');
  return master === undefined || master.startsWith('local');
}

function defaultMaster(): string | undefined {
  const files = configurationFolders().map((folder) => path.join(folder, 'spark-defaults.conf'));
  const file = files.find((name) => existsSync(name));
  if (file === undefined) return undefined;
  return /^\s*spark\.master(?:\s*[=:]\s*|\s+)(\S+)/m.exec(readFileSync(file, 'utf8'))?.[1];
}

/** Where Spark may look for its configuration; the first folder that has one counts. */
function configurationFolders(): readonly string[] {
  const named = variable('SPARK_CONF_DIR');
  if (named !== undefined) return [named];
  const home = variable('SPARK_HOME');
  if (home !== undefined) return [path.join(home, 'conf')];
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const bin = folders.find((folder) => existsSync(path.join(folder, 'spark-submit')));
  return [...(bin === undefined ? [] : [path.join(bin, '../conf')]), PACKAGED_CONFIGURATION];
}

/** Undefined also for a variable that is set to nothing. */
function variable(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

async function runs(program: string, words: readonly string[]): Promise<boolean> {
  const { execa } = await import('execa');
  return !(await execa(program, words, { reject: false, stdin: 'ignore' })).failed;
}
