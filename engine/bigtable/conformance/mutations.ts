/** Blind mutations: replacing and erasing cells, their order, and calls with many rows. */
import assert from 'node:assert/strict';
import { type Manifest, TIMESTAMP_MAX } from '../bigtable.ts';
import { claim, erase, SCHEMA, set, type Open, type TestTable } from './claim.ts';

const hasNoTombstones = ({ tombstones = false }: Manifest): boolean => !tombstones;

export function claimMutations(open: Open): void {
  claimOneRow(open);
  claimErase(open);
  claimManyRows(open);
}

function claimOneRow(open: Open): void {
  claim('a cell replaces the one of the same timestamp', open, async ({ mutate, cells }) => {
    await mutate('r', set('data', 'q', 1, 'old'), set('data', 'q', 2, 'other'));
    await mutate('r', set('data', 'q', 1, 'new'));
    assert.deepEqual(await cells('r', { family: 'data' }), ['data:q@2=other', 'data:q@1=new']);
  });

  claim('a mutation with explicit timestamps may be repeated', open, async ({ mutate, cells }) => {
    const mutations = [erase('lock', 'q', 3, 3), set('write', 'q', 5, '3')];
    await mutate('r', set('lock', 'q', 3));
    await mutate('r', ...mutations);
    await mutate('r', ...mutations);
    assert.deepEqual(await cells('r', { family: 'lock' }, { family: 'write' }), ['write:q@5=3']);
  });

  claim('the mutations of one row apply in the order given', open, async ({ mutate, cells }) => {
    await mutate('erased last', set('data', 'q', 1), erase('data', 'q', 0, 9));
    assert.deepEqual(await cells('erased last', { family: 'data' }), []);

    await mutate('set twice', set('data', 'q', 1, 'first'), set('data', 'q', 1, 'second'));
    assert.deepEqual(await cells('set twice', { family: 'data' }), ['data:q@1=second']);
  });

  claim(
    'a cell that is set after an erase of its timestamp is there',
    open,
    async ({ mutate, cells }) => {
      await mutate('at once', set('data', 'q', 1, 'old'));
      await mutate('at once', erase('data', 'q', 0, 9), set('data', 'q', 1, 'new'));
      assert.deepEqual(await cells('at once', { family: 'data' }), ['data:q@1=new']);

      await mutate('later', erase('data', 'q', 1, 1));
      await mutate('later', set('data', 'q', 1, 'new'));
      assert.deepEqual(await cells('later', { family: 'data' }), ['data:q@1=new']);
    },
    hasNoTombstones,
  );
}

function claimErase(open: Open): void {
  claim('an erase takes the end of its range and nothing else', open, async (t) => {
    await fillAround(t);
    await t.mutate('r', erase('data', 'q', 0, 4));
    assert.deepEqual(await t.cells('r', { family: 'data' }, { family: 'lock' }), [
      'data:p@3=3',
      'data:q@5=5',
      'data:q\0@3=3',
      'lock:q@3=3',
    ]);
    assert.deepEqual(await t.cells('s', { family: 'data' }), ['data:q@3=3']);
  });

  claim(
    'an erase takes the start of its range and nothing before it',
    open,
    async (t) => {
      await fillAround(t);
      await t.mutate('r', erase('data', 'q', 2, 4));
      const column = { family: 'data', qualifier: 'q' };
      assert.deepEqual(await t.cells('r', column), ['data:q@5=5', 'data:q@1=1']);
    },
    hasNoTombstones,
  );

  claim('an erase of one timestamp takes that version only', open, async ({ mutate, cells }) => {
    await mutate('r', set('data', 'q', 1), set('data', 'q', 2), set('data', 'q', 3));
    await mutate('r', erase('data', 'q', 2, 2));
    assert.deepEqual(await cells('r', { family: 'data' }), ['data:q@3=3', 'data:q@1=1']);
  });

  claim('an erase from 0 to the last timestamp leaves no row', open, async ({ mutate, keys }) => {
    await mutate('r', set('data', 'q', 0), set('data', 'q', TIMESTAMP_MAX));
    await mutate('r', erase('data', 'q', 0, TIMESTAMP_MAX));
    assert.deepEqual(await keys(), []);
  });

  claim('erasing cells that do not exist is harmless', open, async ({ mutate, keys }) => {
    await mutate('r', erase('data', 'q', 0, 5));
    await mutate('r', erase('data', 'q', 5, 5));
    assert.deepEqual(await keys(), []);
  });
}

/** Versions 1 to 5 of a column, and cells next to it that no erase of it may touch. */
async function fillAround({ mutate }: TestTable): Promise<void> {
  await mutate('r', ...[1, 2, 3, 4, 5].map((timestamp) => set('data', 'q', timestamp)));
  await mutate('r', set('data', 'p', 3), set('data', 'q\0', 3), set('lock', 'q', 3));
  await mutate('s', set('data', 'q', 3));
}

function claimManyRows(open: Open): void {
  claim('one call mutates rows of several tables', open, async ({ store, table, cells }) => {
    const other = `${table}-other`;
    await store.createTable(other, SCHEMA);
    const mutations = [set('data', 'q', 1)];
    await store.mutateRows([
      { table, row: 'r', mutations },
      { table: other, row: 's', mutations },
    ]);
    assert.deepEqual(await cells('r', { family: 'data' }), ['data:q@1=1']);
    assert.equal((await store.readRow(other, 's', [{ family: 'data' }]))?.cells.length, 1);
    assert.equal(await store.readRow(other, 'r', [{ family: 'data' }]), undefined);
    await store.dropTable(other);
  });

  claim('a call with many rows, and one with none', open, async ({ store, table, keys }) => {
    const rows = Array.from({ length: 2000 }, (_, i) => `r${String(i).padStart(4, '0')}`);
    await store.mutateRows([]);
    await store.mutateRows(rows.map((row) => ({ table, row, mutations: [set('data', 'q', 1)] })));
    assert.deepEqual(await keys(), rows);
  });

  claim('a row without mutations stays unchanged', open, async ({ store, table, mutate, keys }) => {
    await mutate('r', set('data', 'q', 1));
    await mutate('r');
    await mutate('s');
    await store.mutateRows([
      { table, row: 's', mutations: [] },
      { table, row: 't', mutations: [set('data', 'q', 1)] },
    ]);
    assert.deepEqual(await keys(), ['r', 't']);
  });

  claim(
    'mutations sent without waiting are applied in the order sent',
    open,
    async ({ store, table, mutate, cells }) => {
      await mutate('r', set('data', 'q', 0));
      // A chain: each link is set only if the previous link exists.
      const links = Array.from({ length: 100 }, (_, i) =>
        i % 10 === 9
          ? mutate('r', set('data', 'q', i + 1))
          : store.checkAndMutateRow({
              table,
              row: 'r',
              anyOf: [{ family: 'data', qualifier: 'q', from: i, to: i }],
              ifFound: [set('data', 'q', i + 1)],
            }),
      );
      await Promise.all(links);
      assert.equal((await cells('r', { family: 'data' })).length, 101);
    },
    (manifest) => manifest.ordered,
  );
}
