/** Which cells of a row are garbage: stored rows, collected, and what is left of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Bigtable, type Cell, decorate, type Mutation, type Row } from '../bigtable/index.ts';
import { runObservers } from '../observer/run-observer.ts';
import { cell, createMemoryBigtable, FaultyBigtable, type MutationCall } from '../testing/index.ts';
import { openScene } from '../testing/collection-scene.ts';
import {
  acknowledgmentColumn,
  placeOf,
  committedCell,
  everywhere,
  type CellKind,
  kindOf,
  NOTIFY_FAMILIES,
  notifyTable,
  sharedLockColumn,
  TABLE_FAMILIES,
} from '../transaction/index.ts';
import { encodeWriteRecord } from '../transaction/columns.ts';
import {
  garbageOf,
  hasOneVersionEach,
  isUndecided,
  batchFilters,
  collectRows,
} from './collect-row.ts';

async function openStore(): Promise<Bigtable> {
  const store = createMemoryBigtable();
  await store.createTable('t', { families: TABLE_FAMILIES });
  await store.createTable(notifyTable('t'), { families: NOTIFY_FAMILIES });
  return store;
}

async function fill(store: Bigtable, mutations: readonly Mutation[]): Promise<void> {
  await store.mutateRows([{ table: 't', row: 'x', mutations }]);
}

async function collect(store: Bigtable, deletionHorizon: number): Promise<number> {
  const rows = await store.readRange('t', { limit: 10 }, batchFilters(deletionHorizon));
  return collectRows(store, { table: 't', deletionHorizon }, rows);
}

async function left(store: Bigtable): Promise<readonly string[]> {
  const filters = (['lock', 'write', 'data', 'rollback'] as const).map(everywhere);
  const row = await store.readRow('t', 'x', filters);
  return (row?.cells ?? []).map((one) => `${kindOf(one)}@${one.timestamp}`);
}

const set = (kind: CellKind, timestamp: number, value: Uint8Array = Buffer.from('')): Mutation => {
  return { kind: 'set', ...placeOf(kind, 'c'), timestamp, value };
};
const put = (start: number, commit: number): Mutation[] =>
  committedCell('c', Buffer.from(`${start}`), { startTimestamp: start, commitTimestamp: commit });
const deletion = (start: number, commit: number): Mutation =>
  set('write', commit, encodeWriteRecord(start, 'delete'));

test('records of shared locks go up to the horizon, and stay above it', async () => {
  const store = await openStore();
  const record = (start: number, commit: number): Mutation => ({
    kind: 'set',
    ...placeOf('write', sharedLockColumn('c')),
    timestamp: commit,
    value: encodeWriteRecord(start, 'put'),
  });
  await fill(store, [...put(1, 2), record(3, 6), record(4, 9), record(5, 10), record(8, 12)]);
  assert.equal(await collect(store, 10), 3);
  assert.deepEqual(await left(store), ['write@12', 'write@2', 'data@1']);
});

test('a row that hasOneVersionEach accepts has no garbage', () => {
  const records = fc
    .record({ start: fc.integer({ min: 1, max: 9 }), isPut: fc.boolean() })
    .map(({ start, isPut }) => encodeWriteRecord(start, isPut ? 'put' : 'delete'));
  const kinds = ['write', 'write', 'data', 'data', 'lock', 'rollback'] as const;
  const someCell: fc.Arbitrary<Cell> = fc
    .record({
      kind: fc.constantFrom(...kinds),
      column: fc.constantFrom('c', 'd'),
      timestamp: fc.integer({ min: 1, max: 15 }),
      value: records,
    })
    .map(({ kind, column, timestamp, value }) => {
      const { family, qualifier } = placeOf(kind, column);
      return { family, qualifier, timestamp, value };
    });
  const version = fc
    .record({ start: fc.integer({ min: 1, max: 9 }), took: fc.integer({ min: 1, max: 5 }) })
    .map(({ start, took }): readonly Cell[] => {
      const value = encodeWriteRecord(start, 'put');
      return [
        { ...placeOf('write', 'c'), timestamp: start + took, value },
        { ...placeOf('data', 'c'), timestamp: start, value },
      ];
    });
  const rows = fc
    .tuple(fc.array(version, { maxLength: 2 }), fc.array(someCell, { maxLength: 3 }))
    .map(([versions, others]) => versions.flat().concat(others));
  const taken = { settled: 0, other: 0 };
  fc.assert(
    fc.property(rows, (cells) => {
      const read = cells.toSorted(
        (a, b) => a.qualifier.localeCompare(b.qualifier) || b.timestamp - a.timestamp,
      );
      const isSettled = hasOneVersionEach(read);
      taken[isSettled ? 'settled' : 'other']++;
      if (!isSettled) return;
      const none = new Set<string>();
      const row = { cells: read, cut: none, hidden: none, waiting: none };
      assert.deepEqual(garbageOf(row, 10), []);
    }),
    { numRuns: 10_000 },
  );
  assert.ok(taken.settled > 100 && taken.other > 100, JSON.stringify(taken));
});

describe('a row with a record that cannot be decoded stays as it is', () => {
  const damaged = set('write', 1, Buffer.from('oops'));

  test('if the record is seen only when the row is read alone', async () => {
    const store = await openStore();
    // More than a read of many rows takes of a column (VERSIONS_IN_BATCH).
    const starts = Array.from({ length: 20 }, (_, i) => 2 * i + 2);
    await fill(store, [damaged, ...starts.flatMap((start) => put(start, start + 1))]);
    assert.equal(await collect(store, 100), 0);
  });

  test('if the record comes before the row is read again', async () => {
    const store = await openStore();
    await fill(store, [...put(3, 4), deletion(5, 6)]);
    const client = new FaultyBigtable(store);
    client.beforeCall = async (call) => {
      const isAgain = call.kind === 'read' && call.operation === 'readRows' && call.table === 't';
      if (isAgain) await fill(store, [damaged]);
    };
    assert.equal(await collect(client, 10), 0);
    assert.deepEqual(await left(store), ['write@6', 'write@4', 'write@1', 'data@3']);
  });
});

describe('below the deletion horizon', () => {
  test('data that a lock guards stays, data of no transaction goes', async () => {
    const store = await openStore();
    await fill(store, [set('data', 3), set('data', 5), set('lock', 5)]);
    await collect(store, 10);
    assert.deepEqual(await left(store), ['lock@5', 'data@5']);
  });

  test('data whose record is above stays', async () => {
    const store = await openStore();
    await fill(store, [...put(3, 4), ...put(8, 12)]);
    await collect(store, 10);
    assert.deepEqual(await left(store), ['write@12', 'write@4', 'data@8', 'data@3']);
  });

  test('rollback records below go, those at or above stay', async () => {
    const store = await openStore();
    await fill(store, [set('rollback', 9), set('rollback', 10), set('rollback', 11)]);
    await collect(store, 10);
    assert.deepEqual(await left(store), ['rollback@11', 'rollback@10']);
  });

  test('a version goes, and one committed exactly at it stays', async () => {
    const store = await openStore();
    await fill(store, [...put(3, 4), ...put(9, 10)]);
    await collect(store, 10);
    assert.deepEqual(await left(store), ['write@10', 'data@9']);
  });

  test('a touch of a cell without a value is a tombstone, too', async () => {
    const store = await openStore();
    const touched = { dataTimestamp: 0, changedTimestamp: 4 };
    await fill(store, [deletion(3, 4), set('write', 6, encodeWriteRecord(5, 'touch', touched))]);
    await collect(store, 10);
    assert.deepEqual(await left(store), []);
  });
});

describe('P17: of a cell with more versions than are read at a time', () => {
  test('the tombstone goes when nothing older is left, and no record before its data', async () => {
    const store = await openStore();
    const count = 2_500;
    for (let i = 0; i < count; i++) await fill(store, put(10 * i + 1, 10 * i + 2));
    await fill(store, [deletion(30_001, 30_002)]);
    // Data of no transaction, so that the records read and the data read belong to different
    // versions.
    const orphans = [35_000, 35_001, 35_002];
    await fill(
      store,
      orphans.map((timestamp) => set('data', timestamp)),
    );
    const client = new FaultyBigtable(store);
    let steps = 0;
    client.afterCall = async (call) => {
      if (call.kind !== 'mutation') return;
      steps++;
      const cells = await left(store);
      const has = (name: string): boolean => cells.includes(name);
      const records = cells.filter((name) => name.startsWith('write'));
      assert.ok(records.length === 0 || has('write@30002'), 'nothing older becomes visible');
      for (const name of cells.filter((one) => one.startsWith('data'))) {
        if (orphans.includes(Number(name.slice(5)))) continue;
        assert.ok(has(`write@${Number(name.slice(5)) + 1}`), `${name} still belongs to a record`);
      }
    };
    assert.equal(await collect(client, 40_000), 2 * count + 1 + orphans.length);
    assert.ok(steps > 2, `${steps} mutations`);
    assert.deepEqual(await left(store), []);
  });

  test('the tombstone stays as long as data of no transaction hides the data below it', async () => {
    const store = await openStore();
    await fill(store, [...put(1, 2), deletion(30_001, 30_002)]);
    await fill(
      store,
      Array.from({ length: 1_001 }, (_, i) => set('data', 35_000 + i)),
    );
    await collect(store, 40_000);
    assert.deepEqual(await left(store), []);
  });

  test('data of no transaction that cannot be judged yet ends the visit, instead of repeating it forever', async () => {
    const store = await openStore();
    for (let i = 0; i < 1_001; i++) {
      await fill(store, [set('data', 35_000 + i), ...put(50_000 + 2 * i, 50_001 + 2 * i)]);
    }
    assert.equal(await collect(store, 40_000), 0);
  });

  test('data that many touches point back to stays as long as the last touch', async () => {
    const store = await openStore();
    await fill(store, put(1, 2));
    const touched = { dataTimestamp: 1, changedTimestamp: 2 };
    for (let i = 1; i <= 1_500; i++) {
      await fill(store, [set('write', 10 * i, encodeWriteRecord(10 * i - 1, 'touch', touched))]);
    }
    await fill(store, put(20_000, 20_001));
    const client = new FaultyBigtable(store);
    client.afterCall = async (call) => {
      if (call.kind !== 'mutation') return;
      const cells = await left(store);
      const touches = cells.filter((name) => name.startsWith('write') && name !== 'write@20001');
      assert.ok(touches.length === 0 || cells.includes('data@1'));
    };
    await collect(client, 40_000);
    assert.deepEqual(await left(store), ['write@20001', 'data@20000']);
  });
});

describe('of a cell with many records above the deletion horizon', () => {
  const HOT = 1_500;

  /** Puts at the odd timestamps from `from` on, each committed right after. */
  async function heat(store: Bigtable, from: number, count = HOT): Promise<void> {
    const puts = Array.from({ length: count }, (_, i) => put(from + 2 * i, from + 2 * i + 1));
    await fill(store, puts.flat());
  }

  /** Counts the cells that are read from the store. */
  function counting(store: Bigtable): { readonly store: Bigtable; readonly count: () => number } {
    let count = 0;
    const counted = async (rows: Promise<readonly (Row | undefined)[]>) => {
      for (const row of await rows) count += row?.cells.length ?? 0;
      return rows;
    };
    const decorated = decorate(store, {
      readRange: (...call) => counted(store.readRange(...call)) as Promise<Row[]>,
      readRows: (...call) => counted(store.readRows(...call)),
      readRow: async (...call) => (await counted(store.readRow(...call).then((row) => [row])))[0],
    });
    return { store: decorated, count: () => count };
  }

  test('a visit does not read all of them', async () => {
    const store = await openStore();
    await fill(store, [...put(1, 2), ...put(3, 4), ...put(5, 6)]);
    await heat(store, 101);
    const hot = counting(store);
    assert.equal(await collect(hot.store, 100), 4);
    assert.ok(hot.count() < 50, `${hot.count()} cells read`);
    assert.deepEqual((await left(store)).slice(-2), ['data@101', 'data@5']);
  });

  for (const above of [20, HOT]) {
    test(`data of a transaction that began below stays if the oldest of more than ${above} records points to it`, async () => {
      const store = await openStore();
      await fill(store, [...put(1, 2), ...put(3, 4), ...put(99, 101)]);
      const touched = { dataTimestamp: 99, changedTimestamp: 101 };
      await fill(store, [set('write', 103, encodeWriteRecord(102, 'touch', touched))]);
      await heat(store, 105, above);
      assert.equal(await collect(store, 100), 2);
      assert.deepEqual((await left(store)).slice(-3), ['data@105', 'data@99', 'data@3']);
    });
  }

  test('data of no transaction goes as soon as all records left above can be read at a time', async () => {
    const store = await openStore();
    await fill(store, [...put(1, 2), set('data', 50)]);
    await heat(store, 101);
    assert.equal(await collect(store, 100), 0, 'as far as was read, it may belong to the oldest');
    assert.ok((await left(store)).includes('data@50'));
    await collect(store, 101 + 2 * HOT - 1_000);
    assert.ok(!(await left(store)).includes('data@50'));
  });

  test('data whose record is gone, and that only an older touch names, goes', async () => {
    const store = await openStore();
    const touched = { dataTimestamp: 1, changedTimestamp: 2 };
    await fill(store, [set('data', 1), set('write', 4, encodeWriteRecord(3, 'touch', touched))]);
    await fill(store, put(5, 6));
    await heat(store, 101);
    assert.equal(await collect(store, 100), 2);
    assert.deepEqual((await left(store)).slice(-2), ['data@101', 'data@5']);
  });
});

