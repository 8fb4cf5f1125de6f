/** The front door of tables: definitions, creating and dropping. Start reading at definition.ts. */
export { StoredCatalog } from './catalog.ts';
export type { TableDefinition } from './create.ts';
export {
  allDefinitions,
  createTablesTable,
  type StoredDefinition,
  TABLES_TABLE,
} from './definition.ts';
export { isIncarnation, isOurs } from './drop.ts';
export { whyLost } from './later-incarnation.ts';
export { checkCanBeStored, companionOf, incarnationOf, storedName } from './names.ts';
export { namedBigtable } from './named-bigtable.ts';
export { findIncarnation, Tables } from './tables.ts';
