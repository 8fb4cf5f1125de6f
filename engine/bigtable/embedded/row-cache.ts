/**
 * Rows as they were last read (cached-row.ts), so that reading one again needs no pass over its keys: what Bigtable
 * calls its Scan Cache.
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
import { bytesOf, type CachedRow } from './cached-row.ts';
import type { TableEntry } from './catalog.ts';

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

  /** Instead of what is known of it. */
  put(table: TableEntry, row: string, cached: CachedRow): void {
    this.#rows.set(keyOf(table, row), cached);
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

function keyOf({ id }: TableEntry, row: string): string {
  return `${id} ${row}`;
}
