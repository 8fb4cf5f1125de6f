/** Reading a range of rows, page by page. */
import assert from 'node:assert/strict';
import { claim, describeCells, set, type Open, type TestTable } from './claim.ts';

export function claimRanges(open: Open): void {
  claim('a range includes its start and excludes its end', open, async (t) => {
    await fill(t);
    assert.deepEqual(await keysOf(t, { start: 'r2', end: 'r4' }), ['r2', 'r3']);
    assert.deepEqual(await keysOf(t, { start: 'r2\0', end: 'r4\0' }), ['r3', 'r4']);
    assert.deepEqual(await keysOf(t, { start: 'r2', end: 'r2' }), []);
    assert.deepEqual(await keysOf(t, { end: '' }), []);
    assert.deepEqual(await keysOf(t, { start: 'r', end: 'r1' }), ['r0']);
  });

  claim('an absent start or end means that of the table', open, async (t) => {
    await fill(t);
    assert.deepEqual(await keysOf(t, { end: 'r2' }), ['r0', 'r1']);
    assert.deepEqual(await keysOf(t, { start: 'r8' }), ['r8', 'r9']);
    assert.equal((await keysOf(t, {})).length, 10);
  });

  claim(
    'pages that each begin after the last row of the one before make the table',
    open,
    async (t) => {
      await fill(t);
      const seen: string[] = [];
      for (;;) {
        const last = seen.at(-1);
        const page = await keysOf(t, { start: last === undefined ? undefined : `${last}\0` }, 3);
        if (page.length === 0) break;
        assert.ok(page.length <= 3);
        seen.push(...page);
      }
      assert.deepEqual(seen, await keysOf(t, {}));
    },
  );

  claim('rows without a passing cell do not count towards the limit', open, async (t) => {
    await fill(t);
    await t.mutate('r3', set('lock', 'q', 1));
    await t.mutate('r7', set('lock', 'q', 1));
    const rows = await t.store.readRange(t.table, { limit: 2 }, [{ family: 'lock' }]);
    assert.deepEqual(
      rows.map((row) => row.key),
      ['r3', 'r7'],
    );
  });

  claim(
    'the rows of a range hold what the filters pass',
    open,
    async ({ store, table, mutate }) => {
      await mutate('a', set('data', 'q', 1), set('data', 'q', 2), set('lock', 'p', 3));
      await mutate('b', set('data', 'q', 9));
      const filters = [{ family: 'lock' }, { family: 'data', to: 5, versions: 1 }];
      const rows = await store.readRange(table, { limit: 10 }, filters);
      assert.deepEqual(
        rows.map((row) => [row.key, describeCells(row)]),
        [['a', ['lock:p@3=3', 'data:q@2=2']]],
      );
    },
  );

  claim('a range of one table shows no row of its neighbours', open, async (t) => {
    await fill(t);
    const neighbours = ['conformance-', 'conformance0'];
    for (const name of neighbours) {
      await t.store.createTable(name, { families: ['data'] });
      await t.store.mutateRows([{ table: name, row: 'other', mutations: [set('data', 'q', 1)] }]);
    }
    assert.ok(!(await keysOf(t, {})).includes('other'));
    for (const name of neighbours) await t.store.dropTable(name);
    assert.equal((await keysOf(t, {})).length, 10);
  });
}

async function fill({ store, table }: TestTable): Promise<void> {
  const rows = Array.from({ length: 10 }, (_, i) => `r${i}`);
  await store.mutateRows(
    rows.map((row) => ({ table, row, mutations: [set('data', 'q', 1), set('data', 'p', 1)] })),
  );
}

async function keysOf(
  { store, table }: TestTable,
  range: { start?: string | undefined; end?: string | undefined },
  limit = 1000,
): Promise<string[]> {
  const rows = await store.readRange(table, { ...range, limit }, [{ family: 'data' }]);
  return rows.map((row) => row.key);
}
