/** The front door of the pipeline. Start reading at observers.ts. */
export { loadCapture, loadCrawl, type LoadOptions } from './loader.ts';
export { MemoryServingIndex } from './memory-serving-index.ts';
export { createObservers } from './observers.ts';
export { untilAtRest } from './rest.ts';
export type { ServingIndex } from './serving-index.ts';
export { createTables } from './tables.ts';
