/** Blind mutations: replacing and erasing cells, their order, and calls with many rows. */
import assert from 'node:assert/strict';
import {
  type CellFilter,
  type ConditionalRowMutation,
  type Manifest,
  TIMESTAMP_MAX,
} from '../bigtable.ts';
import { claim, erase, type Open, SCHEMA, set, TABLE, type TestTable } from './claim.ts';

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

/* Check and mutate: the one step on which every lock of Percolator depends. */

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

/*
 * Rows and qualifiers are ordered by their UTF-8 bytes, which is neither JavaScript's order nor a
 * dictionary's.
 */

/**
 * Keys in their order, among them those that a storage may get wrong: zero bytes (an encoding may
 * end a key with one), prefixes, bytes that are negative if they are signed, and U+10000, which
 * JavaScript compares by its surrogates (D800 ...) and so sorts before U+E000.
 */
const IN_ORDER: readonly string[] = [
  '\0',
  '\0\0',
  '\0\u0001',
  '\0a',
  '\u0001',
  '\u0001\u0001',
  'A',
  'a',
  'a\0',
  'a\0\0',
  'a\0\u0001',
  'a\0b',
  'a\u0001',
  'aa',
  'a\u{10FFFF}',
  'b',
  '\u007F',
  '\u0080',
  'é',
  'é\0',
  'ÿ',
  '\u07FF',
  '\u0800',
  '中',
  '\uD7FF',
  '\uE000',
  '\uFFFD',
  '\uFFFF',
  '\u{10000}',
  '😀',
  '\u{10FFFF}',
  '\u{10FFFF}\0',
];

export function claimOrder(open: Open): void {
  claim('rows come in the order of their UTF-8 bytes', open, async ({ mutate, keys }) => {
    for (const row of scrambled()) await mutate(row, set('data', 'q', 1));
    assert.deepEqual(await keys(), IN_ORDER);
  });

  claim(
    'a range from any key to the third key after it, or to the end, holds exactly the rows in between',
    open,
    async (t) => {
      for (const row of scrambled()) await t.mutate(row, set('data', 'q', 1));
      for (let i = 0; i < IN_ORDER.length; i++) {
        const range = { start: IN_ORDER[i], end: IN_ORDER[i + 3], limit: 1000 };
        const rows = await t.store.readRange(t.table, range, [{ family: 'data' }]);
        assert.deepEqual(
          rows.map((row) => row.key),
          IN_ORDER.slice(i, i + 3),
        );
      }
    },
  );

  claim('qualifiers come in the order of their UTF-8 bytes', open, async (t) => {
    for (const qualifier of scrambled()) await t.mutate('r', set('data', qualifier, 1));
    const row = await t.store.readRow(t.table, 'r', [{ family: 'data' }]);
    assert.deepEqual(
      row?.cells.map((cell) => cell.qualifier),
      IN_ORDER,
    );
  });

  claim('rows and columns of similar names are not confused', open, async ({ mutate, cells }) => {
    const similar = ['a', 'a\0', 'a\0\u0001', 'a\0\u00FF', 'aa'];
    for (const row of similar) {
      for (const qualifier of similar) {
        await mutate(row, set('data', qualifier, 1, JSON.stringify([row, qualifier])));
      }
    }
    for (const row of similar) {
      for (const qualifier of similar) {
        assert.deepEqual(await cells(row, { family: 'data', qualifier }), [
          `data:${qualifier}@1=${JSON.stringify([row, qualifier])}`,
        ]);
      }
    }
  });
}

/** Every 7th key, repeatedly, until all are there: neither the right order nor its reverse. */
function scrambled(): string[] {
  return IN_ORDER.map((_, i) => IN_ORDER[(i * 7) % IN_ORDER.length] ?? '');
}
