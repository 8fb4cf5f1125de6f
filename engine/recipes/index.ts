/**
 * The front door of recipes: what pipelines of observers are made of, again and again. It is a door
 * of its own, because the engine does not need them.
 */
export {
  areEqual,
  cellOf,
  jsonColumn,
  notify,
  read,
  readMany,
  readRow,
  settle,
  type TypedColumn,
  update,
} from './columns.ts';
export { CombineQueue, type CombineQueueOptions } from './combine-queue.ts';
export { type Exported, type ExportEntry, ExportQueue, type ExportTarget } from './export-queue.ts';
export { pairRow, readPairs, writePairs } from './pairs.ts';
