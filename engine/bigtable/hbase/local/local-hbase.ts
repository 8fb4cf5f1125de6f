/**
 * A local HBase as child processes: for trying, tests and experiments in which servers die.
 *
 *     regionServers 0      one process: ZooKeeper, master and region server, files on the local disk.
 *                          Starts quickest; what it has promised is lost with the process
 *     regionServers n      ZooKeeper, NameNode, DataNodes (HDFS), a master and n region servers, each
 *                          a process that can be killed
 *
 * All processes end when this one ends, however it ends (guarded-process.ts). Then the folder
 * stays, and the next start removes it.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pid as ownPid } from 'node:process';
import { type Clock, PercolatorError, systemClock } from '../../../base/index.ts';
import { type GuardedProcess, startGuarded, stopGuarded } from '../../guarded-process.ts';
import { openHBase } from '../open-hbase.ts';
import { configure, confOf, findPorts, HOST, type Ports, type Shape } from './configuration.ts';
import { findJava, type Java } from './find-java.ts';
import type { Environment } from './maven.ts';

export interface LocalHBaseOptions {
  /** Where to look for the programs, as in `process.env`. */
  readonly environment: Environment;
  /** Default 3. 0: one process for all. Each takes 768 MB. */
  readonly regionServers?: number | undefined;
  /**
   * How long a server that is silent keeps its regions, in milliseconds. Default 6000. Shorter: a
   * pause of Java's garbage collection takes a server's regions away. At least 3000: below that,
   * reads are not safe (servers.ts).
   */
  readonly sessionTimeoutMs?: number | undefined;
  /** Compiles quickly rather than well: starts in half the time. Default false. */
  readonly startQuickly?: boolean | undefined;
  /** Is told what is started, where the logs are, and how much memory it may take. */
  readonly progress?: ((line: string) => void) | undefined;
  readonly clock?: Clock | undefined;
}

export interface LocalProcess {
  /** `zookeeper`, `name-node`, `data-node-1`, `master`, `region-server-1`, ... or `hbase` for all. */
  readonly name: string;
  readonly pid: number;
  readonly heapMb: number;
}

export interface LocalHBase extends AsyncDisposable {
  /** `host:port` of the master. */
  readonly servers: readonly string[];
  /** A store that is opened on it must know it (open-hbase.ts). */
  readonly sessionTimeoutMs: number;
  readonly logs: string;
  /** Those that run. */
  processes(): readonly LocalProcess[];
  /** Kills one process, as `kill -9` does; resolves when it is gone. */
  kill(name: string): Promise<void>;
  /** Stops one process where it is, as if its machine had hung, until `resume`. */
  pause(name: string): void;
  resume(name: string): void;
  /** Starts a process again that was killed or has ended; it joins the others in some seconds. */
  start(name: string): Promise<void>;
  /** Stops everything and deletes the data. Stopping twice is harmless. */
  stop(): Promise<void>;
}

const START_MS_MAX = 120_000;
const DATA_NODES_MAX = 3;
const PARENT = join(tmpdir(), 'percolator-hbase');
/** HBase's own list, for Java's newer versions. */
const OPENED = [
  'java.lang',
  'java.lang.reflect',
  'java.nio',
  'java.util',
  'java.util.concurrent',
  'jdk.internal.ref',
  'sun.nio.ch',
].map((name) => `java.base/${name}`);
const EXPORTED = ['java.base/jdk.internal.misc', 'java.security.jgss/sun.security.krb5'];
const JVM = [
  '-XX:+UseSerialGC',
  '-Djava.net.preferIPv4Stack=true',
  '-Dzookeeper.admin.enableServer=false',
  ...OPENED.flatMap((name) => ['--add-opens', `${name}=ALL-UNNAMED`]),
  ...EXPORTED.flatMap((name) => ['--add-exports', `${name}=ALL-UNNAMED`]),
];

interface Program {
  readonly name: string;
  readonly heapMb: number;
  readonly main: readonly string[];
}

interface Running {
  readonly program: Program;
  readonly process: GuardedProcess;
  readonly hasEnded: boolean;
}

