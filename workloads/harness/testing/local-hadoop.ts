/**
 * A Hadoop cluster on this machine for tests: HDFS (a NameNode, a DataNode) and YARN (a
 * ResourceManager, a NodeManager), each a process of its own with a small memory.
 *
 * All processes end when this one ends, however it ends. The NodeManager starts the processes of
 * jobs in sessions of their own, and they would outlive it by minutes if it were killed; so it is
 * told to end, and ends them.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { javaOf, javaVersion, systemClock } from '#engine';
import {
  confOf,
  dataNodes,
  freePorts,
  hdfsProperties,
  HOST,
  JavaProcesses,
  startNameNode,
  writeSite,
} from '#engine/testing';
import { hadoopClassPath } from '../batch-engines.ts';

export interface LocalHadoop extends AsyncDisposable {
  /** For HADOOP_CONF_DIR. */
  readonly configuration: string;
  /** `hdfs://host:port` */
  readonly fileSystem: string;
  /** The folders in which tasks run are in it. */
  readonly folder: string;
  /** Resolves when all its processes are gone. */
  stop(): Promise<void>;
}

const YARN = 'org.apache.hadoop.yarn.server';
const RESOURCE_MANAGER = {
  name: 'resource-manager',
  heapMb: 256,
  main: [`${YARN}.resourcemanager.ResourceManager`],
};
const NODE_MANAGER = {
  name: 'node-manager',
  heapMb: 256,
  main: [`${YARN}.nodemanager.NodeManager`],
  graceSeconds: 20,
};
/** Like JAVA_TOOL_OPTIONS of `./run.sh test`, which YARN does not pass on; and a small heap. */
const TASK_JVM =
  '-Xmx192m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 ' +
  '-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote';
const TASK_MEBIBYTES = 384;

interface Ports {
  readonly nameNode: number;
  /** For node managers, clients, masters of applications, operators and browsers, in this order. */
  readonly resourceManager: readonly number[];
}

/** Why there can be no cluster here, in a sentence; undefined if there can be. */
export async function whyNoHadoopCluster(): Promise<string | undefined> {
  if ((await javaVersion(process.env)) === undefined) {
    return 'No java runs from JAVA_HOME, or PATH if that is not set.';
  }
  if ((await hadoopClassPath()) === undefined) return 'Hadoop is missing: ./run.sh fetch';
  return undefined;
}

export async function startHadoop(): Promise<LocalHadoop> {
  const classpath = (await hadoopClassPath()) ?? '';
  const java = { program: javaOf(process.env), classpath };
  const processes = await JavaProcesses.prepare({
    cluster: 'Hadoop',
    java,
    clock: systemClock,
  });
  const [nameNode = 0, ...resourceManager] = await freePorts(6);
  try {
    await configure(processes.folder, classpath, { nameNode, resourceManager });
    await startAll(processes, nameNode);
  } catch (error) {
    await processes.stop();
    throw error;
  }
  const stop = async (): Promise<void> => {
    await processes.end(NODE_MANAGER.name);
    await processes.stop();
  };
  return {
    configuration: confOf(processes.folder),
    fileSystem: `hdfs://${HOST}:${nameNode}`,
    folder: processes.folder,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function startAll(processes: JavaProcesses, nameNodePort: number): Promise<void> {
  processes.start(RESOURCE_MANAGER);
  processes.start(NODE_MANAGER);
  await startNameNode(processes, { port: nameNodePort });
  for (const program of dataNodes(processes.folder, 1)) processes.start(program);
}

async function configure(folder: string, classpath: string, ports: Ports): Promise<void> {
  const configuration = confOf(folder);
  await mkdir(configuration, { recursive: true });
  await writeFile(path.join(configuration, 'log4j.properties'), LOGGING);
  await writeSite(configuration, 'core-site.xml', {
    'fs.defaultFS': `hdfs://${HOST}:${ports.nameNode}`,
    'hadoop.tmp.dir': path.join(folder, 'tmp'),
  });
  await writeSite(configuration, 'hdfs-site.xml', hdfsProperties(folder, 1));
  await writeSite(configuration, 'mapred-site.xml', mapReduceProperties(classpath));
  await writeSite(configuration, 'yarn-site.xml', {
    ...resourceManagerProperties(ports),
    ...(await nodeManagerProperties(folder)),
    'yarn.application.classpath': classpath.replaceAll(path.delimiter, ','),
  });
}

function mapReduceProperties(
  classpath: string,
): Readonly<Record<string, string | number | boolean>> {
  return {
    'mapreduce.framework.name': 'yarn',
    // The tasks of a small job run in the container of its master: one Java less for each.
    'mapreduce.job.ubertask.enable': true,
    'mapreduce.application.classpath': classpath.replaceAll(path.delimiter, ','),
    'mapreduce.shuffle.port': 0,
    'yarn.app.mapreduce.am.resource.mb': TASK_MEBIBYTES,
    'yarn.app.mapreduce.am.command-opts': TASK_JVM,
    'yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms': 250,
    'mapreduce.map.memory.mb': TASK_MEBIBYTES,
    'mapreduce.reduce.memory.mb': TASK_MEBIBYTES,
    'mapred.child.java.opts': TASK_JVM,
    'mapreduce.task.io.sort.mb': 16,
    'mapreduce.map.maxattempts': 1,
    'mapreduce.reduce.maxattempts': 1,
  };
}

function resourceManagerProperties({ resourceManager }: Ports): Readonly<Record<string, string>> {
  const names = ['resource-tracker.', '', 'scheduler.', 'admin.', 'webapp.'];
  const addresses = names.map((name, i) => [
    `yarn.resourcemanager.${name}address`,
    `${HOST}:${resourceManager[i]}`,
  ]);
  return {
    ...Object.fromEntries(addresses),
    'yarn.resourcemanager.scheduler.class': `${YARN}.resourcemanager.scheduler.fifo.FifoScheduler`,
    'yarn.resourcemanager.nodemanagers.heartbeat-interval-ms': '250',
    'yarn.resourcemanager.connect.max-wait.ms': '5000',
    'yarn.resourcemanager.connect.retry-interval.ms': '500',
  };
}

async function nodeManagerProperties(
  folder: string,
): Promise<Readonly<Record<string, string | number | boolean>>> {
  return {
    'yarn.nodemanager.hostname': HOST,
    'yarn.nodemanager.address': `${HOST}:0`,
    'yarn.nodemanager.localizer.address': `${HOST}:0`,
    'yarn.nodemanager.webapp.address': `${HOST}:0`,
    'yarn.nodemanager.local-dirs': path.join(folder, 'node-manager'),
    'yarn.nodemanager.log-dirs': path.join(folder, 'logs', 'tasks'),
    'yarn.nodemanager.aux-services': 'mapreduce_shuffle',
    'yarn.nodemanager.admin-env': `JAVA_HOME=${await javaHome()}`,
    'yarn.nodemanager.resource.memory-mb': 4 * TASK_MEBIBYTES,
    'yarn.nodemanager.vmem-check-enabled': false,
    'yarn.nodemanager.disk-health-checker.enable': false,
    'yarn.scheduler.minimum-allocation-mb': TASK_MEBIBYTES,
  };
}

async function javaHome(): Promise<string> {
  const { all } = await execa(javaOf(process.env), ['-XshowSettings:properties', '-version'], {
    all: true,
  });
  return /java\.home = (.*)/.exec(all)?.[1]?.trim() ?? '';
}

const LOGGING = `log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p [%t] %c{2}: %m%n
`;
