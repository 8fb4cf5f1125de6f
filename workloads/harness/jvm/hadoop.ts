/**
 * Hadoop Streaming: the user's (HADOOP_HOME), or one from Maven; on the cluster that a
 * configuration names (HADOOP_CONF_DIR), or in one process.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { type Artifacts, cachedClassPath, classPathOf, javaOf, javaVersion } from '#engine';
import type { HadoopOptions } from '#mapreduce';

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
