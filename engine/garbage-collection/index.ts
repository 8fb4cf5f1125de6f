/**
 * The front door of the garbage collection. Read in this order:
 *
 *   horizon.ts       how far may be deleted, and how all processes learn of it
 *   cycle.ts         the steps of a cycle, and why in this order
 *   collect-row.ts   which cells of a row are garbage
 */
export { type CollectionReport, collectGarbage, Collector } from './collector.ts';
export type { CollectorCounters, CollectorServices, HeldBack } from './cycle.ts';
export type { CollectorOptions } from './options.ts';
