/**
 * Rows as they were last read (cached-row.ts), so that reading one again needs no pass over its
 * keys. Bigtable calls this its Scan Cache.
 *
 * Other processes do not announce their writes. But once any process has opened a store with a
 * cache, every writer counts the committed groups, and a read compares the count of its snapshot.
 * The cache is valid for one of these numbers. A group of our own advances it by one, without the
 * rows that the group wrote; if a read finds any other number, another process has written, and the
 * whole cache is cleared.
 *
 *     as of 5    our group 6 is committed      as of 6, without the rows it wrote
 *                a read finds 5                asked and filled
 *                a read finds 6, ours,
 *                    which is in flight        neither asked nor filled
 *                a read finds any other        as of that number, and empty
 *
 * A group is in flight while we do not know whether it is in the store. If it has failed, another
 * process may have committed a group with the same number.
 */
import { LRUCache } from 'lru-cache';
import { bytesOf, type CachedRow } from './cached-row.ts';
import type { TableEntry } from './catalog.ts';

/** Our group in flight: not known to be committed, or to have failed. */
interface Writing {
  readonly group: number;
  readonly rows: Set<string>;
}

export class RowCache {
  readonly #rows: LRUCache<string, CachedRow>;
  #writing: Writing | undefined;
  /** The number of groups the rows are as of; before the first read, an impossible number. */
  #asOf = -1;

  /** @param bytesMax approximate memory; must be positive */
  constructor(bytesMax: number) {
    this.#rows = new LRUCache({ maxSize: bytesMax, sizeCalculation: bytesOf });
  }

  /**
   * Moves the cache to a snapshot.
   * @param groups how many groups were committed before the snapshot
   * @returns whether rows of the snapshot may be taken from the cache, and put into it
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

  /** Replaces what the cache has of the row. */
  put(table: TableEntry, row: string, cached: CachedRow): void {
    this.#rows.set(keyOf(table, row), cached);
  }

  /** Our group with this number begins to write. */
  begin(group: number): void {
    this.#writing = { group, rows: new Set() };
  }

  /** The group in flight writes the row. */
  write(table: TableEntry, row: string): void {
    this.#writing?.rows.add(keyOf(table, row));
  }

  /**
   * The group in flight was committed. If it is not the next one, others have written, and a read
   * will see that.
   */
  committed(): void {
    const writing = this.#writing;
    this.#writing = undefined;
    if (writing?.group !== this.#asOf + 1) return;
    for (const row of writing.rows) this.#rows.delete(row);
    this.#asOf = writing.group;
  }

  /** The group in flight failed, and may be in the store or not. */
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
