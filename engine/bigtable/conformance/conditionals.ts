/** Check and mutate: the one step on which every lock of Percolator depends. */
import assert from 'node:assert/strict';
import type { CellFilter, ConditionalRowMutation } from '../bigtable.ts';
import { claim, erase, set, TABLE, type Open, type TestTable } from './claim.ts';

/** Some of these filters pass a cell at q@3 or q\0@4, others pass nothing. */
const COLUMNS: readonly CellFilter[] = [
  { family: 'data', qualifier: 'q' },
  { family: 'data', qualifier: 'q', from: 3, to: 3 },
  { family: 'data', qualifier: 'q', from: 4 },
  { family: 'data', qualifier: 'q', to: 2 },
  { family: 'data', qualifier: 'q', from: 4, to: 3 },
  { family: 'data', qualifier: 'q\0', from: 4 },
  { family: 'data', qualifier: '' },
  { family: 'lock', qualifier: 'q' },
];
const FAMILIES: readonly CellFilter[] = [
  { family: 'data' },
  { family: 'data', from: 4 },
  { family: 'data', from: 5 },
  { family: 'data', from: 5, to: 4 },
  { family: 'data', suffix: '\0' },
  { family: 'lock' },
];

export function claimConditionals(open: Open): void {
  claimBranches(open);
  claimPredicates(open);
  claimAtomicity(open);
  claimBatches(open);
}

function claimBranches(open: Open): void {
  claim('a passing cell applies `ifFound`, none applies `ifNotFound`', open, async (t) => {
    const conditional: ConditionalRowMutation = {
      table: t.table,
      row: 'r',
      anyOf: [{ family: 'lock', qualifier: 'q' }],
      ifFound: [set('data', 'ifFound', 1)],
      ifNotFound: [set('data', 'ifNotFound', 1)],
    };
    assert.equal(await t.store.checkAndMutateRow(conditional), false);
    assert.deepEqual(await t.cells('r', { family: 'data' }), ['data:ifNotFound@1=1']);
    await t.mutate('r', set('lock', 'q', 1));
    assert.equal(await t.store.checkAndMutateRow(conditional), true);
    assert.deepEqual(await t.cells('r', { family: 'data' }), [
      'data:ifFound@1=1',
      'data:ifNotFound@1=1',
    ]);
  });

  claim('one of the two branches may be absent', open, async ({ store, mutate, cells }) => {
    await mutate('r', set('lock', 'q', 1));
    assert.equal(await store.checkAndMutateRow(lockUnlessLocked('r', 2)), true);
    assert.equal(await store.checkAndMutateRow(commitIfLocked('s', 1)), false);
    assert.deepEqual(await cells('r', { family: 'lock' }), ['lock:q@1=1']);
    assert.deepEqual(await cells('s', { family: 'write' }), []);
  });

  claim(
    'one passing filter of several is enough',
    open,
    async ({ store, table, mutate, cells }) => {
      // The predicate of a prewrite: any lock, or a write at or after the start timestamp.
      const anyOf = [
        { family: 'lock', qualifier: 'q' },
        { family: 'write', qualifier: 'q', from: 5 },
      ];
      const ifNotFound = [set('lock', 'q', 5)];
      await mutate('written before', set('write', 'q', 4));
      await mutate('written since', set('write', 'q', 5));
      await mutate('locked', set('lock', 'q', 1));
      const found = await store.checkAndMutateRows(
        ['written before', 'written since', 'locked'].map((row) => ({
          table,
          row,
          anyOf,
          ifNotFound,
        })),
      );
      assert.deepEqual(found, [false, true, true]);
      assert.deepEqual(await cells('written before', { family: 'lock' }), ['lock:q@5=5']);
      assert.deepEqual(await cells('written since', { family: 'lock' }), []);
    },
  );

  claim('a check of a column sees exactly what a read with its filter sees', open, (t) =>
    compareChecks(t, COLUMNS),
  );

  claim(
    'a check of a whole family sees exactly what a read with its filter sees',
    open,
    (t) => compareChecks(t, FAMILIES),
    ({ checksColumns = false }) => !checksColumns,
  );
}

async function compareChecks(t: TestTable, filters: readonly CellFilter[]): Promise<void> {
  await t.mutate('r', set('data', 'q', 3), set('data', 'q\0', 4));
  for (const filter of filters) {
    const read = await t.cells('r', filter);
    const mutations = [set('write', 'seen', 1)];
    const found = await t.store.checkAndMutateRow({
      table: t.table,
      row: 'r',
      anyOf: [filter],
      ifFound: mutations,
      ifNotFound: mutations,
    });
    assert.equal(found, read.length > 0, JSON.stringify(filter));
  }
}

