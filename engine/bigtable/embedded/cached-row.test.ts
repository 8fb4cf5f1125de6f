/** A cached row answers from its cells as the store would, or says that it does not know. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cell } from '../bigtable.ts';
import { addCached, type CachedRow, headOf, wholeRow } from './cached-row.ts';
import type { TableEntry } from './catalog.ts';
import type { Cells } from './cells.ts';
import { cellKey, columnPrefix, familyPrefix, prefixEnd, rowPrefix, tablePrefix } from './keys.ts';
import { LargeRows } from './large-rows.ts';
import { readRow, type Storage } from './read.ts';
import { RowCache } from './row-cache.ts';
import { columnName, filterForTable } from './table-filter.ts';

const TABLE: TableEntry = { id: 1, name: 't', families: ['f', 'g'], splits: [], dropping: false };
const PREFIX = rowPrefix(tablePrefix(TABLE.id), 'hot');
const COLUMN = columnPrefix(familyPrefix(PREFIX, 0), 'q');

type Stored = readonly { readonly key: Buffer; readonly value: Buffer | undefined }[];

/** Versions from the last one down to 1, each with its number as the value. */
function versions(last: number, value = (n: number): Buffer | undefined => textOf(n)): Stored {
  return Array.from({ length: last }, (_, i) => {
    return { key: cellKey(COLUMN, last - i), value: value(last - i) };
  });
}

function textOf(n: number): Buffer {
  return Buffer.from(String(n));
}

/** Some cells, in key order, and the number of lookups. */
class CountedCells {
  looks = 0;
  readonly #stored: Stored;

  constructor(stored: Stored) {
    this.#stored = stored;
  }

  asCells(): Cells {
    return this as unknown as Cells;
  }

  getRange({ start, end, limit = Infinity }: Parameters<Cells['getRange']>[0]): Stored {
    this.looks++;
    return this.#stored
      .filter(({ key }) => Buffer.compare(key, start) >= 0 && Buffer.compare(key, end) < 0)
      .slice(0, limit);
  }

  get(wanted: Buffer): Buffer | undefined {
    return this.#stored.find(({ key }) => key.equals(wanted))?.value ?? Buffer.from('long');
  }
}

function head(stored: Stored): ReturnType<typeof headOf> {
  const range = { start: COLUMN, end: prefixEnd(COLUMN) };
  return headOf(new CountedCells(stored).asCells(), { family: 'f', qualifier: 'q' }, range);
}

function timestamps(cells: readonly Cell[]): readonly number[] {
  return cells.map(({ timestamp }) => timestamp);
}

test('a head answers what the whole column would, or nothing', () => {
  for (const last of [0, 1, 3, 4, 5, 9]) {
    const column = head(versions(last));
    const row = { columns: new Map([[columnName(0, 'q'), column]]), isWhole: false };
    let known = 0;
    for (const from of [undefined, 1, 4, 6, 9, 12]) {
      for (const to of [undefined, 0, 3, 5, 6, 8, 12]) {
        for (const some of [undefined, 1, 2, 5]) {
          const filter = { family: 'f', qualifier: 'q', from, to, versions: some };
          const passing = timestamps(versionCells(last))
            .filter((one) => one >= (from ?? 0) && one <= (to ?? Infinity))
            .slice(0, some);
          const found: Cell[] = [];
          const isKnown = addCached(found, row, filterForTable(TABLE, filter));
          assert.deepEqual(timestamps(found), isKnown ? passing : [], JSON.stringify(filter));
          known += isKnown ? 1 : 0;
        }
      }
    }
    const all = 6 * 7 * 4;
    assert.ok(last < 4 ? known === all : known < all && known > all / 4, `${last}: ${known}`);
  }
});

function versionCells(last: number): readonly Cell[] {
  return versions(last).map(({ value }, i) => {
    return { family: 'f', qualifier: 'q', timestamp: last - i, value: value ?? Buffer.alloc(0) };
  });
}

test('a row that is not whole knows neither columns that were never read nor families', () => {
  const column = head(versions(2));
  const columns = new Map([[columnName(0, 'q'), column]]);
  const asks = (filter: Parameters<typeof filterForTable>[1], row: CachedRow): boolean =>
    addCached([], row, filterForTable(TABLE, filter));
  assert.ok(asks({ family: 'f', qualifier: 'q' }, { columns, isWhole: false }));
  for (const filter of [{ family: 'f', qualifier: 'other' }, { family: 'f' }, { family: 'g' }]) {
    assert.equal(asks(filter, { columns, isWhole: false }), false);
    assert.equal(asks(filter, { columns, isWhole: true }), true);
  }
});

test('a row with an unlisted value is not cached, and its column is unknown', () => {
  const long = versions(9, (n) => (n === 8 ? undefined : textOf(n)));
  assert.deepEqual(head(long), { cells: [], isWhole: false });
  const isAfter = versions(9, (n) => (n === 2 ? undefined : textOf(n)));
  assert.deepEqual(timestamps(head(isAfter).cells), [9, 8, 7, 6]);
  const [keys, values] = [long.map(({ key }) => key), long.map(({ value }) => value)];
  assert.equal(wholeRow(TABLE, { prefix: PREFIX, keys, values }), undefined);
});

test('a family with more versions than a call takes arguments is read', () => {
  const counted = new CountedCells(versions(200_000));
  const cache = new RowCache(1_000_000);
  assert.ok(cache.follow(1));
  const storage: Storage = { cells: counted.asCells(), large: new LargeRows(), cache };
  const found = readRow(storage, TABLE, 'hot', [filterForTable(TABLE, { family: 'f' })]);
  assert.equal(found?.cells.length, 200_000);
});

test('a hot row is read from the cache, except for old versions and uncached columns', () => {
  const counted = new CountedCells(versions(100));
  const cache = new RowCache(1_000_000);
  assert.ok(cache.follow(1));
  const storage: Storage = { cells: counted.asCells(), large: new LargeRows(), cache };
  const newest = (to: number, looks: number, qualifier = 'q'): void => {
    counted.looks = 0;
    const filter = filterForTable(TABLE, { family: 'f', qualifier, to, versions: 1 });
    const found = readRow(storage, TABLE, 'hot', [filter])?.cells ?? [];
    assert.deepEqual(timestamps(found), qualifier === 'q' ? [Math.min(to, 100)] : []);
    assert.equal(counted.looks, looks);
  };
  newest(200, 2); // One finds that it is not small, one reads the head.
  for (const to of [200, 100, 98, 97]) newest(to, 0);
  for (const to of [96, 3]) newest(to, 1);
  newest(200, 1, 'other');
  newest(200, 0, 'other');
  newest(200, 0);
  for (let n = 3; n <= 64; n++) newest(200, 1, `other ${n}`);
  for (let again = 0; again < 3; again++) newest(200, 1, 'one too many');
  newest(200, 0, 'other 64');
});
