/**
 * Claims about transactions that write many cells of one row: they cost in proportion to the cells.
 *
 * Processor time, not wall time; the least of several tries, in turns; and eight times the cells,
 * for which the square would be 64 times the work: the bound is 24.
 */
import assert from 'node:assert/strict';
import { cpuUsage } from 'node:process';
import { describe, test } from 'node:test';
import { decorate, openBulkLoader, openPercolator, type Percolator } from './index.ts';
import { createMemoryBigtable, temporaryFolder } from './testing/index.ts';

const CELLS = 1_000;
const TIMES = 8;
const TRIES = 2;
/** Other programs and the collector of garbage spoil some tries; the square would spoil all. */
const TRIES_MAX = 20;

const cellsOf = (row: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ table: 't', row, column: `k${i}` }));

const setAll = (percolator: Percolator, row: string, count: number): Promise<void> =>
  percolator.transact(async (transaction) => {
    for (const cell of cellsOf(row, count)) transaction.set(cell, 'x');
  });

/** What is done with many cells of one row. `prepare` is not measured. */
interface Work {
  readonly prepare?: typeof setAll;
  readonly run: (percolator: Percolator, row: string, count: number) => Promise<unknown>;
}

const WORKS: Readonly<Record<string, Work>> = {
  write: { run: setAll },
  read: {
    prepare: setAll,
    run: (percolator, row, count) =>
      percolator.transact((transaction) => transaction.getMany(cellsOf(row, count))),
  },
  'roll back': {
    run: async (percolator, row, count) => {
      await using loser = await percolator.begin();
      loser.set({ table: 't', row: `${row} first`, column: 'c' }, 'x');
      for (const cell of cellsOf(row, count)) loser.set(cell, 'x');
      loser.set({ table: 't', row: `${row} last`, column: 'c' }, 'x');
      await setAll(percolator, row, 1);
      await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
    },
  },
};

const STORES: Readonly<Record<string, () => Promise<Percolator>>> = {
  'the embedded store': () => openPercolator({ folder: temporaryFolder(), fsync: false }),
  'the embedded store with batching': () =>
    openPercolator({ folder: temporaryFolder(), fsync: false, batching: {} }),
  'the memory store': () => openPercolator({ store: createMemoryBigtable() }),
};

for (const [name, open] of Object.entries(STORES)) {
  describe(`on ${name}, many cells of one row cost in proportion`, () => {
    for (const [what, { prepare, run }] of Object.entries(WORKS)) {
      test(`to ${what}`, async () => {
        await using percolator = await open();
        await percolator.createTable('t');
        const costs = { few: Infinity, many: Infinity };
        const isInProportion = (): boolean => costs.many < 3 * TIMES * costs.few;
        for (let attempt = 0; attempt <= TRIES_MAX; attempt++) {
          if (attempt > TRIES && isInProportion()) break;
          for (const size of ['few', 'many'] as const) {
            const count = size === 'few' ? CELLS : TIMES * CELLS;
            const row = `${attempt} ${size}`;
            await prepare?.(percolator, row, count);
            await percolator.settled();
            const before = cpuUsage();
            await run(percolator, row, count);
            await percolator.settled();
            const { user } = cpuUsage(before);
            if (attempt > 0) costs[size] = Math.min(costs[size], user); // The first one warms up.
          }
        }
        const { few, many } = costs;
        assert.ok(isInProportion(), `${many} µs, and ${few} for one in ${TIMES} of the cells`);
      });
    }
  });
}

