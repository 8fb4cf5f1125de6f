/** An HBase on this machine, as child processes. */
export { type Environment, whyNoHBase } from './find-java.ts';
export { type LocalHBase, type LocalHBaseOptions, startHBase } from './local-hbase.ts';
