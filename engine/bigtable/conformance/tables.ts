/** Creating, listing, dropping and sampling tables, and the errors for missing ones. */
import assert from 'node:assert/strict';
import type { TableSchema } from '../bigtable.ts';
import { claim, erase, rejectWith, SCHEMA, set, type Open } from './claim.ts';

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
