/**
 * Finds what a local HBase is run with: Java (JAVA_HOME, or PATH), and the jars of HBase and HDFS,
 * which Maven fetches once.
 */
import { join } from 'node:path';
import { PercolatorError } from '../../../base/index.ts';
import {
  type Artifacts,
  cachedClassPath,
  classPathOf,
  type Environment,
  hasMaven,
} from './maven.ts';

export interface Java {
  readonly program: string;
  /** For `-cp`, without the folder of the configuration. */
  readonly classpath: string;
}

const HBASE_VERSION = '2.6.4-hadoop3';
const HADOOP_VERSION = '3.4.2';
const LOG4J_VERSION = '2.17.2';

const HBASE: Artifacts = {
  name: `hbase-${HBASE_VERSION}`,
  coordinates: [
    `org.apache.hbase:hbase-server:${HBASE_VERSION}`,
    `org.apache.hbase:hbase-zookeeper:${HBASE_VERSION}`,
    `org.apache.hadoop:hadoop-common:${HADOOP_VERSION}`,
    `org.apache.hadoop:hadoop-hdfs:${HADOOP_VERSION}`,
    `org.apache.hadoop:hadoop-hdfs-client:${HADOOP_VERSION}`,
    `org.apache.logging.log4j:log4j-slf4j-impl:${LOG4J_VERSION}`,
    `org.apache.logging.log4j:log4j-1.2-api:${LOG4J_VERSION}`,
    'io.dropwizard.metrics:metrics-core:3.2.6',
    'org.xerial.snappy:snappy-java:1.1.10.5',
  ],
  // With these, everything would be logged twice.
  without: ['org.slf4j:slf4j-reload4j', 'ch.qos.reload4j:reload4j'],
  megabytes: 120,
};

/** HBase 2.6 is tested with this version and with newer ones. */
const JAVA_VERSION_MIN = 11;

/**
 * Why there can be no local HBase on this machine, in a sentence; undefined if there can be.
 * Fetches nothing.
 */
export async function whyNoHBase(environment: Environment): Promise<string | undefined> {
  const java = await javaVersion(environment);
  if (java === undefined || java < JAVA_VERSION_MIN) {
    const found = java === undefined ? absenceOf(environment) : `java is of version ${java}`;
    return `a local HBase needs Java ${JAVA_VERSION_MIN} or newer, and ${found}`;
  }
  if ((await cachedClassPath(HBASE, environment)) !== undefined) return undefined;
  return (await hasMaven())
    ? undefined
    : 'a local HBase needs Maven to fetch it, and there is no mvn on PATH';
}

/**
 * @param progress is told what takes long
 * @throws STORE_UNAVAILABLE if something is missing; the message says what
 */
export async function findJava(
  environment: Environment,
  progress: (line: string) => void,
): Promise<Java> {
  const why = await whyNoHBase(environment);
  if (why !== undefined) {
    const advice = 'or name a running one: --store hbase://host:16000';
    throw new PercolatorError('STORE_UNAVAILABLE', `${why}; install it, ${advice}`);
  }
  const classpath = await classPathOf(HBASE, environment, progress);
  return { program: javaOf(environment), classpath };
}

/**
 * Fetches HBase with Maven, if it is not here. Without this call, the first start fetches it, which
 * takes minutes.
 * @throws STORE_UNAVAILABLE if something is missing; the message says what
 */
export async function fetchHBase(
  environment: Environment,
  progress: (line: string) => void,
): Promise<void> {
  await findJava(environment, progress);
}

function absenceOf(environment: Environment): string {
  const program = javaOf(environment);
  return program === 'java'
    ? 'there is no java on PATH'
    : `${program}, which JAVA_HOME names, does not run`;
}

/** The `java` of JAVA_HOME, or the one on PATH. */
export function javaOf({ JAVA_HOME: home }: Environment): string {
  return home === undefined || home === '' ? 'java' : join(home, 'bin', 'java');
}

/** The major version; undefined if there is no Java. */
export async function javaVersion(environment: Environment): Promise<number | undefined> {
  const { execa } = await import('execa');
  const { failed, all } = await execa(javaOf(environment), ['-version'], {
    all: true,
    reject: false,
  });
  const [, major] = /version "(?:1\.)?(\d+)/.exec(all) ?? []; // Java 8 and older say 1.8.
  return failed || major === undefined ? undefined : Number(major);
}
