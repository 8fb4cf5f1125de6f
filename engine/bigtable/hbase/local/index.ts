/** An HBase on this machine, as child processes; and the means to run other Java programs. */
export { fetchHBase, javaOf, javaVersion, whyNoHBase } from './find-java.ts';
export { dataNodes, hdfsProperties, startNameNode } from './hdfs.ts';
export { confOf, JavaProcesses } from './java-processes.ts';
export { type LocalHBase, type LocalHBaseOptions, startHBase } from './local-hbase.ts';
export { freePorts, HOST } from './loopback.ts';
export { type Artifacts, cachedClassPath, classPathOf, type Environment } from './maven.ts';
export { writeSite } from './site.ts';
