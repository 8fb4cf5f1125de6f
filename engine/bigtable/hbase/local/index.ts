/** An HBase on this machine, as child processes; and what else runs on Java. */
export { fetchHBase, javaOf, javaVersion, whyNoHBase } from './find-java.ts';
export { type LocalHBase, type LocalHBaseOptions, startHBase } from './local-hbase.ts';
export { type Artifacts, cachedClassPath, classPathOf, type Environment } from './maven.ts';
