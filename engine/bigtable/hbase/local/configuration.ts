/**
 * The configuration files of a local HBase: everything on the loopback address and on free ports,
 * and without web pages. A setting of one process alone is an option of its command line.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hdfsProperties } from './hdfs.ts';
import { confOf } from './java-processes.ts';
import { freePorts, HOST } from './loopback.ts';
import { type Properties, writeSite } from './site.ts';

export interface Ports {
  readonly zooKeeper: number;
  readonly nameNode: number;
  readonly master: number;
  /** One for each region server; if one process does everything, one for it. */
  readonly regionServers: readonly number[];
}

export interface Shape {
  /** 0: one process for all, on the local disk without HDFS. */
  readonly regionServers: number;
  readonly dataNodes: number;
  readonly sessionTimeoutMs: number;
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
  const files = isOne ? 'file://' : `hdfs://${HOST}:${ports.nameNode}`;
  const root = isOne ? join(folder, 'data') : '/hbase';
  const hbase = { ...hbaseProperties(folder, shape, ports), 'hbase.rootdir': `${files}${root}` };
  await writeSite(configuration, 'core-site.xml', {
    'fs.defaultFS': `${files}/`,
    'hadoop.tmp.dir': join(folder, 'tmp'),
  });
  await writeSite(configuration, 'hdfs-site.xml', hdfsProperties(folder, shape.dataNodes));
  await writeSite(configuration, 'hbase-site.xml', hbase);
  await writeFile(join(configuration, 'log4j2.properties'), LOGGING);
}

function hbaseProperties(folder: string, shape: Shape, ports: Ports): Properties {
  const { regionServers, sessionTimeoutMs } = shape;
  const servers = Math.max(1, regionServers);
  return {
    'hbase.cluster.distributed': regionServers > 0,
    'hbase.localcluster.assign.random.ports': false,
    'hbase.unsafe.stream.capability.enforce': regionServers > 0,
    'hbase.tmp.dir': join(folder, 'tmp'),
    'hbase.zookeeper.quorum': HOST,
    'hbase.zookeeper.property.clientPort': ports.zooKeeper,
    'hbase.zookeeper.property.clientPortAddress': HOST,
    'hbase.zookeeper.property.dataDir': join(folder, 'zookeeper'),
    'hbase.zookeeper.property.tickTime': Math.floor(sessionTimeoutMs / 3),
    'zookeeper.session.timeout': sessionTimeoutMs,
    'hbase.master.ipc.address': HOST,
    'hbase.master.hostname': HOST,
    'hbase.master.port': ports.master,
    'hbase.master.info.port': -1,
    'hbase.regionserver.ipc.address': HOST,
    'hbase.unsafe.regionserver.hostname': HOST,
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