describe('a transaction has a limit of cells for each row', () => {
  const refusal = {
    code: 'INVALID_ARGUMENT',
    message: /^more than 20000 cells of row t\/r in one transaction: divide them among rows, or/,
  };

  test('that set, delete and lock tell, not commit; other rows have their own', async () => {
    await using percolator = await openPercolator({ store: createMemoryBigtable() });
    await percolator.createTable('t');
    await percolator.transact(async (transaction) => {
      for (const cell of cellsOf('r', 20_000)) transaction.set(cell, 'x');
      const [first] = cellsOf('r', 1);
      const one = { table: 't', row: 'r', column: 'one' };
      assert.throws(() => transaction.set(one, 'x'), refusal);
      assert.throws(() => transaction.delete(one), refusal);
      await assert.rejects(transaction.lock(one), refusal);
      assert.ok(first !== undefined);
      transaction.set(first, 'y'); // It is one of them already.
      for (const cell of cellsOf('s', 3)) transaction.set(cell, 'x');
    });
    assert.equal(
      await percolator.transact(async (t) => (await t.getMany(cellsOf('r', 20_000))).join('')),
      `y${'x'.repeat(19_999)}`,
    );
  });

  test('that counts a cell once that is first locked with others and then written', async () => {
    await using percolator = await openPercolator({ store: createMemoryBigtable() });
    const cells = cellsOf('r', 20_000);
    await percolator.createTable('t', { sharedColumns: cells.map(({ column }) => column) });
    await using transaction = await percolator.begin();
    for (const cell of cells) await transaction.lock(cell, { shared: true });
    const one = { table: 't', row: 'r', column: 'one' };
    assert.throws(() => transaction.set(one, 'x'), refusal);
    assert.doesNotThrow(() => cells.forEach((cell) => transaction.set(cell, 'x')));
    assert.throws(() => transaction.set(one, 'x'), refusal);
  });

  test('that a bulk load has, too', async () => {
    await using percolator = await openPercolator({ store: createMemoryBigtable() });
    await percolator.createTable('t');
    const loader = await openBulkLoader(percolator);
    const cells = cellsOf('r', 20_001).map(({ column }) => ({ column, value: Buffer.from('x') }));
    await assert.rejects(loader.add({ table: 't', row: 'r', cells }), refusal);
  });
});

describe('P16: where a check is limited, a row is prewritten in pieces', () => {
  const COUNT = 30;

  /** A store that refuses checks of more bytes than it says. */
  const openLimited = async (checkBytesMax: number) => {
    const memory = createMemoryBigtable();
    const checks: number[] = [];
    const pieces: (readonly string[])[] = [];
    const store = decorate(memory, {
      manifest: { ...memory.manifest, checkBytesMax },
      checkAndMutateRows: (conditionals) => {
        for (const { anyOf } of conditionals) {
          pieces.push(anyOf.map(({ qualifier = '' }) => qualifier));
          checks.push(anyOf.reduce((sum, { qualifier = '' }) => sum + qualifier.length, 0));
        }
        return memory.checkAndMutateRows(conditionals);
      },
    });
    const percolator = await openPercolator({ store });
    await percolator.createTable('t');
    checks.length = 0;
    pieces.length = 0;
    return { percolator, checks, pieces };
  };

  test('all of them commit together', async () => {
    const { percolator, checks } = await openLimited(200);
    await setAll(percolator, 'r', COUNT);
    assert.ok(checks.length > 3);
    assert.ok(checks.every((bytes) => bytes <= 200));
    const values = await percolator.transact((t) => t.getMany(cellsOf('r', COUNT)));
    assert.equal(values.join(''), 'x'.repeat(COUNT));
    await percolator.close();
  });

  test('a piece has neighbouring columns', async () => {
    const { percolator, pieces } = await openLimited(200);
    await percolator.transact(async (transaction) => {
      const cells = cellsOf('r', COUNT);
      for (const cell of [...cells.slice(COUNT / 2), ...cells]) transaction.set(cell, 'x');
    });
    assert.ok(pieces.length > 3);
    const ends = pieces.map((piece) => {
      const sorted = piece.toSorted();
      return { first: sorted.at(0) ?? '', last: sorted.at(-1) ?? '' };
    });
    for (const { first, last } of ends) {
      assert.equal(ends.filter((other) => other.first <= last && first <= other.last).length, 1);
    }
    await percolator.close();
  });

  for (const column of [0, COUNT - 1]) {
    test(`a conflict at cell ${column} leaves nothing of the row locked or written`, async () => {
      const { percolator } = await openLimited(200);
      const cells = cellsOf('r', COUNT);
      await using loser = await percolator.begin();
      for (const cell of cells) loser.set(cell, 'lost');
      const contested = cells[column];
      assert.ok(contested !== undefined);
      await percolator.transact(async (transaction) => transaction.set(contested, 'won'));
      await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
      const values = await percolator.transact((transaction) => transaction.getMany(cells));
      assert.equal(values.join(''), 'won');
      await setAll(percolator, 'r', COUNT);
      await percolator.close();
    });
  }
});
