/**
 * The front door of the garbage collection. Read in this order:
 *
 *   horizon.ts      how far a collector may delete, how all processes learn of it, and where the
 *                   next collector goes on if one dies
 *   cycle.ts        the steps of a cycle, and why in this order
 *   collect-row.ts  which cells of a row are garbage, and erasing those of some rows
 *   collector.ts    runs one cycle, or cycle after cycle until it is stopped
 */
export { type CollectionReport, collectGarbage, Collector } from './collector.ts';
export type { CollectorCounters, CollectorServices, HeldBack } from './cycle.ts';
export type { CollectGarbageOptions, CollectorOptions } from './options.ts';
