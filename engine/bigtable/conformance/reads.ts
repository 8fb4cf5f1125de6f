/** Reading rows: which cells pass, in which order they come, and that each row is read whole. */
import assert from 'node:assert/strict';
import { bytesOf, systemClock } from '../../base/index.ts';
import { type CellFilter, TIMESTAMP_MAX } from '../bigtable.ts';
import { claim, describeCells, erase, type Open, set, type TestTable } from './claim.ts';

export function claimReads(open: Open): void {
  claimCells(open);
  claimFilters(open);
  claimColumns(open);
  claimUnusualFilters(open);
  claimManyColumns(open);
  claimRows(open);
  claimWhole(open);
}

function claimCells(open: Open): void {
  claim('a cell that was set is read', open, async ({ mutate, cells }) => {
    await mutate('r', set('data', 'q', 7, 'hello'));
    assert.deepEqual(await cells('r', { family: 'data', qualifier: 'q' }), ['data:q@7=hello']);
  });

  claim('values of no bytes, of every byte and of 1 MB come back whole', open, async (t) => {
    const values = [
      new Uint8Array(0),
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
      bytesOf('percolator'.repeat((1 << 20) / 10)),
    ];
    for (const [i, value] of values.entries()) {
      const mutation = {
        kind: 'set',
        family: 'data',
        qualifier: 'q',
        timestamp: 1,
        value,
      } as const;
      await t.mutate(`r${i}`, mutation);
      const row = await t.store.readRow(t.table, `r${i}`, [{ family: 'data' }]);
      assert.equal(row?.cells.length, 1);
      const [cell] = row.cells;
      assert.equal(cell?.value.length, value.length);
      assert.ok(
        cell.value.every((byte, at) => byte === value[at]),
        `${value.length} bytes`,
      );
    }
  });

  claim('timestamps reach from 0 to 2^53 - 1', open, async ({ mutate, cells }) => {
    const timestamps = [0, 1, 2 ** 32 - 1, 2 ** 32, TIMESTAMP_MAX - 1, TIMESTAMP_MAX];
    await mutate('r', ...timestamps.map((timestamp) => set('data', 'q', timestamp, '')));
    const newestFirst = timestamps.toReversed().map((timestamp) => `data:q@${timestamp}=`);
    assert.deepEqual(await cells('r', { family: 'data', qualifier: 'q' }), newestFirst);
    assert.deepEqual(await cells('r', { family: 'data', qualifier: 'q', to: 0 }), ['data:q@0=']);
    const newest = { family: 'data', qualifier: 'q', from: TIMESTAMP_MAX };
    assert.deepEqual(await cells('r', newest), [`data:q@${TIMESTAMP_MAX}=`]);
  });

  claim(
    'versions come newest first, whatever the order in which they were set',
    open,
    async (t) => {
      for (const timestamp of [5, 1, 9, 3]) await t.mutate('r', set('data', 'q', timestamp));
      assert.deepEqual(await t.cells('r', { family: 'data', qualifier: 'q' }), [
        'data:q@9=9',
        'data:q@5=5',
        'data:q@3=3',
        'data:q@1=1',
      ]);
    },
  );
}

