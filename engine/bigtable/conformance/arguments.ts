/** Arguments outside the contract are refused before anything is applied. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../base/index.ts';
import type { CellFilter, Mutation, TableSchema } from '../bigtable.ts';
import { claim, erase, type Open, rejectWith, SCHEMA, set, TABLE } from './claim.ts';

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

/* Closing waits for calls in flight, and refuses later ones. */

export function claimClosing(open: Open): void {
  const rowMutation = { table: TABLE, row: 'r', mutations: [set('data', 'q', 1)] };
  const conditional = { table: TABLE, row: 'r', anyOf: [], ifNotFound: rowMutation.mutations };
  const filters = [{ family: 'data' }];

  test('a closed store refuses every operation', async () => {
    const store = await open();
    await store.close();
    const refused = [
      store.readRow(TABLE, 'r', filters),
      store.readRows(TABLE, ['r'], filters),
      store.readRange(TABLE, { limit: 1 }, filters),
      store.mutateRows([rowMutation]),
      store.mutateRows([]),
      store.checkAndMutateRow(conditional),
      store.sampleRowKeys(TABLE),
      store.createTable(TABLE, SCHEMA),
      store.listTables(),
      store.dropTable(TABLE),
    ];
    await rejectWith('STORE_CLOSED', refused);
    const [answer] = await store.checkAndMutateRows([conditional]);
    assert.equal((answer as { code?: unknown }).code, 'STORE_CLOSED');
  });

  test('closing twice is harmless', async () => {
    const store = await open();
    await assert.doesNotReject(Promise.all([store.close(), store.close()]));
    await assert.doesNotReject(store.close());
    await assert.doesNotReject(async () => store[Symbol.asyncDispose]());
  });

  test('closing waits for calls in flight', async () => {
    const store = await open();
    await store.createTable(TABLE, SCHEMA);
    await store.createTable(`${TABLE}-dropped`, SCHEMA);
    const sent: Promise<unknown>[] = [
      store.mutateRows([rowMutation]),
      store.checkAndMutateRow(conditional),
      store.readRow(TABLE, 'r', filters),
      store.dropTable(`${TABLE}-dropped`),
    ];
    let answered = 0;
    for (const call of sent) void call.then(() => answered++);
    await store.close();
    await systemClock.yield(); // A store in memory may close before the last `then` above runs.
    assert.equal(answered, sent.length);
    // A store that outlives its test, such as an emulator, must not keep the table.
    await using again = await open();
    await again.dropTable(TABLE);
  });
}

/* Creating, listing, dropping and sampling tables, and the errors for missing ones. */

const SPLIT: TableSchema = { families: ['data'], splits: ['m', 'b', '\u{10000}', '\uFFFF'] };

export function claimTables(open: Open): void {
  claimLife(open);
  claimSplits(open);
  claimMissing(open);
}

function claimLife(open: Open): void {
  claim('creating a table twice with one schema is harmless', open, async (t) => {
    await t.mutate('r', set('data', 'q', 1));
    await t.store.createTable(t.table, SCHEMA);
    await t.store.createTable(t.table, { families: SCHEMA.families.toReversed(), splits: [] });
    assert.deepEqual(await t.keys(), ['r']);
  });

  claim('creating a table again with other families is refused', open, async ({ store, table }) => {
    await rejectWith('TABLE_MISMATCH', [store.createTable(table, { families: ['data'] })]);
    const more = { families: [...SCHEMA.families, 'more'] };
    await rejectWith('TABLE_MISMATCH', [store.createTable(table, more)]);
  });

  claim('a table keeps its families when the caller changes its list', open, async ({ store }) => {
    const table = 'conformance-families';
    const families = ['data', 'lock'];
    await store.createTable(table, { families });
    families.length = 0;
    await store.mutateRows([{ table, row: 'r', mutations: [set('lock', 'q', 1)] }]);
    await store.createTable(table, { families: ['data', 'lock'] });
    const row = await store.readRow(table, 'r', [{ family: 'lock' }]);
    assert.equal(row?.cells.length, 1);
    await store.dropTable(table);
  });

  claim('tables are listed while they exist', open, async ({ store, table }) => {
    await store.createTable('conformance-listed', SCHEMA);
    const listed = await store.listTables();
    assert.ok(listed.includes(table));
    assert.ok(listed.includes('conformance-listed'));
    await store.dropTable('conformance-listed');
    assert.ok(!(await store.listTables()).includes('conformance-listed'));
  });

  claim('a dropped table is gone with its data', open, async ({ store, table, mutate, keys }) => {
    await mutate('r', set('data', 'q', 1));
    await store.dropTable(table);
    await rejectWith('TABLE_NOT_FOUND', [store.readRow(table, 'r', [{ family: 'data' }])]);
    await rejectWith('TABLE_NOT_FOUND', [mutate('r', set('data', 'q', 1))]);
    await store.createTable(table, { families: ['other', 'data'] });
    assert.deepEqual(await keys(), []);
  });

  claim('dropping a table that does not exist is harmless', open, async ({ store }) => {
    await assert.doesNotReject(store.dropTable('conformance-absent'));
  });
}

function claimSplits(open: Open): void {
  claim('a table without splits is one section', open, async ({ store, table }) => {
    assert.deepEqual(await store.sampleRowKeys(table), []);
  });

  claim(
    'splits given at creation come back in order',
    open,
    async ({ store }) => {
      await store.createTable('conformance-split', SPLIT);
      const sections = await store.sampleRowKeys('conformance-split');
      assert.deepEqual(sections, ['b', 'm', '\uFFFF', '\u{10000}']);
      await store.createTable('conformance-split', SPLIT);
      const unsplit = store.createTable('conformance-split', { families: ['data'] });
      await rejectWith('TABLE_MISMATCH', [unsplit]);
      await store.dropTable('conformance-split');
    },
    (manifest) => manifest.splits,
  );
}

function claimMissing(open: Open): void {
  claim('every operation says when there is no such table', open, async ({ store }) => {
    const table = 'conformance-absent';
    const mutations = [set('data', 'q', 1)];
    const filters = [{ family: 'data' }];
    const refused = [
      store.readRow(table, 'r', filters),
      store.readRows(table, ['r'], filters),
      store.readRange(table, { limit: 1 }, filters),
      store.mutateRows([{ table, row: 'r', mutations }]),
      store.checkAndMutateRow({ table, row: 'r', anyOf: filters, ifNotFound: mutations }),
      store.sampleRowKeys(table),
    ];
    await rejectWith('TABLE_NOT_FOUND', refused);
  });

  claim('every operation says when there is no such family', open, async (t) => {
    const { store, table } = t;
    const filters = [{ family: 'data' }, { family: 'nofamily' }];
    const [good, bad] = [[set('data', 'q', 1)], [set('nofamily', 'q', 1)]];
    const conditional = { table, row: 'r', anyOf: [{ family: 'data' }] };
    const refused = [
      store.readRow(table, 'r', filters),
      store.readRows(table, ['r'], filters),
      store.readRange(table, { limit: 1 }, filters),
      t.mutate('r', ...good, ...bad),
      t.mutate('r', ...good, erase('nofamily', 'q', 1, 2)),
      store.checkAndMutateRow({ ...conditional, anyOf: filters, ifNotFound: good }),
      store.checkAndMutateRow({ ...conditional, ifFound: bad, ifNotFound: good }),
      store.checkAndMutateRow({ ...conditional, ifFound: good, ifNotFound: bad }),
    ];
    await rejectWith('FAMILY_NOT_FOUND', refused);
    assert.deepEqual(await t.keys(), [], 'and applies nothing');
  });
}