/** @throws STORE_UNAVAILABLE if Java or HBase is missing, or does not start; says why */
export async function startHBase(options: LocalHBaseOptions): Promise<LocalHBase> {
  const { environment, regionServers = 3, progress = () => {}, clock = systemClock } = options;
  const java = await findJava(environment, progress);
  const folder = await makeFolder();
  const sessionTimeoutMs = options.sessionTimeoutMs ?? 6000;
  const dataNodes = Math.min(DATA_NODES_MAX, regionServers);
  const shape: Shape = { regionServers, dataNodes, sessionTimeoutMs };
  const ports = await findPorts(shape);
  await configure(folder, shape, ports);
  const extra = options.startQuickly === true ? ['-XX:TieredStopAtLevel=1'] : [];
  const cluster = new Cluster({ java, folder, shape, ports, clock, extra });
  try {
    await cluster.startAll(progress);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

interface ClusterOptions {
  readonly java: Java;
  readonly folder: string;
  readonly shape: Shape;
  readonly ports: Ports;
  readonly clock: Clock;
  /** Options for every JVM. */
  readonly extra: readonly string[];
}

class Cluster implements LocalHBase {
  readonly servers: readonly string[];
  readonly sessionTimeoutMs: number;
  readonly logs: string;
  readonly #options: ClusterOptions;
  #programs: readonly Program[] = [];
  readonly #running = new Map<string, Running>();
  #stopped: Promise<void> | undefined;

  constructor(options: ClusterOptions) {
    const { ports, folder, shape } = options;
    this.#options = options;
    this.sessionTimeoutMs = shape.sessionTimeoutMs;
    this.servers = [`${HOST}:${ports.master}`];
    this.logs = join(folder, 'logs');
  }

  async startAll(progress: (line: string) => void): Promise<void> {
    const { shape, ports } = this.#options;
    await mkdir(this.logs);
    this.#programs = this.#plan();
    const heapMb = this.#programs.reduce((sum, program) => sum + program.heapMb, 0);
    progress(
      `Starting HBase in ${this.#programs.length} processes, with up to ${heapMb} MB of heap in all; ` +
        `logs are in ${this.logs}.`,
    );
    if (shape.regionServers > 0) {
      await this.#format();
      await Promise.all([this.start('zookeeper'), this.start('name-node')]);
      // A master that finds no NameNode gives up.
      await this.#until('the NameNode listens', () => accepts(ports.nameNode));
    }
    const rest = this.#programs.filter(({ name }) => !this.#running.has(name));
    await Promise.all(rest.map(({ name }) => this.start(name)));
    await this.#until('the master answers', () => this.#answers());
  }

  processes(): readonly LocalProcess[] {
    return [...this.#running.values()].flatMap(({ program, process: { pid }, hasEnded }) => {
      const { name, heapMb } = program;
      return pid === undefined || hasEnded ? [] : [{ name, pid, heapMb }];
    });
  }

  async kill(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) return;
    this.#running.delete(name);
    await stopGuarded(running.process);
  }

  pause(name: string): void {
    this.#running.get(name)?.process.kill('SIGSTOP');
  }

  resume(name: string): void {
    this.#running.get(name)?.process.kill('SIGCONT');
  }

  async start(name: string): Promise<void> {
    const program = this.#programs.find((one) => one.name === name);
    if (program === undefined) {
      throw new PercolatorError('INVALID_ARGUMENT', `this HBase has no process ${name}`);
    }
    if (this.#running.get(name)?.hasEnded === false) return;
    const process = this.#launch(program, join(this.logs, `${name}.log`));
    const running = { program, process, hasEnded: false };
    void process.then(() => {
      running.hasEnded = true;
    });
    this.#running.set(name, running);
  }

  async stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    await this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** What it stored goes with it, so nothing is shut down in good order. */
  async #stopAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.kill(name)));
    await rm(this.#options.folder, { recursive: true, force: true });
  }

  #plan(): readonly Program[] {
    const { folder, shape, ports } = this.#options;
    const hbase = 'org.apache.hadoop.hbase';
    const hdfs = 'org.apache.hadoop.hdfs.server';
    const master = [`${hbase}.master.HMaster`, 'start'];
    if (shape.regionServers === 0) return [{ name: 'hbase', heapMb: 512, main: master }];
    const dataNodes = numbered('data-node', shape.dataNodes).map((name) => {
      const own = `dfs.datanode.data.dir=${join(folder, name)}`;
      return { name, heapMb: 256, main: [`${hdfs}.datanode.DataNode`, '-D', own] };
    });
    const regionServers = numbered('region-server', shape.regionServers).map((name, i) => {
      const own = `hbase.regionserver.port=${ports.regionServers[i]}`;
      const main = [`${hbase}.regionserver.HRegionServer`, '-D', own, 'start'];
      return { name, heapMb: 768, main };
    });
    return [
      { name: 'zookeeper', heapMb: 128, main: [`${hbase}.zookeeper.HQuorumPeer`] },
      { name: 'name-node', heapMb: 256, main: [`${hdfs}.namenode.NameNode`] },
      ...dataNodes,
      { name: 'master', heapMb: 384, main: master },
      ...regionServers,
    ];
  }

  async #format(): Promise<void> {
    const main = ['org.apache.hadoop.hdfs.server.namenode.NameNode', '-format', '-nonInteractive'];
    const log = join(this.logs, 'format.log');
    const process = this.#launch({ name: 'format', heapMb: 128, main }, log);
    const { exitCode } = await process;
    if (exitCode !== 0) throw await notStarted('HDFS could not be formatted', log);
  }

  #launch({ heapMb, main }: Program, log: string): GuardedProcess {
    const { java, folder, extra } = this.#options;
    const classpath = `${confOf(folder)}:${java.classpath}`;
    const given = [`-Xmx${heapMb}m`, ...JVM, ...extra, '-cp', classpath, ...main];
    return startGuarded([java.program, ...given], log);
  }

  async #answers(): Promise<boolean> {
    try {
      await using store = await openHBase({ servers: this.servers, timeoutMs: 1000 });
      await store.listTables();
      return true;
    } catch {
      return false;
    }
  }

  async #until(what: string, isReached: () => Promise<boolean>): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + START_MS_MAX;
    while (!(await isReached())) {
      const ended = [...this.#running.values()].find(({ hasEnded }) => hasEnded);
      const name = ended?.program.name ?? (this.#running.has('master') ? 'master' : 'hbase');
      const log = join(this.logs, `${name}.log`);
      if (ended !== undefined) throw await notStarted(`its process ${name} has ended`, log);
      if (clock.monotonicMs() > endMs) {
        throw await notStarted(`not so far that ${what}, in ${START_MS_MAX / 1000} s`, log);
      }
      await clock.sleep(100);
    }
  }
}