function claimFilters(open: Open): void {
  claim('a time range includes both its ends', open, async ({ mutate, cells }) => {
    await mutate('r', ...[1, 2, 3, 4, 5].map((timestamp) => set('data', 'q', timestamp)));
    const column = { family: 'data', qualifier: 'q' };
    assert.deepEqual(await cells('r', { ...column, from: 2, to: 4 }), [
      'data:q@4=4',
      'data:q@3=3',
      'data:q@2=2',
    ]);
    assert.deepEqual(await cells('r', { ...column, from: 3, to: 3 }), ['data:q@3=3']);
    assert.deepEqual(await cells('r', { ...column, from: 5 }), ['data:q@5=5']);
    assert.deepEqual(await cells('r', { ...column, to: 1 }), ['data:q@1=1']);
    assert.deepEqual(await cells('r', { ...column, from: 6 }), []);
  });

  claim('versions limits each column separately, to its newest in the range', open, async (t) => {
    for (const qualifier of ['a', 'b']) {
      await t.mutate('r', ...[1, 2, 3].map((timestamp) => set('data', qualifier, timestamp)));
    }
    assert.deepEqual(await t.cells('r', { family: 'data', versions: 1, to: 2 }), [
      'data:a@2=2',
      'data:b@2=2',
    ]);
    assert.deepEqual(await t.cells('r', { family: 'data', qualifier: 'b', versions: 2 }), [
      'data:b@3=3',
      'data:b@2=2',
    ]);
    assert.equal((await t.cells('r', { family: 'data', versions: 100 })).length, 6);
  });

  claim('a filter without a qualifier passes every column of its family', open, async (t) => {
    await t.mutate('r', set('data', 'b', 1), set('data', '', 1), set('data', 'a', 1));
    await t.mutate('r', set('write', 'a', 1));
    assert.deepEqual(await t.cells('r', { family: 'data' }), [
      'data:@1=1',
      'data:a@1=1',
      'data:b@1=1',
    ]);
  });

  claim('a qualifier is matched whole', open, async ({ mutate, cells }) => {
    for (const qualifier of ['a', 'aa', 'a\0', 'a.', '']) {
      await mutate('r', set('data', qualifier, 1, qualifier));
    }
    assert.deepEqual(await cells('r', { family: 'data', qualifier: 'a' }), ['data:a@1=a']);
    assert.deepEqual(await cells('r', { family: 'data', qualifier: '' }), ['data:@1=']);
    assert.deepEqual(await cells('r', { family: 'data', qualifier: '.' }), []);
  });

  claim('cells come in the order of the filters of the read', open, async ({ mutate, cells }) => {
    await mutate('r', set('data', 'q', 1), set('write', 'q', 2), set('lock', 'q', 3));
    const [data, lock, write] = ['data', 'lock', 'write'].map((family) => ({ family }));
    assert.ok(data !== undefined && lock !== undefined && write !== undefined);
    const inOrder = ['lock:q@3=3', 'write:q@2=2', 'data:q@1=1'];
    assert.deepEqual(await cells('r', lock, write, data), inOrder);
    assert.deepEqual(await cells('r', data, write, lock), inOrder.toReversed());
  });
}

function claimColumns(open: Open): void {
  claim(
    'a suffix passes the columns that end with it, versions counted for each',
    open,
    async (t) => {
      for (const qualifier of ['a:lock', 'b:lock', 'a:write', ':lock', 'lock', 'a:lock:b']) {
        await t.mutate('r', set('data', qualifier, 1), set('data', qualifier, 2));
      }
      const locks = { family: 'data', suffix: ':lock' };
      const names = [':lock', 'a:lock', 'b:lock'];
      const newest = names.map((name) => `data:${name}@2=2`);
      assert.deepEqual(await t.cells('r', { ...locks, versions: 1 }), newest);
      assert.equal((await t.cells('r', locks)).length, 6);
      assert.deepEqual(await t.cells('r', { family: 'data', suffix: '.lock' }), []);
      const rows = await t.store.readRange(t.table, { limit: 9 }, [{ ...locks, from: 2 }]);
      assert.deepEqual(describeCells(rows[0]), newest);
      const both = { ...locks, qualifier: 'a:lock' };
      await assert.rejects(t.store.readRow(t.table, 'r', [both]), { code: 'INVALID_ARGUMENT' });
    },
  );

  claim(
    'suffixes that together exceed what one filter can hold are read at once',
    open,
    async (t) => {
      const suffixes = ['a', 'b', 'c'].map((end) => `${'é'.repeat(1000)}${end}`);
      for (const qualifier of [...suffixes, ...suffixes.map((suffix) => `q${suffix}`), 'c']) {
        await t.mutate('r', set('data', qualifier, 1), set('data', qualifier, 2));
      }
      const filters = suffixes.map((suffix) => ({ family: 'data', suffix, versions: 1 }));
      assert.deepEqual(
        await t.cells('r', ...filters),
        suffixes.flatMap((suffix) => [`data:q${suffix}@2=2`, `data:${suffix}@2=2`]),
      );
    },
  );

  claim('a column does not pass with its neighbours', open, async (t) => {
    // A storage may read these three by one range, which has all the others except `c` in it.
    const wanted = ['c:data', 'c:lock', 'c:write'];
    const others = ['c:data:lock', 'c:e:lock', 'c:rollback', 'c:lock:data', 'c:l', 'c'];
    for (const qualifier of [...wanted, ...others]) {
      await t.mutate('r', ...[1, 2, 3].map((timestamp) => set('data', qualifier, timestamp)));
    }
    const filters = wanted.map((qualifier, i) => ({
      family: 'data',
      qualifier,
      to: 2,
      versions: i + 1,
    }));
    assert.deepEqual(await t.cells('r', ...filters.toReversed()), [
      'data:c:write@2=2',
      'data:c:write@1=1',
      'data:c:lock@2=2',
      'data:c:lock@1=1',
      'data:c:data@2=2',
    ]);
    const absent = { family: 'data', qualifier: 'c:x', from: 3, to: 3, versions: 1 };
    assert.deepEqual(await t.cells('r', absent), []);
  });
}

