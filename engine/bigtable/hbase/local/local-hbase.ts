/**
 * A local HBase as child processes: for trying, tests and experiments in which servers die.
 *
 *     regionServers 0      one process: ZooKeeper, master and region server, files on the local disk.
 *                          Starts quickest; what it has promised is lost with the process
 *     regionServers n      ZooKeeper, NameNode, DataNodes (HDFS), a master and n region servers, each
 *                          a process that can be killed
 *
 * java-processes.ts says how they end.
 */
import { type Clock, PercolatorError, systemClock } from '../../../base/index.ts';
import { openHBase } from '../open-hbase.ts';
import {
  configure,
  dataNodes,
  findPorts,
  LOOPBACK,
  nameNodeProgram,
  numbered,
  type Place,
  type Ports,
  type Realm,
  type Shape,
  startNameNode,
} from './configuration.ts';
import type { Environment } from '../../guarded-process.ts';
import { findJava } from './find-java.ts';
import { JavaProcesses, type JavaProgram, type LocalProcess } from './java-processes.ts';

export interface LocalHBaseOptions {
  /** Where to look for the programs, as in `process.env`. */
  readonly environment: Environment;
  /** Default 3; each has 768 MB of heap. 0: one process does everything, with 512 MB. */
  readonly regionServers?: number | undefined;
  /**
   * How long a server that is silent keeps its regions, in milliseconds. Default 6000. Shorter: a
   * pause of Java's garbage collection takes a server's regions away. At least 3000: below that,
   * reads are not safe (servers.ts).
   */
  readonly sessionTimeoutMs?: number | undefined;
  /**
   * Where each process runs, by its name. Default: where this process does, on the loopback. With
   * hosts of its own, HDFS gives a host that is silent up within seconds.
   */
  readonly placeOf?: ((name: string) => Place) | undefined;
  /** Demands Kerberos. Only with 0 region servers. This process needs a ticket, too. */
  readonly realm?: Realm | undefined;
  /** Is told what is started, where the logs are, and how much memory it may take. */
  readonly progress?: ((line: string) => void) | undefined;
  readonly clock?: Clock | undefined;
}

export interface LocalHBase extends AsyncDisposable {
  /** `host:port` of the master. */
  readonly servers: readonly string[];
  /** In milliseconds; `openHBase` must be given the same (open-hbase.ts). */
  readonly sessionTimeoutMs: number;
  readonly logs: string;
  /** The processes that run now. */
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

const DATA_NODES_MAX = 3;

/** @throws STORE_UNAVAILABLE if Java or HBase is missing, or does not start; says why */
export async function startHBase(options: LocalHBaseOptions): Promise<LocalHBase> {
  const { environment, regionServers = 3, progress = () => {}, clock = systemClock } = options;
  const { realm } = options;
  if (realm !== undefined && regionServers > 0) {
    throw new PercolatorError('INVALID_ARGUMENT', 'an HBase with a realm has 0 region servers');
  }
  const java = await findJava(environment, progress);
  const processes = await JavaProcesses.prepare({
    cluster: 'HBase',
    java,
    clock,
    settings: realm && [`-Djava.security.krb5.conf=${realm.configuration}`],
  });
  const sessionTimeoutMs = options.sessionTimeoutMs ?? 6000;
  const shape: Shape = {
    placeOf: options.placeOf ?? (() => LOOPBACK),
    isCut: options.placeOf !== undefined,
    regionServers,
    dataNodes: Math.min(DATA_NODES_MAX, regionServers),
    sessionTimeoutMs,
    realm,
  };
  try {
    const ports = await findPorts(shape);
    await configure(processes.folder, shape, ports);
    const cluster = new Cluster(processes, shape, ports);
    await cluster.startAll(progress);
    return cluster;
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

class Cluster implements LocalHBase {
  readonly servers: readonly string[];
  readonly sessionTimeoutMs: number;
  readonly logs: string;
  readonly #processes: JavaProcesses;
  readonly #shape: Shape;
  readonly #ports: Ports;
  readonly #programs: readonly JavaProgram[];

  constructor(processes: JavaProcesses, shape: Shape, ports: Ports) {
    this.#processes = processes;
    this.#shape = shape;
    this.#ports = ports;
    this.#programs = programsOf(processes.folder, shape, ports);
    this.sessionTimeoutMs = shape.sessionTimeoutMs;
    const { address } = shape.placeOf(shape.regionServers > 0 ? 'master' : 'hbase');
    this.servers = [`${address}:${ports.master}`];
    this.logs = processes.logs;
  }

  async startAll(progress: (line: string) => void): Promise<void> {
    const heapMb = this.#programs.reduce((sum, program) => sum + program.heapMb, 0);
    progress(
      `Starting HBase in ${this.#programs.length} processes, with up to ${heapMb} MB of heap in all; ` +
        `logs are in ${this.logs}.`,
    );
    if (this.#shape.regionServers > 0) {
      await this.start('zookeeper');
      // A master that finds no NameNode gives up.
      await startNameNode(this.#processes, {
        port: this.#ports.nameNode,
        place: this.#shape.placeOf('name-node'),
      });
    }
    for (const program of this.#programs) this.#processes.start(program);
    const decides = this.#shape.regionServers > 0 ? 'master' : 'hbase';
    await this.#processes.until('the master answers', decides, () => this.#answers());
  }

  processes(): readonly LocalProcess[] {
    return this.#processes.list();
  }

  kill(name: string): Promise<void> {
    return this.#processes.kill(name);
  }

  pause(name: string): void {
    this.#processes.signal(name, 'SIGSTOP');
  }

  resume(name: string): void {
    this.#processes.signal(name, 'SIGCONT');
  }

  async start(name: string): Promise<void> {
    const program = this.#programs.find((one) => one.name === name);
    if (program === undefined) {
      throw new PercolatorError('INVALID_ARGUMENT', `this HBase has no process ${name}`);
    }
    this.#processes.start(program);
  }

  stop(): Promise<void> {
    return this.#processes.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #answers(): Promise<boolean> {
    try {
      await using store = await openHBase({
        servers: this.servers,
        timeoutMs: 1000,
        principal: this.#shape.realm?.principal,
      });
      await store.listTables();
      return true;
    } catch {
      return false;
    }
  }
}

function programsOf(folder: string, shape: Shape, ports: Ports): readonly JavaProgram[] {
  const hbase = 'org.apache.hadoop.hbase';
  const { placeOf } = shape;
  const placed = (program: JavaProgram): JavaProgram => ({
    ...program,
    enter: placeOf(program.name).enter,
  });
  const master = [`${hbase}.master.HMaster`, 'start'];
  if (shape.regionServers === 0) return [placed({ name: 'hbase', heapMb: 512, main: master })];
  const regionServers = numbered('region-server', shape.regionServers).map((name, i) => {
    const { address } = placeOf(name);
    const own = [
      `hbase.regionserver.port=${ports.regionServers[i]}`,
      `hbase.regionserver.ipc.address=${address}`,
      `hbase.unsafe.regionserver.hostname=${address}`,
    ];
    const settings = own.flatMap((setting) => ['-D', setting]);
    const main = [`${hbase}.regionserver.HRegionServer`, ...settings, 'start'];
    return { name, heapMb: 768, main };
  });
  return [
    { name: 'zookeeper', heapMb: 128, main: [`${hbase}.zookeeper.HQuorumPeer`] },
    nameNodeProgram(),
    ...dataNodes(folder, shape.dataNodes, placeOf),
    { name: 'master', heapMb: 384, main: master },
    ...regionServers,
  ].map(placed);
}
