/** The front door of serving: the index that searchers read. */
export { openIndexReader, openServingIndex } from './sqlite-index.ts';
export type * from './serving-index.ts';
