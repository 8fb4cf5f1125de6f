/**
 * Finds what a local HBase is run with: Java, and the jars of HBase and HDFS.
 *
 *     java    JAVA_HOME, or PATH
 *     jars    fetched once by Maven, of the versions below; their paths are kept in the cache folder
 *             of the user (XDG_CACHE_HOME, or ~/.cache), the jars in Maven's own repository
 */
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { PercolatorError } from '../../../base/index.ts';

/** Environment variables, as of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Java {
  readonly program: string;
  /** What `-cp` is given, without the configuration. */
  readonly classpath: string;
}

const HBASE_VERSION = '2.6.4-hadoop3';
const HADOOP_VERSION = '3.4.2';
const LOG4J_VERSION = '2.17.2';
/** HBase 2.6 is tested with these. */
const JAVA_VERSION_MIN = 11;

const WITHOUT_OTHER_LOGGERS = `<exclusions>
        <exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId></exclusion>
        <exclusion><groupId>ch.qos.reload4j</groupId><artifactId>reload4j</artifactId></exclusion>
      </exclusions>`;

const DEPENDENCIES: readonly (readonly [group: string, artifact: string, version: string])[] = [
  ['org.apache.hbase', 'hbase-server', HBASE_VERSION],
  ['org.apache.hbase', 'hbase-zookeeper', HBASE_VERSION],
  ['org.apache.hadoop', 'hadoop-common', HADOOP_VERSION],
  ['org.apache.hadoop', 'hadoop-hdfs', HADOOP_VERSION],
  ['org.apache.hadoop', 'hadoop-hdfs-client', HADOOP_VERSION],
  ['org.apache.logging.log4j', 'log4j-slf4j-impl', LOG4J_VERSION],
  ['org.apache.logging.log4j', 'log4j-1.2-api', LOG4J_VERSION],
  ['io.dropwizard.metrics', 'metrics-core', '3.2.6'],
  ['org.xerial.snappy', 'snappy-java', '1.1.10.5'],
];

const FETCH_MS_MAX = 15 * 60_000;

/**
 * Why there can be no local HBase on this machine, in a sentence; undefined if there can be. Fetches
 * nothing.
 */
export async function whyNoHBase(environment: Environment): Promise<string | undefined> {
  const java = await javaVersion(environment);
  if (java === undefined || java < JAVA_VERSION_MIN) {
    const found = java === undefined ? 'there is no java on PATH' : `java is of version ${java}`;
    return `a local HBase needs Java ${JAVA_VERSION_MIN} or newer, and ${found}`;
  }
  if ((await cachedClasspath(environment)) !== undefined) return undefined;
  const hasMaven = await succeeds('mvn', ['--version']);
  return hasMaven
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
  const classpath = (await cachedClasspath(environment)) ?? (await fetch(environment, progress));
  return { program: javaOf(environment), classpath };
}

function javaOf({ JAVA_HOME: home }: { readonly [name: string]: string | undefined }): string {
  return home === undefined || home === '' ? 'java' : join(home, 'bin', 'java');
}

async function javaVersion(environment: Environment): Promise<number | undefined> {
  const { failed, all } = await execa(javaOf(environment), ['-version'], {
    all: true,
    reject: false,
  });
  const [, major] = /version "(\d+)/.exec(all) ?? [];
  return failed || major === undefined ? undefined : Number(major);
}

async function succeeds(program: string, given: readonly string[]): Promise<boolean> {
  const { failed } = await execa(program, given, { reject: false });
  return !failed;
}

/** Undefined if it was never fetched, or a jar is gone. */
async function cachedClasspath(environment: Environment): Promise<string | undefined> {
  const kept = await readFile(join(folderOf(environment), 'classpath'), 'utf8').catch(() => '');
  if (kept === '') return undefined;
  const [pom, classpath = ''] = kept.split('\n--\n');
  if (pom !== pomText()) return undefined;
  const jars = await Promise.all(
    classpath.split(':').map((jar) => stat(jar).catch(() => undefined)),
  );
  return jars.every((jar) => jar !== undefined) ? classpath : undefined;
}

async function fetch(environment: Environment, progress: (line: string) => void): Promise<string> {
  const folder = folderOf(environment);
  progress(`Fetching HBase ${HBASE_VERSION} with Maven, once: about 120 MB.`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'pom.xml'), pomText());
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath';
  const given = ['--batch-mode', '--quiet', '--file', join(folder, 'pom.xml'), goal];
  const file = join(folder, 'fetched');
  const { failed, all } = await execa('mvn', [...given, `-Dmdep.outputFile=${file}`], {
    all: true,
    reject: false,
    timeout: FETCH_MS_MAX,
  });
  if (failed) {
    const [reason = 'it says nothing'] = /\[ERROR\].*/.exec(all) ?? [];
    throw new PercolatorError('STORE_UNAVAILABLE', `Maven could not fetch HBase: ${reason}`);
  }
  const classpath = (await readFile(file, 'utf8')).trim();
  // Renamed, so that no process reads half of it.
  await writeFile(`${file}.whole`, `${pomText()}\n--\n${classpath}`);
  await rename(`${file}.whole`, join(folder, 'classpath'));
  return classpath;
}

function folderOf({ XDG_CACHE_HOME: cache, HOME: home = '.' }: Environment): string {
  const parent = cache === undefined || cache === '' ? join(home, '.cache') : cache;
  return join(parent, 'percolator-bench', `hbase-${HBASE_VERSION}`);
}

function pomText(): string {
  const dependencies = DEPENDENCIES.map(
    ([group, artifact, version]) => `
    <dependency>
      <groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
      ${WITHOUT_OTHER_LOGGERS}
    </dependency>`,
  );
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>percolator-bench</groupId>
  <artifactId>local-hbase</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>${dependencies.join('')}
  </dependencies>
</project>`;
}
