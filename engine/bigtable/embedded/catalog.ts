/**
 * The tables of an embedded store: their ids, families and splits.
 *
 * All cells share one lmdb database and begin with their table's id, so processes need to agree
 * only on this catalog. Ids are never reused: a process that missed a drop writes nothing
 * (the writer checks the catalog inside its write transaction), and reads the unpurged remains of a
 * table that no longer exists.
 *
 *     create: catalog entry in one lmdb transaction
 *     drop:   entry marked "dropping" ─▶ cells purged in batches ─▶ entry removed
 *
 * What if we die while purging? The entry still says "dropping"; the next process that opens the
 * store continues.
 */
import { PercolatorError } from '../../base/index.ts';
import type { TableSchema } from '../bigtable.ts';

export interface TableEntry {
  readonly id: number;
  readonly name: string;
  readonly families: readonly string[];
  readonly splits: readonly string[];
  readonly dropping: boolean;
}

export interface Catalog {
  /** Grows with every change; equal versions mean equal catalogs. */
  readonly version: number;
  /** The id of the next table. */
  readonly nextId: number;
  readonly tables: readonly TableEntry[];
}

export const EMPTY_CATALOG: Catalog = { version: 0, nextId: 1, tables: [] };

export function findTable(catalog: Catalog, name: string): TableEntry | undefined {
  return catalog.tables.find((table) => table.name === name && !table.dropping);
}

/** The catalog with the table added; the same catalog if it has the table with the same schema. */
export function withTable(catalog: Catalog, name: string, schema: TableSchema): Catalog {
  const splits = [...new Set(schema.splits)].toSorted(compareBytes);
  const existing = findTable(catalog, name);
  if (existing !== undefined) {
    if (sameSet(existing.families, schema.families) && sameSet(existing.splits, splits)) {
      return catalog;
    }
    throw new PercolatorError(
      'TABLE_MISMATCH',
      `table ${name} exists with families ${existing.families.join(', ')} and ${existing.splits.length} splits; ` +
        `asked for families ${schema.families.join(', ')} and ${splits.length} splits`,
    );
  }
  const entry: TableEntry = {
    id: catalog.nextId,
    name,
    families: schema.families,
    splits,
    dropping: false,
  };
  return {
    version: catalog.version + 1,
    nextId: catalog.nextId + 1,
    tables: [...catalog.tables, entry],
  };
}

export function withDropping(catalog: Catalog, name: string): Catalog {
  const tables = catalog.tables.map((table) =>
    table.name === name ? { ...table, dropping: true } : table,
  );
  return { ...catalog, version: catalog.version + 1, tables };
}

export function withoutTable(catalog: Catalog, id: number): Catalog {
  const tables = catalog.tables.filter((table) => table.id !== id);
  return { ...catalog, version: catalog.version + 1, tables };
}

/** @throws FAMILY_NOT_FOUND */
export function familyId(table: TableEntry, family: string): number {
  const index = table.families.indexOf(family);
  if (index < 0) {
    throw new PercolatorError(
      'FAMILY_NOT_FOUND',
      `table ${table.name} has no family ${family}; it has ${table.families.join(', ')}`,
    );
  }
  return index;
}

/** Order of the UTF-8 bytes, which is the order of rows. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return new Set(a).symmetricDifference(new Set(b)).size === 0;
}