function claimPredicates(open: Open): void {
  claim('a check without filters finds nothing', open, async ({ store, table, mutate, cells }) => {
    await mutate('r', set('data', 'q', 1));
    const mutations = { ifFound: [set('write', 'found', 1)], ifNotFound: [set('write', 'q', 1)] };
    const found = await store.checkAndMutateRow({ table, row: 'r', anyOf: [], ...mutations });
    assert.equal(found, false);
    assert.deepEqual(await cells('r', { family: 'write' }), ['write:q@1=1']);
  });

  claim('a check of many columns finds any one of them, with any name', open, async (t) => {
    const names = ['a', 'a|b', '.', '\\', 'é', '\0'];
    const anyOf = names.map((qualifier) => ({ family: 'lock', qualifier }));
    const ifNotFound = [set('data', 'q', 1)];
    const check = (row: string): Promise<boolean> =>
      t.store.checkAndMutateRow({ table: t.table, row, anyOf, ifNotFound });
    for (const [i, name] of names.entries()) {
      await t.mutate(`r${i}`, set('lock', name, 1));
      assert.equal(await check(`r${i}`), true, name);
    }
    await t.mutate('other', set('lock', 'b', 1), set('lock', 'x', 1), set('data', 'a', 1));
    assert.equal(await check('other'), false);
  });
}

function claimAtomicity(open: Open): void {
  claim('exactly one of hundreds of callers that lock one cell at once wins', open, async (t) => {
    const found = await Promise.all(
      Array.from({ length: 300 }, (_, i) => t.store.checkAndMutateRow(lockUnlessLocked('r', i))),
    );
    const winners = found.flatMap((wasLocked, i) => (wasLocked ? [] : [`lock:q@${i}=${i}`]));
    assert.equal(winners.length, 1);
    assert.deepEqual(await t.cells('r', { family: 'lock' }), winners);
  });

  claim('exactly one of many entries of a batch that commit one lock finds it', open, async (t) => {
    await t.mutate('r', set('lock', 'q', 1));
    const found = await t.store.checkAndMutateRows(
      Array.from({ length: 100 }, (_, i) => commitIfLocked('r', i)),
    );
    const winners = found.flatMap((wasLocked, i) => (wasLocked === true ? [i] : []));
    assert.equal(winners.length, 1);
    assert.equal(found.filter((wasLocked) => wasLocked === false).length, 99);
    assert.deepEqual(await t.cells('r', { family: 'lock' }, { family: 'write' }), [
      `write:q@${winners[0]}=${winners[0]}`,
    ]);
  });
}

function claimBatches(open: Open): void {
  claim('a batch answers each conditional mutation separately', open, async (t) => {
    await t.mutate('b', set('lock', 'q', 1));
    const found = await t.store.checkAndMutateRows(
      ['a', 'b', 'c'].map((row) => lockUnlessLocked(row, 2)),
    );
    assert.deepEqual(found, [false, true, false]);
    assert.deepEqual(await t.store.checkAndMutateRows([]), []);
  });

  claim('a bad entry of a batch is answered with its error, the others apply', open, async (t) => {
    const answers = await t.store.checkAndMutateRows([
      lockUnlessLocked('a', 2),
      { ...lockUnlessLocked('b', 2), table: 'nowhere' },
      { ...lockUnlessLocked('c', 2), ifNotFound: [set('nofamily', 'q', 1)] },
      { ...lockUnlessLocked('d', 2), ifNotFound: [] },
      lockUnlessLocked('e', 2),
    ]);
    assert.deepEqual(
      answers.map((answer) =>
        answer instanceof Error ? (answer as { code?: unknown }).code : answer,
      ),
      [false, 'TABLE_NOT_FOUND', 'FAMILY_NOT_FOUND', 'INVALID_ARGUMENT', false],
    );
    const rows = await t.store.readRange(t.table, { limit: 9 }, [{ family: 'lock' }]);
    assert.deepEqual(
      rows.map((row) => row.key),
      ['a', 'e'],
    );
  });
}

function lockUnlessLocked(row: string, timestamp: number): ConditionalRowMutation {
  const anyOf = [{ family: 'lock', qualifier: 'q' }];
  return { table: TABLE, row, anyOf, ifNotFound: [set('lock', 'q', timestamp)] };
}

function commitIfLocked(row: string, timestamp: number): ConditionalRowMutation {
  const anyOf = [{ family: 'lock', qualifier: 'q', from: 1, to: 1 }];
  const ifFound = [set('write', 'q', timestamp), erase('lock', 'q', 1, 1)];
  return { table: TABLE, row, anyOf, ifFound };
}
