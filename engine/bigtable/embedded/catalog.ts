/**
 * The tables of an embedded store: their ids, families and splits. One row holds them all, in a
 * table that has no name.
 *
 * The keys of a table's rows begin with its id. Ids are never used again, so a drop removes the
 * table's entry here, and leaves its rows in the log: they go from the index, at once and whenever
 * the store is opened, and from the log when it is cleaned.
 */
import { PercolatorError } from '../../base/index.ts';
import type { TableSchema } from '../bigtable.ts';
import { rowKey, tablePrefix } from './keys.ts';

export interface TableEntry {
  readonly id: number;
  readonly name: string;
  readonly families: readonly string[];
  readonly splits: readonly string[];
}

export interface Catalog {
  /** The id of the next table. */
  readonly nextId: number;
  readonly tables: readonly TableEntry[];
}

/** The row of the catalog. */
export const CATALOG_ROW: Buffer = rowKey(tablePrefix(0), 'catalog');

/** How many splits a message shows of each list: the table's, and the one asked for. */
const SPLITS_SHOWN = 10;

export const EMPTY_CATALOG: Catalog = { nextId: 1, tables: [] };

export function findTable(catalog: Catalog, name: string): TableEntry | undefined {
  return catalog.tables.find((table) => table.name === name);
}

/** The catalog with the table added; the same catalog if it has the table with the same schema. */
export function withTable(catalog: Catalog, name: string, schema: TableSchema): Catalog {
  const splits = [...new Set(schema.splits)].toSorted(compareBytes);
  const existing = findTable(catalog, name);
  if (existing !== undefined) {
    if (sameSet(existing.families, schema.families) && sameSet(existing.splits, splits)) {
      return catalog;
    }
    const message =
      `table ${name} exists with families ${existing.families.join(', ')} and ${splitsIn(existing)}; ` +
      `asked for families ${schema.families.join(', ')} and ${splitsIn({ splits })}`;
    throw new PercolatorError('TABLE_MISMATCH', message);
  }
  const entry: TableEntry = {
    id: catalog.nextId,
    name,
    families: [...schema.families], // A copy: the caller may use its list again.
    splits,
  };
  return { nextId: catalog.nextId + 1, tables: [...catalog.tables, entry] };
}

function splitsIn({ splits }: Pick<TableEntry, 'splits'>): string {
  if (splits.length === 0) return 'no splits';
  const first = splits.slice(0, SPLITS_SHOWN).map((split) => JSON.stringify(split));
  const more = splits.length - first.length;
  return `splits at ${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export function withoutTable(catalog: Catalog, id: number): Catalog {
  return { ...catalog, tables: catalog.tables.filter((table) => table.id !== id) };
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