function claimUnusualFilters(open: Open): void {
  claim('no filters, and an empty range, pass nothing', open, async (t) => {
    await t.mutate('r', set('data', 'q', 1), set('data', 'q', 2));
    const inverted = { family: 'data', from: 2, to: 1 };
    for (const filters of [[], [inverted], [inverted, { ...inverted, qualifier: 'q' }]]) {
      assert.equal(await t.store.readRow(t.table, 'r', filters), undefined);
      assert.deepEqual(await t.store.readRows(t.table, ['r', 's'], filters), [
        undefined,
        undefined,
      ]);
      assert.deepEqual(await t.store.readRange(t.table, { limit: 9 }, filters), []);
    }
    assert.deepEqual(await t.cells('r', inverted, { family: 'data', to: 1 }), ['data:q@1=1']);
  });

  claim('a cell that passes two filters comes twice', open, async ({ mutate, cells }) => {
    await mutate('r', set('data', 'p', 3), set('data', 'q', 1), set('data', 'q', 2));
    const family = { family: 'data' };
    const column = { family: 'data', qualifier: 'q' };
    assert.deepEqual(await cells('r', column, family), [
      'data:q@2=2',
      'data:q@1=1',
      'data:p@3=3',
      'data:q@2=2',
      'data:q@1=1',
    ]);
    const older = { ...column, to: 1 };
    assert.deepEqual(await cells('r', older, { ...column, versions: 1 }, older), [
      'data:q@1=1',
      'data:q@2=2',
      'data:q@1=1',
    ]);
  });
}

function claimManyColumns(open: Open): void {
  claim('many columns of a row are read at once, with any names', open, async (t) => {
    const names = [
      '',
      'a',
      'a|b',
      'a.',
      '.*',
      '\\',
      '\\C',
      '[a]',
      'é',
      '\0',
      '\n',
      '😀',
      'a$',
      '^',
    ];
    const sets = names.flatMap((name) => [set('data', name, 1, name), set('lock', name, 2, name)]);
    await t.mutate('r', ...sets);
    await t.mutate('r', set('data', 'ab', 1), set('data', 'aXb', 1), set('data', 'aa', 1));
    const filters = names.flatMap((qualifier) => [
      { family: 'lock', qualifier, versions: 1 },
      { family: 'data', qualifier, to: 5, versions: 2 },
    ]);
    assert.deepEqual(
      await t.cells('r', ...filters),
      names.flatMap((name) => [`lock:${name}@2=${name}`, `data:${name}@1=${name}`]),
    );
  });

  claim(
    'columns whose names together exceed what one filter can hold are read at once',
    open,
    async (t) => {
      const names = Array.from({ length: 20 }, (_, i) => `${i}${'.'.repeat(2000)}`);
      await t.mutate('r', ...names.map((name) => set('data', name, 1)), set('data', 'other', 1));
      const filters = names.map((qualifier) => ({ family: 'data', qualifier }));
      assert.deepEqual(
        await t.cells('r', ...filters),
        names.map((name) => `data:${name}@1=1`),
      );
    },
  );
}

