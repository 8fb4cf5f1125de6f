/**
 * The configuration files of a local HBase: everything on the loopback address and on free ports,
 * and without web pages. A setting of one process alone is an option of its command line.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createRandom, entropySeed } from '../../../base/index.ts';
import { confOf, type JavaProcesses, type JavaProgram } from './java-processes.ts';

export interface Ports {
  readonly zooKeeper: number;
  readonly nameNode: number;
  readonly master: number;
  /** One for each region server; if one process does everything, one for it. */
  readonly regionServers: readonly number[];
}

/** Where a process runs. */
export interface Place {
  /** The address at which it listens; all others reach it. */
  readonly address: string;
  /** As in `JavaProgram`. */
  readonly enter: readonly string[];
}

/**
 * For hosts that are cut off: with the defaults, HDFS waits for a host that is gone for a minute
 * and more before a region server's log can be taken over. As HBase's manual has it, in its part on
 * the mean time to recovery.
 */
const QUICK_RECOVERY: Properties = {
  'dfs.client.socket-timeout': 5_000,
  'dfs.datanode.socket.write.timeout': 5_000,
  'dfs.heartbeat.interval': 1,
  'dfs.namenode.stale.datanode.interval': 3_000,
  'dfs.namenode.avoid.read.stale.datanode': true,
  'dfs.namenode.avoid.write.stale.datanode': true,
  'ipc.client.connect.timeout': 2_000,
  'ipc.client.connect.max.retries.on.timeouts': 2,
  'hbase.lease.recovery.dfs.timeout': 8_000,
};

/** What one process needs that does everything and demands Kerberos. */
export interface Realm {
  /** Of all servers, and a file with its keys. */
  readonly principal: string;
  readonly keytab: string;
  /** The file `krb5.conf`, which says where the realm is. */
  readonly configuration: string;
}

export interface Shape {
  /** Whether its hosts are cut off from one another. */
  readonly isCut?: boolean | undefined;
  /** By the name of the process. */
  readonly placeOf: (name: string) => Place;
  /** 0: one process for all, on the local disk without HDFS. */
  readonly regionServers: number;
  readonly dataNodes: number;
  readonly sessionTimeoutMs: number;
  /** Only for one process: HDFS would have to demand Kerberos as well. */
  readonly realm?: Realm | undefined;
}

export async function findPorts({ regionServers }: Shape): Promise<Ports> {
  const [zooKeeper = 0, nameNode = 0, master = 0, ...rest] = await freePorts(
    3 + Math.max(1, regionServers),
  );
  return { zooKeeper, nameNode, master, regionServers: rest };
}

/** Writes the files for all processes. */
export async function configure(folder: string, shape: Shape, ports: Ports): Promise<void> {
  const configuration = confOf(folder);
  const isOne = shape.regionServers === 0;
  const { address } = shape.placeOf('name-node');
  const files = isOne ? 'file://' : `hdfs://${address}:${ports.nameNode}`;
  const root = isOne ? join(folder, 'data') : '/hbase';
  const recovery = shape.isCut === true ? QUICK_RECOVERY : {};
  const hbase = {
    ...hbaseProperties(folder, shape, ports),
    ...recovery,
    ...(shape.realm && kerberosProperties(shape.realm)),
    'hbase.rootdir': `${files}${root}`,
  };
  await writeSite(configuration, 'core-site.xml', {
    'fs.defaultFS': `${files}/`,
    'hadoop.tmp.dir': join(folder, 'tmp'),
    'hadoop.security.authentication': shape.realm === undefined ? 'simple' : 'kerberos',
  });
  const hdfs = hdfsProperties(folder, shape.dataNodes, shape.placeOf);
  await writeSite(configuration, 'hdfs-site.xml', { ...hdfs, ...recovery });
  await writeSite(configuration, 'hbase-site.xml', hbase);
  await writeFile(join(configuration, 'log4j2.properties'), LOGGING);
}

function hbaseProperties(folder: string, shape: Shape, ports: Ports): Properties {
  const { regionServers, sessionTimeoutMs, placeOf } = shape;
  const servers = Math.max(1, regionServers);
  const addressOf = (name: string): string => placeOf(regionServers > 0 ? name : 'hbase').address;
  // One process looks for its own ZooKeeper on the loopback, and no other process needs it.
  const zooKeeper = regionServers > 0 ? addressOf('zookeeper') : HOST;
  return {
    'hbase.cluster.distributed': regionServers > 0,
    'hbase.localcluster.assign.random.ports': false,
    'hbase.unsafe.stream.capability.enforce': regionServers > 0,
    'hbase.tmp.dir': join(folder, 'tmp'),
    'hbase.zookeeper.quorum': zooKeeper,
    'hbase.zookeeper.property.clientPort': ports.zooKeeper,
    'hbase.zookeeper.property.clientPortAddress': zooKeeper,
    'hbase.zookeeper.property.dataDir': join(folder, 'zookeeper'),
    'hbase.zookeeper.property.tickTime': Math.floor(sessionTimeoutMs / 3),
    'zookeeper.session.timeout': sessionTimeoutMs,
    'hbase.master.ipc.address': addressOf('master'),
    'hbase.master.hostname': addressOf('master'),
    'hbase.master.port': ports.master,
    'hbase.master.info.port': -1,
    // Each region server of several has its own of these three on its command line.
    'hbase.regionserver.ipc.address': addressOf('region-server-1'),
    'hbase.unsafe.regionserver.hostname': addressOf('region-server-1'),
    'hbase.regionserver.port': ports.regionServers[0] ?? 0,
    'hbase.regionserver.info.port': -1,
    // How long the master gathers what it tells the servers; the default of 150 ms is half of the
    // time that making a table takes.
    'hbase.assignment.dispatch.wait.msec': 5,
    'hbase.procedure.remote.dispatcher.delay.msec': 5,
    // The master begins when all region servers are there.
    'hbase.master.wait.on.regionservers.mintostart': servers,
    'hbase.master.wait.on.regionservers.maxtostart': servers,
    'hbase.master.wait.on.regionservers.interval': 100,
    'hbase.master.wait.on.regionservers.timeout': 500,
  };
}

