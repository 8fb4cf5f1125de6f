/** The front door of tables: definitions, creating and dropping. Start reading at definition.ts. */
export { bigtableByUserName, StoredCatalog } from './catalog.ts';
export {
  allDefinitions,
  checkCanBeStored,
  companionOf,
  createTablesTable,
  incarnationOf,
  type StoredDefinition,
  storedName,
  TABLES_TABLE,
  whyLost,
} from './definition.ts';
export { isIncarnation, isOurs } from './drop.ts';
export { findIncarnation, TableAdministration, type TableDefinition } from './tables.ts';