function claimRows(open: Open): void {
  claim('a row with no passing cell is undefined', open, async ({ store, table, mutate }) => {
    await mutate('r', set('data', 'q', 1));
    assert.equal(await store.readRow(table, 'absent', [{ family: 'data' }]), undefined);
    assert.equal(await store.readRow(table, 'r', [{ family: 'lock' }]), undefined);
    assert.equal(await store.readRow(table, 'r', [{ family: 'data', from: 2 }]), undefined);
  });

  claim('several rows come in the order asked for, absent ones undefined', open, async (t) => {
    for (const row of ['a', 'b', 'c']) await t.mutate(row, set('data', 'q', 1, row));
    const rows = await t.store.readRows(t.table, ['c', 'x', 'a', 'c'], [{ family: 'data' }]);
    assert.deepEqual(
      rows.map((row) => row?.key),
      ['c', undefined, 'a', 'c'],
    );
    assert.deepEqual(rows.map(describeCells), [['data:q@1=c'], [], ['data:q@1=a'], ['data:q@1=c']]);
    assert.deepEqual(await t.store.readRows(t.table, [], [{ family: 'data' }]), []);
  });

  claim('a read never sees half of a row mutation', open, async ({ mutate, cells }) => {
    const writeBoth = (text: string): Promise<void> =>
      mutate('r', set('data', 'q', 1, text), set('write', 'q', 1, text));
    await writeBoth('first');
    const written = new AbortController();
    const writes = Array.from({ length: 100 }, (_, i) => writeBoth(`${i}`));
    const writing = Promise.all(writes).finally(() => written.abort());
    // A store may answer a hundred reads before it applies the first of these writes.
    for (let i = 0; i < 100 || !written.signal.aborted; i++) {
      const [data, write] = await cells('r', { family: 'data' }, { family: 'write' });
      assert.ok(data !== undefined);
      assert.equal(data.replace('data', ''), write?.replace('write', ''));
      await systemClock.yield(); // Reads that never wait must not keep the store from writing.
    }
    await writing;
  });

  claim('a read that begins after a mutation has resolved sees it', open, async (t) => {
    for (let i = 1; i <= 50; i++) {
      await t.mutate('r', set('data', 'q', i));
      assert.deepEqual(await t.cells('r', { family: 'data', versions: 1 }), [`data:q@${i}=${i}`]);
    }
  });
}

/** Cells that no mutation touches, in columns around those that come and go. */
const STAYING = ['a:write', 'm:data', 'm:write', 'z:data', 'z:write'];
const COMING = ['a:lock', 'm:lock', 'm:more', 'z:lock'];

function claimWhole(open: Open): void {
  const asked: Readonly<Record<string, readonly CellFilter[]>> = {
    'a cell by its columns': ['data', 'lock', 'write'].map((kind) => inData(`z:${kind}`)),
    'one column': [inData('z:write')],
    'many columns': [...STAYING, 'x:write'].map(inData),
    'a family': [{ family: 'data' }],
    'columns with a suffix': [{ family: 'data', suffix: ':write', versions: 1 }],
  };
  for (const [what, filters] of Object.entries(asked)) {
    const name = `a read of ${what} leaves nothing out while other columns come and go`;
    claim(name, open, async (table) => {
      await table.mutate('r', ...STAYING.map((qualifier) => set('data', qualifier, 1)));
      const stop = new AbortController();
      const changing = COMING.map((qualifier) => comeAndGo(table, qualifier, stop.signal));
      const readers = Array.from({ length: 8 }, () => readAgain(table, filters));
      const found = await Promise.all(readers).finally(() => stop.abort());
      await Promise.all(changing);
      const staying = describeCells(await table.store.readRow(table.table, 'r', filters));
      for (const cells of found.flat()) assert.deepEqual(cells, staying);
    });
  }
}

function inData(qualifier: string): CellFilter {
  return { family: 'data', qualifier };
}

async function comeAndGo(t: TestTable, qualifier: string, signal: AbortSignal): Promise<void> {
  // A new timestamp each time: a store with tombstones may hide what is set where one was erased.
  for (let timestamp = 1; !signal.aborted; timestamp++) {
    await t.mutate('r', set('data', qualifier, timestamp));
    await t.mutate('r', erase('data', qualifier, timestamp, timestamp));
  }
}

/** The staying cells of many reads, in each way to read a row. */
async function readAgain(
  { store, table }: TestTable,
  filters: readonly CellFilter[],
): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  for (let i = 0; i < 40; i++) {
    const rows = [
      await store.readRow(table, 'r', filters),
      ...(await store.readRows(table, ['r'], filters)),
      ...(await store.readRange(table, { limit: 2 }, filters)),
    ];
    for (const row of rows) {
      const cells = row?.cells.filter(({ qualifier }) => STAYING.includes(qualifier)) ?? [];
      found.push(describeCells(row && { ...row, cells }));
    }
  }
  return found;
}

/* Reading a range of rows, page by page. */

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