function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
}

async function notStarted(reason: string, log: string): Promise<PercolatorError> {
  const text = await readFile(log, 'utf8').catch(() => '');
  const complaint = text.split('\n').findLast((line) => /Exception|Error|ERROR|FATAL/.test(line));
  const said = complaint === undefined ? '' : `: ${complaint.trim().slice(0, 300)}`;
  return new PercolatorError('STORE_UNAVAILABLE', `HBase did not start, ${reason}${said} (${log})`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST);
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
  });
}

/** A folder of our own, after removing those of processes that are gone. */
async function makeFolder(): Promise<string> {
  await mkdir(PARENT, { recursive: true });
  for (const name of await readdir(PARENT)) {
    const folder = join(PARENT, name);
    const owner = await readFile(join(folder, 'owner'), 'utf8').catch(() => '');
    const [pid = ''] = owner.split(' ', 1);
    if (owner === '' || owner === (await describeProcess(pid))) continue;
    await rm(folder, { recursive: true, force: true });
  }
  const folder = await mkdtemp(join(PARENT, 'run-'));
  await writeFile(join(folder, 'owner'), await describeProcess(String(ownPid)));
  return folder;
}

/** With its start, since numbers of processes are used again. */
async function describeProcess(number: string): Promise<string> {
  const { execa } = await import('execa');
  const { stdout } = await execa('ps', ['-o', 'lstart=', '-p', number], { reject: false });
  return `${number} ${stdout.trim()}`;
}
