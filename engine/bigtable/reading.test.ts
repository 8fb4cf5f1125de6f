/** Claims of range scans: nothing is missed or read twice, wherever the batches end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryBigtable } from '../testing/memory-bigtable.ts';
import type { Bigtable, RangeRead } from './bigtable.ts';
import { keyAfter, restOf, type RowBatch, rowBatches } from './reading.ts';

const FILTERS = [{ family: 'data' }];

async function storeOf(rows: ReadonlyMap<string, number>): Promise<Bigtable> {
  const store = createMemoryBigtable();
  await store.createTable('t', { families: ['data'] });
  for (const [row, cells] of rows) {
    const mutations = Array.from({ length: cells }, (_, i) => ({
      kind: 'set' as const,
      family: 'data',
      qualifier: `q${i}`,
      timestamp: 1,
      value: Buffer.from(''),
    }));
    await store.mutateRows([{ table: 't', row, mutations }]);
  }
  return store;
}

/** `count` rows from `r0000` on, with `cells` cells each. */
function rowsOf(cells: number, count = 2_000): ReadonlyMap<string, number> {
  return new Map(
    Array.from({ length: count }, (_, i) => [`r${String(i).padStart(4, '0')}`, cells]),
  );
}

async function scan(
  store: Bigtable,
  range: Omit<RangeRead, 'limit'> = {},
): Promise<readonly RowBatch[]> {
  return Array.fromAsync(rowBatches(store, 't', range, FILTERS));
}

for (const reverse of [false, true]) {
  const how = reverse ? 'a reverse scan' : 'a scan';
  test(`${how} finds every row of the range once, and its batches cover the range`, async () => {
    const rows = rowsOf(3);
    const store = await storeOf(rows);
    const range = { start: 'r0001', end: 'r1500' };
    const found = await scan(store, { ...range, reverse });
    assert.ok(found.length > 1);
    // From the first row to the last.
    const batches = reverse ? found.toReversed() : found;
    assert.deepEqual(
      batches.flatMap((batch) => {
        const keys = batch.rows.map(({ key }) => key);
        return reverse ? keys.toReversed() : keys;
      }),
      [...rows.keys()].filter((key) => key >= range.start && key < range.end),
    );
    assert.deepEqual(
      batches.map((batch) => batch.range.start),
      [range.start, ...batches.slice(0, -1).map((batch) => batch.range.end)],
      'each batch begins where the one before it ends',
    );
    assert.equal(batches.at(-1)?.range.end, range.end);
  });
}

test('a scan of nothing is one empty batch that covers the range', async () => {
  const store = await storeOf(new Map());
  assert.deepEqual(await scan(store), [{ rows: [], range: { start: undefined, end: undefined } }]);
});

test('batches have fewer rows the more cells a row has', async () => {
  const largest = async (cells: number, count: number): Promise<number> => {
    const batches = await scan(await storeOf(rowsOf(cells, count)));
    return Math.max(...batches.map((batch) => batch.rows.length));
  };
  assert.equal(await largest(1, 2_000), 1_024); // As many rows as a batch may have.
  assert.equal(await largest(8, 700), 512); // 4,096 cells.
  assert.equal(await largest(100, 200), 64); // The first batch; the next ones have 40 rows.
});

test('a scan goes on at the very next key, and ends with a batch that is not full', () => {
  const rows = ['a', 'b'].map((key) => ({ key, cells: [] }));
  assert.deepEqual(restOf({ limit: 2 }, rows), { start: 'b\0', limit: 2 });
  const reverse = { start: 'a', end: 'z', limit: 2, reverse: true };
  assert.deepEqual(restOf(reverse, rows.toReversed()), { ...reverse, end: 'a' });
  assert.equal(restOf({ limit: 3 }, rows), undefined);
  assert.equal(restOf({ limit: 2 }, []), undefined);
  assert.ok('b' < keyAfter('b') && keyAfter('b') < 'b\u{1}' && keyAfter('b') < 'ba');
});
