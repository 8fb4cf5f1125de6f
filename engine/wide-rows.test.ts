/**
 * Claims about transactions that write many cells of one row: they cost in proportion to the cells.
 *
 * Processor time, not wall time; the least of several tries, in turns; and eight times the cells,
 * for which the square would be 64 times the work: the bound is 24.
 */
import assert from 'node:assert/strict';
import { cpuUsage } from 'node:process';
import { describe, test } from 'node:test';
import { openPercolator, type Percolator } from './index.ts';
import { createMemoryBigtable, temporaryFolder } from './testing/index.ts';

const CELLS = 1_000;
const TIMES = 8;
const TRIES = 2;

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
        for (let attempt = 0; attempt <= TRIES; attempt++) {
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
        assert.ok(
          many < 3 * TIMES * few,
          `${many} µs, and ${few} for one in ${TIMES} of the cells`,
        );
      });
    }
  });
}
