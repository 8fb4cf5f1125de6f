/** HBase as a store. */
export { type HBaseOptions, openHBase } from './open-hbase.ts';
