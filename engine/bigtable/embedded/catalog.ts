/**
 * The tables of an embedded store: their ids, families and splits. One row holds them all, in a
 * table that has no name.
 *
 * The keys of a table's rows begin with its id. Ids are never used again, so a drop removes the
 * table's entry here, and leaves its rows in the log: they go from the index, at once and whenever
 * the store is opened, and from the log when it is cleaned. Of a damaged catalog counts what is
 * legible (`SalvagedCatalog`).
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

/*
 * A damaged store has the tables of its newest catalog that is intact, and what is legible of newer
 * ones. An older catalog lacks the tables that were made since, and still has those that were
 * dropped.
 */

/** As `JSON.stringify` writes an entry: damage somewhere else leaves it as it is. */
const ENTRY =
  /\{"id":\d+,"name":"(?:[^"\\]|\\.)*","families":\["(?:[^"\\]|\\.)*"(?:,"(?:[^"\\]|\\.)*")*\],"splits":\[[^\]]*\]\}/g;

export class SalvagedCatalog {
  #catalog = EMPTY_CATALOG;
  /** Whether no newer one is known to be lost. */
  #isNewest = false;
  #texts: string[] = [];

  /** A catalog that is intact, newer than all that were added before. */
  add(catalog: Catalog): void {
    this.#catalog = catalog;
    this.#isNewest = true;
    this.#texts = [];
  }

  /** What may hold a newer catalog, or parts of one. */
  addDamaged(text: Buffer): void {
    this.#texts.push(text.toString());
  }

  /** A newer one was there, and is lost. */
  lose(): void {
    this.#isNewest = false;
  }

  get isNewest(): boolean {
    return this.#isNewest;
  }

  /** Tables whose entries are from damaged bytes, so that a name may be wrong. */
  get doubtful(): readonly TableEntry[] {
    if (this.#isNewest) return [];
    const { tables } = this.#catalog;
    const found = this.#texts.flatMap((text) => text.match(ENTRY) ?? []).flatMap(entryOf);
    const newest = new Map(found.map((entry) => [entry.id, entry]));
    for (const { id, name } of tables) {
      newest.delete(id);
      for (const one of newest.values()) if (one.name === name) newest.delete(one.id);
    }
    return [...newest.values()];
  }

  /** In an older one, no id counts as that of a dropped table. */
  get catalog(): Catalog {
    if (this.#isNewest) return this.#catalog;
    return { nextId: 1, tables: [...this.#catalog.tables, ...this.doubtful] };
  }
}

function entryOf(text: string): readonly TableEntry[] {
  try {
    return [JSON.parse(text) as TableEntry];
  } catch {
    return [];
  }
}
