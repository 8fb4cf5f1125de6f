/** Hadoop Streaming: the user's, or one from Maven that runs in one process. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { type Artifacts, cachedClassPath, classPathOf, javaOf, javaVersion } from '#engine';
import type { HadoopOptions } from '#mapreduce';

const VERSION = '3.4.2';
const HADOOP: Artifacts = {
  name: `hadoop-streaming-${VERSION}`,
  coordinates: ['hadoop-streaming', 'hadoop-mapreduce-client-jobclient', 'hadoop-common'].map(
    (name) => `org.apache.hadoop:${name}:${VERSION}`,
  ),
  without: [],
  megabytes: 70,
};
const STREAMING = 'org.apache.hadoop.streaming.HadoopStreaming';
const FILE_SYSTEM = 'org.apache.hadoop.fs.FsShell';
const STREAMING_FOLDER = 'share/hadoop/tools/lib';
/** For Hadoop itself, besides what it sorts in memory. */
const JVM_MEBIBYTES = 512;
const MEBIBYTE = 1024 * 1024;

type HadoopCommand = Pick<HadoopOptions, 'command' | 'fileSystem' | 'isLocal'>;

/**
 * The Hadoop of this machine, or a sentence that says what is missing.
 * @param memoryBytes that Hadoop's own process may sort in, if it is one from Maven
 */
export async function findHadoop(memoryBytes: number): Promise<HadoopCommand | string> {
  const home = process.env['HADOOP_HOME'];
  if (home !== undefined && home !== '') return ofHome(home);
  if ((await javaVersion(process.env)) === undefined) {
    return 'Hadoop needs Java 11 or newer, and there is no java on PATH: install one, or set HADOOP_HOME.';
  }
  const classPath = await hadoopClassPath();
  if (classPath === undefined) {
    return 'Hadoop is missing: set HADOOP_HOME, or install Maven and run ./run.sh fetch.';
  }
  const heap = `-Xmx${Math.ceil(memoryBytes / MEBIBYTE) + JVM_MEBIBYTES}m`;
  const java = [javaOf(process.env), heap, '-cp', classPath];
  return { command: [...java, STREAMING], fileSystem: [...java, FILE_SYSTEM], isLocal: true };
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
  const jar = jars.find((name) => /^hadoop-streaming-[\d.]+\.jar$/.test(name));
  if (jar === undefined) {
    return `HADOOP_HOME must name a Hadoop with ${STREAMING_FOLDER}/hadoop-streaming-*.jar, but is "${home}".`;
  }
  const hadoop = path.join(home, 'bin/hadoop');
  const command = [hadoop, 'jar', path.join(folder, jar)];
  return { command, fileSystem: [hadoop, 'fs'], isLocal: false };
}