test('every snapshot at or above the deletion horizon sees what it saw, whatever was done to the cell', async () => {
  const step = fc.constantFrom('put', 'delete', 'touch');
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.integer({ min: 1, max: 100 }),
      async (steps, horizon) => {
        const store = await openStore();
        let current = { dataTimestamp: 0, changedTimestamp: 0 };
        /** The data that a snapshot at each commit timestamp sees. */
        const seen = new Map<number, number>();
        for (const [i, kind] of steps.entries()) {
          const [start, commit] = [3 * i + 1, 3 * i + 3]; // A horizon may lie between them.
          if (kind === 'put') await fill(store, put(start, commit));
          if (kind === 'delete') await fill(store, [deletion(start, commit)]);
          if (kind === 'touch') {
            const record = encodeWriteRecord(start, 'touch', current);
            await fill(store, [set('write', commit, record)]);
          } else {
            const dataTimestamp = kind === 'put' ? start : 0;
            current = { dataTimestamp, changedTimestamp: commit };
          }
          seen.set(commit, current.dataTimestamp);
        }
        await collect(store, horizon);
        assert.equal(await collect(store, horizon), 0, 'once is enough');
        const cells = await left(store);
        const records = cells
          .filter((name) => name.startsWith('write'))
          .map((name) => Number(name.slice(6)));
        for (let at = horizon; at <= 3 * steps.length + 1; at++) {
          const commit = [...seen.keys()].findLast((one) => one <= at) ?? 0;
          const data = seen.get(commit) ?? 0;
          const newest = records.find((one) => one <= at);
          assert.equal(newest === undefined ? 0 : (seen.get(newest) ?? 0), data);
          assert.ok(data === 0 || cells.includes(`data@${data}`), `the data of ${at}`);
        }
        assert.ok(records.filter((one) => one <= horizon).length <= 1);
      },
    ),
    { numRuns: 300 },
  );
});

