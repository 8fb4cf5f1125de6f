/**
 * Finds what a local HBase is run with: Java (JAVA_HOME, or PATH), and the jars of HBase and HDFS,
 * which Maven fetches once.
 */
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { PercolatorError } from '../../../base/index.ts';
import type { Environment } from '../../guarded-process.ts';

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

/*
 * Class paths from Maven: it resolves programs for Java with all that they need, into its own
 * repository. The paths of the jars are kept in the cache folder of the user (XDG_CACHE_HOME, or
 * ~/.cache), so that a second use asks no network.
 */

/** What is resolved together. */
export interface Artifacts {
  /** With its version, in lower case and without spaces: the folder in the cache. */
  readonly name: string;
  /** Each as `group:artifact:version`. */
  readonly coordinates: readonly string[];
  /** `group:artifact` of what is left out, though an artifact names it. */
  readonly without: readonly string[];
  /** About what is fetched the first time. */
  readonly megabytes: number;
}

const GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath';
const FETCH_MINUTES_MAX = 15;

/** Undefined if these artifacts were never fetched together, or a jar is gone. */
export async function cachedClassPath(
  artifacts: Artifacts,
  environment: Environment,
): Promise<string | undefined> {
  const file = join(cacheFolder(artifacts.name, environment), 'classpath');
  const kept = await readFile(file, 'utf8').catch(() => '');
  const [pom, classPath] = kept.split('\n--\n');
  if (pom !== pomText(artifacts) || classPath === undefined) return undefined;
  const jars = await Promise.all(
    classPath.split(delimiter).map((jar) => stat(jar).catch(() => undefined)),
  );
  return jars.every((jar) => jar !== undefined) ? classPath : undefined;
}

/**
 * The cached class path, or one that Maven fetches, which takes minutes.
 * @param progress is told what takes long
 * @throws STORE_UNAVAILABLE if Maven is missing or fails; the message says why
 */
export async function classPathOf(
  artifacts: Artifacts,
  environment: Environment,
  progress: (line: string) => void,
): Promise<string> {
  const cached = await cachedClassPath(artifacts, environment);
  if (cached !== undefined) return cached;
  if (!(await hasMaven())) {
    throw new PercolatorError('STORE_UNAVAILABLE', 'Maven is needed, and there is no mvn on PATH');
  }
  progress(`Fetching ${artifacts.name} with Maven, once: about ${artifacts.megabytes} MB.`);
  const folder = cacheFolder(artifacts.name, environment);
  await mkdir(folder, { recursive: true });
  // Two processes may fetch at once, each in a folder of its own.
  const work = await mkdtemp(join(folder, 'fetching-'));
  try {
    const classPath = await fetchInto(work, artifacts);
    const kept = join(work, 'classpath');
    await writeFile(kept, `${pomText(artifacts)}\n--\n${classPath}`);
    await rename(kept, join(folder, 'classpath')); // So that no process reads half of it.
    return classPath;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function fetchInto(work: string, artifacts: Artifacts): Promise<string> {
  const [pom, fetched] = [join(work, 'pom.xml'), join(work, 'fetched')];
  await writeFile(pom, pomText(artifacts));
  const options = ['--batch-mode', '--quiet', '--file', pom, '-DincludeScope=runtime'];
  const { execa } = await import('execa');
  const words = [...options, GOAL, `-Dmdep.outputFile=${fetched}`];
  const { failed, timedOut, all } = await execa('mvn', words, {
    all: true,
    reject: false,
    timeout: FETCH_MINUTES_MAX * 60_000,
  });
  if (!failed) return (await readFile(fetched, 'utf8')).trim();
  const [said = 'it says nothing'] = /\[ERROR\].*/.exec(all) ?? [];
  const reason = timedOut ? `it has not ended in ${FETCH_MINUTES_MAX} minutes` : said;
  const message = `Maven could not fetch ${artifacts.name}: ${reason}`;
  throw new PercolatorError('STORE_UNAVAILABLE', message);
}

async function hasMaven(): Promise<boolean> {
  const { execa } = await import('execa');
  return !(await execa('mvn', ['--version'], { reject: false })).failed;
}

/** The folder of this name in the cache; it may not exist yet. */
export function cacheFolder(
  name: string,
  { XDG_CACHE_HOME: cache = '', HOME: home = '' }: Environment,
): string {
  // Not a relative path: Maven's plugin would look for it in the folder of its project.
  const parent = isAbsolute(cache) ? cache : join(isAbsolute(home) ? home : homedir(), '.cache');
  return join(parent, 'percolator-bench', name);
}

function pomText({ coordinates, without }: Artifacts): string {
  const excluded = without.map((one) => `<exclusion>${tags(one)}</exclusion>`).join('');
  const dependencies = coordinates.map(
    (one) => `
    <dependency>${tags(one)}<exclusions>${excluded}</exclusions></dependency>`,
  );
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>percolator-bench</groupId><artifactId>programs</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>${dependencies.join('')}
  </dependencies>
</project>`;
}

function tags(coordinates: string): string {
  const [group, artifact, version] = coordinates.split(':');
  const named = `<groupId>${group}</groupId><artifactId>${artifact}</artifactId>`;
  return version === undefined ? named : `${named}<version>${version}</version>`;
}
