/**
 * The front door of the garbage collection. Read in this order:
 *
 *   horizon.ts       how far may be deleted, and how everybody learns of it
 *   cycle.ts         the steps of a cycle, and why in this order
 *   collect-row.ts   what of a row is garbage
 */
export { type CollectionReport, collectGarbage, Collector } from './collector.ts';
export type { CollectorCounters, CollectorServices, HeldBack } from './cycle.ts';
export type { CollectorOptions } from './options.ts';