describe('observers', () => {
  const observer = { name: 'o', table: 't', column: 'c', run: async () => {} };
  const notified = { ...cell('x'), weak: false, timestamp: 0 };

  test('a delete that no observer has seen stays until one has; then nothing of the cell is left', async () => {
    const scene = await openScene({ observed: ['c'] });
    const a = scene.client('A');
    await a.write({ x: '1' });
    await a.write({ x: undefined });
    await scene.renewals();
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), { write: '4: 3 delete' });
    const runs = await runObservers(a.context, notified, [observer]);
    assert.equal(runs.length, 1, 'it finds the delete');
    await a.settled();
    await scene.renewals();
    await scene.collect();
    const families = TABLE_FAMILIES.map((family) => ({ family }));
    assert.equal(await scene.database.store.readRow('t', 'x', families), undefined);
  });

  test('a tombstone stays as long as an acknowledgment above the horizon is about it', async () => {
    const store = await openStore();
    const ack = (start: number, commit: number): Mutation[] =>
      committedCell('ack_o:c', Buffer.from(''), { startTimestamp: start, commitTimestamp: commit });
    await fill(store, [deletion(3, 4), ...ack(5, 12)]);
    await collect(store, 10);
    assert.deepEqual(await left(store), ['write@12', 'write@4']);
    await collect(store, 13);
    assert.deepEqual(await left(store), []);
  });

  test('a tombstone stays for an observer that runs while its row is being collected', async () => {
    const store = await openStore();
    await fill(store, [deletion(3, 4)]);
    const ack = committedCell('ack_o:c', Buffer.from(''), {
      startTimestamp: 5,
      commitTimestamp: 12,
    });
    const client = new FaultyBigtable(store);
    client.beforeCall = async ({ kind, table }) => {
      // Its run is committed and its notification cleared: no notification waits any more.
      if (kind === 'read' && table === notifyTable('t')) await fill(store, ack);
    };
    await collect(client, 10);
    assert.deepEqual(await left(store), ['write@12', 'write@4']);
  });

  test('an observer is not shown a change again after its older acknowledgments were collected', async () => {
    const scene = await openScene({ observed: ['c'] });
    const a = scene.client('A');
    for (const value of ['1', '2', '3']) {
      await a.write({ x: value });
      await runObservers(a.context, notified, [observer]);
    }
    await scene.renewals();
    await scene.collect();
    const acknowledgments = await scene.database.stored('x:ack_o:c');
    assert.equal(acknowledgments['write']?.split('|').length, 1);
    assert.deepEqual(await runObservers(a.context, notified, [observer]), []);
  });

  test('P42: a touch names the delete it has seen, and a collected delete counts as seen by all', async () => {
    const scene = await openScene({ observed: ['c'] });
    const [a, slow] = [scene.client('A'), scene.client('B')];
    await a.write({ x: '1' });
    await a.write({ x: undefined });
    await runObservers(a.context, notified, [observer]);
    const touching = await slow.begin();
    await touching.lock(cell('x'));
    await a.settled();
    await scene.renewals();
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), {}, 'the delete is gone');
    await touching.commit();
    assert.deepEqual(
      await runObservers(a.context, notified, [observer]),
      [],
      'and is not seen twice',
    );
  });

  test('P42: a delete that a touch names stays until an observer has seen it', async () => {
    const scene = await openScene({ observed: ['c'] });
    const a = scene.client('A');
    await a.write({ x: '1' });
    await a.write({ x: undefined });
    const touching = await a.begin();
    await touching.lock(cell('x'));
    await touching.commit();
    await scene.renewals();
    await scene.collect();
    const runs = await runObservers(a.context, notified, [observer]);
    assert.equal(runs.length, 1, 'it finds the delete');
  });

  test('P60: an acknowledgment is kept for the column that it is about, and for no other', async () => {
    for (const [column, isKept] of [
      ['b:c', false],
      ['c', true],
    ] as const) {
      const store = await openStore();
      const name = acknowledgmentColumn('a:b', 'c');
      const ack = committedCell(name, Buffer.from(''), { startTimestamp: 5, commitTimestamp: 6 });
      await fill(store, [
        ...committedCell(column, Buffer.from(''), { startTimestamp: 3, commitTimestamp: 4 }),
        ...ack,
      ]);
      await collect(store, 10);
      assert.equal((await left(store)).includes('write@6'), isKept, column);
    }
  });
});

test('a row that does not change is not written to', async () => {
  const store = await openStore();
  await fill(store, put(3, 4));
  const client = new FaultyBigtable(store);
  await collect(client, 10);
  const mutations = client.trace.filter((call): call is MutationCall => call.kind === 'mutation');
  assert.deepEqual(mutations, []);
});

test('data is undecided while records of its column above the deletion horizon were left out', () => {
  const data: Cell = { ...placeOf('data', 'c'), timestamp: 3, value: Buffer.from('') };
  assert.equal(isUndecided([data], 10, new Set(['c'])), true);
  assert.equal(isUndecided([data], 10, new Set(['other'])), false);
  assert.equal(isUndecided([data], 10, new Set()), false);
});
