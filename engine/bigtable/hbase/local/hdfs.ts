/** HDFS as processes of a local cluster: a NameNode, and DataNodes. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { confOf, type JavaProcesses, type JavaProgram } from './java-processes.ts';
import { accepts, HOST } from './loopback.ts';
import type { Properties } from './site.ts';

const HDFS = 'org.apache.hadoop.hdfs.server';
const NAME_NODE = `${HDFS}.namenode.NameNode`;

/** What is written to `hdfs-site.xml`. @param replicas of each block; at most one per DataNode */
export function hdfsProperties(folder: string, replicas: number): Properties {
  return {
    'dfs.namenode.name.dir': join(folder, 'name-node'),
    'dfs.namenode.http-address': `${HOST}:0`,
    'dfs.namenode.datanode.registration.ip-hostname-check': false,
    'dfs.namenode.safemode.extension': 0,
    'dfs.datanode.address': `${HOST}:0`,
    'dfs.datanode.http.address': `${HOST}:0`,
    'dfs.datanode.ipc.address': `${HOST}:0`,
    'dfs.replication': replicas,
    'dfs.permissions.enabled': false,
    // A client that finds a DataNode dead may go on with the others.
    'dfs.client.block.write.replace-datanode-on-failure.policy': 'NEVER',
  };
}

export function nameNode(): JavaProgram {
  return { name: 'name-node', heapMb: 256, main: [NAME_NODE] };
}

export function dataNodes(folder: string, count: number): readonly JavaProgram[] {
  return numbered('data-node', count).map((name) => {
    const own = `dfs.datanode.data.dir=${join(folder, name)}`;
    return { name, heapMb: 256, main: [`${HDFS}.datanode.DataNode`, '-D', own] };
  });
}

/** Starts the NameNode with an empty file system; resolves when it listens. */
export async function startNameNode(processes: JavaProcesses, port: number): Promise<void> {
  // HDFS looks for its web pages, even if there are none.
  for (const pages of ['hdfs', 'datanode']) {
    await mkdir(join(confOf(processes.folder), 'webapps', pages), { recursive: true });
  }
  const main = [NAME_NODE, '-format', '-nonInteractive'];
  await processes.run({ name: 'format', heapMb: 128, main });
  processes.start(nameNode());
  await processes.until('the NameNode listens', 'name-node', () => accepts(port));
}

export function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
}
