/** HBase as a store. */
export { type HBaseOptions, openHBase } from './open-hbase.ts';
export { fetchHBase, javaOf, javaVersion, whyNoHBase } from './local/find-java.ts';
export { dataNodes, hdfsProperties, startNameNode } from './local/configuration.ts';
export { confOf, JavaProcesses } from './local/java-processes.ts';
export { type LocalHBase, type LocalHBaseOptions, startHBase } from './local/local-hbase.ts';
export { freePorts, HOST } from './local/configuration.ts';
export { type Artifacts, cachedClassPath, cacheFolder, classPathOf } from './local/find-java.ts';
export type { Environment } from '../guarded-process.ts';
export { writeSite } from './local/configuration.ts';
