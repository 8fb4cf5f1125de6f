/**
 * Small rows as they were last read, so that reading one again needs no pass over its keys: what Bigtable calls its
 * Scan Cache.
 *
 * Nobody tells this process what others write. But once somebody has opened a store with a cache, everybody who writes to
 * it counts the groups that are committed, and a read looks how many its snapshot has. The cache is as of one of these
 * numbers. A group of its own takes it one further, without what that has written; if a read finds any other
 * number, another process has written, and everything is forgotten.
 *
 *     as of 5    our group 6 is committed      as of 6, without what it wrote
 *                a read finds 5                asked and filled
 *                a read finds 6, ours,
 *                    which is on its way       neither asked nor filled
 *                a read finds 6 or more else   as of that, and empty
 *
 * On its way is a group that is in the store, perhaps, but of which we do not know. If it has failed, another
 * process may have committed a group of the same number.
 */
import { LRUCache } from 'lru-cache';
import type { Cell } from '../bigtable.ts';
import type { TableEntry } from './catalog.ts';
import { splitColumn, timestampOf } from './keys.ts';
import type { ListedRow } from './small-row.ts';
import { columnName, type TableFilter } from './table-filter.ts';

/** Every cell of a row: by column, in the order of keys, and of each column the newest version first. */
export type CachedRow = ReadonlyMap<string, readonly Cell[]>;

/** What a row and a cell take beside the bytes of their values, roughly. */
const ROW_BYTES = 500;
const CELL_BYTES = 250;

/** Our group that is not known to be committed, or to have failed. */
interface Writing {
  readonly group: number;
  readonly rows: Set<string>;
}

export class RowCache {
  readonly #rows: LRUCache<string, CachedRow>;
  #writing: Writing | undefined;
  /** How many groups the rows have seen; before the first read, none that there can be. */
  #asOf = -1;

  /** @param bytesMax of memory, roughly; must be positive */
  constructor(bytesMax: number) {
    this.#rows = new LRUCache({ maxSize: bytesMax, sizeCalculation: bytesOf });
  }

  /**
   * Makes the cache as of a snapshot.
   * @param groups how many were committed before the snapshot
   * @returns whether rows of the snapshot may be taken from the cache, and put in
   */
  follow(groups: number): boolean {
    if (groups === this.#asOf) return true;
    if (groups === this.#asOf + 1 && groups === this.#writing?.group) return false;
    this.#beginAt(groups);
    return true;
  }

  get(table: TableEntry, row: string): CachedRow | undefined {
    return this.#rows.get(keyOf(table, row));
  }

  /** But for rows with values too long to be listed. */
  put(table: TableEntry, row: string, listed: ListedRow): void {
    const cells = copyOf(table, listed);
    if (cells !== undefined) this.#rows.set(keyOf(table, row), cells);
  }

  /** Our group of this number begins to write. */
  begin(group: number): void {
    this.#writing = { group, rows: new Set() };
  }

  /** The group that has begun writes the row. */
  write(table: TableEntry, row: string): void {
    this.#writing?.rows.add(keyOf(table, row));
  }

  /** The group that has begun is in the store. If it is not the next one, others have written, and a read will tell. */
  committed(): void {
    const writing = this.#writing;
    this.#writing = undefined;
    if (writing?.group !== this.#asOf + 1) return;
    for (const row of writing.rows) this.#rows.delete(row);
    this.#asOf = writing.group;
  }

  /** Whether the group that has begun is in the store is not known. */
  failed(): void {
    this.#writing = undefined;
    this.#beginAt(-1);
  }

  #beginAt(groups: number): void {
    this.#rows.clear();
    this.#asOf = groups;
  }
}

/** Adds the cells of a cached row that pass the filter, in order. */
export function addCached(found: Cell[], row: CachedRow, filter: TableFilter): void {
  const { column, family } = filter;
  if (column !== undefined) addVersions(found, row.get(column) ?? [], filter);
  else {
    for (const cells of row.values()) {
      if (cells[0]?.family === family) addVersions(found, cells, filter);
    }
  }
}

/** Of one column. */
function addVersions(
  found: Cell[],
  cells: readonly Cell[],
  { from = 0, to = Infinity, versions = Infinity }: TableFilter,
): void {
  let added = 0;
  for (const cell of cells) {
    if (added === versions || cell.timestamp < from) return;
    if (cell.timestamp > to) continue;
    found.push(cell);
    added++;
  }
}

/**
 * With the values in a piece of memory of its own. They were in pieces of Node's pool, each of which would be kept for
 * the little of it that the cache has.
 */
function copyOf(table: TableEntry, { prefix, keys, values }: ListedRow): CachedRow | undefined {
  const listed = values.filter((value) => value !== undefined);
  if (listed.length < values.length) return undefined;
  const bytes = Buffer.allocUnsafeSlow(listed.reduce((sum, { length }) => sum + length, 0));
  const row = new Map<string, Cell[]>();
  let end = 0;
  for (const [i, value] of listed.entries()) {
    const key = keys[i] as Buffer;
    const start = end;
    end += value.copy(bytes, start);
    const { familyId, qualifier } = splitColumn(key, prefix.length);
    const family = table.families[familyId] ?? '';
    const column = columnName(familyId, qualifier);
    const cells = row.get(column) ?? [];
    cells.push({
      family,
      qualifier,
      timestamp: timestampOf(key),
      value: bytes.subarray(start, end),
    });
    row.set(column, cells);
  }
  return row;
}

function bytesOf(row: CachedRow): number {
  let bytes = ROW_BYTES;
  for (const cells of row.values()) {
    for (const { value } of cells) bytes += CELL_BYTES + value.length;
  }
  return bytes;
}

function keyOf({ id }: TableEntry, row: string): string {
  return `${id} ${row}`;
}
