/** Arguments outside the contract are refused before anything is applied. */
import assert from 'node:assert/strict';
import type { CellFilter, Mutation } from '../bigtable.ts';
import { claim, erase, rejectWith, set, type Open } from './claim.ts';

/** Half a character. */
const ALONE = '\uD800';
const BAD_TIMESTAMPS = [-1, 0.5, NaN, Infinity, 2 ** 53];

const BAD_MUTATIONS: readonly Mutation[] = [
  ...BAD_TIMESTAMPS.map((timestamp) => set('data', 'q', timestamp)),
  ...BAD_TIMESTAMPS.map((timestamp) => erase('data', 'q', timestamp, 5)),
  ...BAD_TIMESTAMPS.map((timestamp) => erase('data', 'q', 0, timestamp)),
  erase('data', 'q', 2, 1),
  set('data', ALONE, 1),
  set('data', 'q'.repeat(16_385), 1),
  set('data', 'é'.repeat(8_193), 1), // Characters of two bytes.
];

const BAD_FILTERS: readonly CellFilter[] = [
  ...BAD_TIMESTAMPS.map((from) => ({ family: 'data', from })),
  ...BAD_TIMESTAMPS.map((to) => ({ family: 'data', to })),
  ...[0, -1, 1.5, NaN].map((versions) => ({ family: 'data', versions })),
  { family: 'data', qualifier: ALONE },
  { family: 'data', suffix: ALONE },
  { family: 'data', qualifier: 'q', suffix: 'q' },
];

export function claimArguments(open: Open): void {
  claimKeys(open);
  claimValues(open);
  claimSchemas(open);
}

function claimKeys(open: Open): void {
  claim(
    'a row key is neither empty nor half a character',
    open,
    async ({ store, table, mutate }) => {
      const mutations = [set('data', 'q', 1)];
      for (const row of ['', ALONE, `a${ALONE}b`, '\uDC00\uD800']) {
        const refused = [
          mutate(row, ...mutations),
          store.readRow(table, row, [{ family: 'data' }]),
          store.readRows(table, ['r', row], [{ family: 'data' }]),
          store.checkAndMutateRow({ table, row, anyOf: [], ifNotFound: mutations }),
        ];
        await rejectWith('INVALID_ARGUMENT', refused);
      }
    },
  );

  claim(
    'a range has whole characters, and as its limit a whole number of at least 1',
    open,
    async ({ store, table }) => {
      const ranges = [
        { start: ALONE, limit: 1 },
        { end: ALONE, limit: 1 },
        ...[0, -1, 1.5, NaN].map((limit) => ({ limit })),
      ];
      const refused = ranges.map((range) => store.readRange(table, range, [{ family: 'data' }]));
      await rejectWith('INVALID_ARGUMENT', refused);
    },
  );
}

function claimValues(open: Open): void {
  claim('a bad mutation is refused, and with it the whole row', open, async (t) => {
    const good = set('data', 'good', 1);
    for (const bad of BAD_MUTATIONS) {
      await rejectWith('INVALID_ARGUMENT', [t.mutate('r', good, bad)]);
      const anyOf = [{ family: 'data', qualifier: 'q' }]; // Some stores demand a column.
      const conditional = { table: t.table, row: 'r', anyOf };
      const refused = [
        t.store.checkAndMutateRow({ ...conditional, ifFound: [bad], ifNotFound: [good] }),
        t.store.checkAndMutateRow({ ...conditional, ifFound: [], ifNotFound: [good, bad] }),
      ];
      await rejectWith('INVALID_ARGUMENT', refused);
    }
    assert.deepEqual(await t.keys(), []);
  });

  claim(
    'a bad filter is refused, in a read and in a check',
    open,
    async ({ store, table, keys }) => {
      for (const filter of BAD_FILTERS) {
        const refused = [
          store.readRow(table, 'r', [filter]),
          store.readRows(table, ['r'], [filter]),
          store.readRange(table, { limit: 1 }, [filter]),
          store.checkAndMutateRow({
            table,
            row: 'r',
            anyOf: [{ qualifier: 'q', ...filter }], // Some stores demand a column.
            ifNotFound: [set('data', 'q', 1)],
          }),
        ];
        await rejectWith('INVALID_ARGUMENT', refused);
      }
      assert.deepEqual(await keys(), []);
    },
  );

  claim('a conditional mutation must mutate in some case', open, async ({ store, table }) => {
    const conditional = { table, row: 'r', anyOf: [{ family: 'data', qualifier: 'q' }] };
    await rejectWith('INVALID_ARGUMENT', [store.checkAndMutateRow(conditional)]);
    const empty = { ...conditional, ifFound: [], ifNotFound: [] };
    await rejectWith('INVALID_ARGUMENT', [store.checkAndMutateRow(empty)]);
  });
}

function claimSchemas(open: Open): void {
  claim(
    'a table has a plain name, plain families, and splits that are row keys',
    open,
    async (t) => {
      const families = ['data'];
      const refused = [
        t.store.createTable('', { families }),
        t.store.createTable('con/formance', { families }),
        t.store.createTable('c'.repeat(51), { families }),
        t.store.createTable('conformance-bad', { families: ['da:ta'] }),
        t.store.createTable('conformance-bad', { families: [''] }),
        t.store.createTable('conformance-bad', { families: ['data', 'data'] }),
        t.store.createTable('conformance-bad', { families: numbered(101) }),
        t.store.createTable('conformance-bad', { families, splits: [''] }),
        t.store.createTable('conformance-bad', { families, splits: [ALONE] }),
      ];
      await rejectWith('INVALID_ARGUMENT', refused);
      assert.ok(!(await t.store.listTables()).includes('conformance-bad'));
    },
  );

  claim('a table may have 100 families', open, async ({ store }) => {
    const families = numbered(100);
    await store.createTable('conformance-wide', { families });
    const mutations = families.map((family) => set(family, 'q', 1));
    await store.mutateRows([{ table: 'conformance-wide', row: 'r', mutations }]);
    const filters = families.map((family) => ({ family }));
    const rows = await store.readRange('conformance-wide', { limit: 10 }, filters);
    assert.deepEqual(
      rows.map((row) => row.cells.map((cell) => cell.family)),
      [families],
    );
    await store.dropTable('conformance-wide');
  });
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `f${i}`);
}