function kerberosProperties({ principal, keytab }: Realm): Properties {
  const servers = ['master', 'regionserver'];
  return Object.fromEntries([
    ['hbase.security.authentication', 'kerberos'],
    ...servers.map((server) => [`hbase.${server}.kerberos.principal`, principal]),
    ...servers.map((server) => [`hbase.${server}.keytab.file`, keytab]),
  ]) as Properties;
}

/**
 * Times are in UTC: Java may take another time zone for the machine's than a reader of the log, and
 * where clocks are set back in autumn, an hour of local times comes twice.
 */
const LOGGING = `status = warn
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_OUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601}{UTC}Z %p [%t] %c{2}: %m%n
rootLogger = INFO,console
`;

/* HDFS as processes of a local cluster: a NameNode, and DataNodes. */

const HDFS = 'org.apache.hadoop.hdfs.server';
const NAME_NODE = `${HDFS}.namenode.NameNode`;

/** What is written to `hdfs-site.xml`. @param replicas of each block; at most one per DataNode */
export function hdfsProperties(
  folder: string,
  replicas: number,
  placeOf: Shape['placeOf'] = () => LOOPBACK,
): Properties {
  return {
    'dfs.namenode.name.dir': join(folder, 'name-node'),
    'dfs.namenode.http-address': `${placeOf('name-node').address}:0`,
    'dfs.namenode.datanode.registration.ip-hostname-check': false,
    'dfs.namenode.safemode.extension': 0,
    'dfs.replication': replicas,
    'dfs.permissions.enabled': false,
    // A client that finds a DataNode dead may go on with the others.
    'dfs.client.block.write.replace-datanode-on-failure.policy': 'NEVER',
  };
}

export function nameNodeProgram(): JavaProgram {
  return { name: 'name-node', heapMb: 256, main: [NAME_NODE] };
}

export function dataNodes(
  folder: string,
  count: number,
  placeOf: Shape['placeOf'] = () => LOOPBACK,
): readonly JavaProgram[] {
  return numbered('data-node', count).map((name) => {
    const { address } = placeOf(name);
    const own = [
      `dfs.datanode.data.dir=${join(folder, name)}`,
      ...['address', 'http.address', 'ipc.address'].map(
        (property) => `dfs.datanode.${property}=${address}:0`,
      ),
    ];
    const settings = own.flatMap((setting) => ['-D', setting]);
    return { name, heapMb: 256, main: [`${HDFS}.datanode.DataNode`, ...settings] };
  });
}

/** Starts the NameNode with an empty file system; resolves when it listens. */
export async function startNameNode(
  processes: JavaProcesses,
  { port, place = LOOPBACK }: { readonly port: number; readonly place?: Place | undefined },
): Promise<void> {
  // HDFS looks for its web pages, even if there are none.
  for (const pages of ['hdfs', 'datanode']) {
    await mkdir(join(confOf(processes.folder), 'webapps', pages), { recursive: true });
  }
  const main = [NAME_NODE, '-format', '-nonInteractive'];
  await processes.run({ name: 'format', heapMb: 128, main });
  processes.start({ ...nameNodeProgram(), enter: place.enter });
  await processes.until('the NameNode listens', 'name-node', () => accepts(port, place.address));
}

export function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
}

/* The files of settings that Hadoop and HBase read. */

type Properties = Readonly<Record<string, string | number | boolean>>;

/** @param name such as `core-site.xml` */
export async function writeSite(
  folder: string,
  name: string,
  properties: Properties,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `<configuration>\n${lines(properties)}</configuration>\n`);
}

function lines(properties: Properties): string {
  return Object.entries(properties)
    .map(([name, value]) => {
      // A path may contain characters that begin something else in XML.
      const text = String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      return `<property><name>${name}</name><value>${text}</value></property>\n`;
    })
    .join('');
}

/* The address at which the processes of a local cluster listen, and its ports. */

export const HOST = '127.0.0.1';
export const LOOPBACK: Place = { address: HOST, enter: [] };

/**
 * By default Linux takes the port of an outgoing connection from 32768 to 60999, other systems from
 * higher ones. A port from there could be free now, and taken when the service starts.
 */
const LOWEST = 10_000;
const HIGHEST = 32_767;

/**
 * Ports that are free now, and that by default the operating system gives to no connection. All are
 * found before any is used, so that none is given twice.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const random = createRandom(entropySeed());
  const servers: Server[] = [];
  while (servers.length < count) {
    const server = await listen(random.integer(LOWEST, HIGHEST));
    if (server !== undefined) servers.push(server);
  }
  const found = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return found;
}

/** Whether a process accepts connections there. */
export function accepts(port: number, host: string = HOST): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
  });
}

/** Undefined if another process listens at the port. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(port, HOST, () => resolve(server));
  });
}
