/** The value before a change is what the observer's last run saw, or is not known any more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type KnownValue, type Observer, openPercolator, type Percolator } from '../index.ts';
import { createMemoryBigtable, put } from '../testing/index.ts';

const CELL = { table: 't', row: 'x', column: 'c' };

async function open(): Promise<Percolator> {
  const percolator = await openPercolator({ store: createMemoryBigtable() });
  await percolator.createTable('t', { observedColumns: ['c'] });
  return percolator;
}

/** Notes what was before, and what is there, whenever it runs. */
function noting(
  runs: (readonly [before: string | undefined, now: string | undefined])[],
): Observer {
  return {
    name: 'o',
    table: 't',
    column: 'c',
    run: async (transaction, cell, change) => {
      runs.push([textOf(await change.before()), (await transaction.get(cell))?.toString()]);
    },
  };
}

function textOf(known: KnownValue | undefined): string | undefined {
  return known === undefined ? 'unknown' : known.value?.toString();
}

async function run(percolator: Percolator, observer: Observer): Promise<void> {
  await using worker = percolator.startWorker([observer]);
  await worker.idle();
}

const write = async (percolator: Percolator, value: string | undefined): Promise<void> => {
  await percolator.transact(async (transaction) => put(transaction, { x: value }));
};

test('a total is kept right by what was before, without a copy of the old values', async () => {
  const percolator = await open();
  const total = { table: 't', row: 'total', column: 'sum' };
  const observer: Observer = {
    name: 'total',
    table: 't',
    column: 'c',
    run: async (transaction, cell, change) => {
      const before = await change.before();
      assert.ok(before !== undefined);
      const [now, sum] = await transaction.getMany([cell, total]);
      transaction.set(
        total,
        String(Number(sum ?? 0) + Number(now ?? 0) - Number(before.value ?? 0)),
      );
    },
  };
  const steps = [{ x: '5', y: '1' }, { x: '7' }, { y: undefined, z: '3' }, { x: '1' }];
  for (const step of steps) {
    await percolator.transact(async (transaction) => put(transaction, step));
    await run(percolator, observer);
  }
  await using snapshot = await percolator.snapshot();
  assert.equal((await snapshot.get(total))?.toString(), '4');
});

test('a run for a weak notification sees the same before as any other', async () => {
  const percolator = await open();
  const runs: Parameters<typeof noting>[0] = [];
  await write(percolator, '1');
  await run(percolator, noting(runs));
  await percolator.transact(async (transaction) => {
    put(transaction, { 'other:d': 'x' });
    transaction.notifyWeakly(CELL);
  });
  await run(percolator, noting(runs));
  assert.deepEqual(runs, [
    [undefined, '1'],
    ['1', '1'],
  ]);
});

test('what was collected is not known; what is still needed is never taken', async () => {
  const percolator = await open();
  const runs: Parameters<typeof noting>[0] = [];
  await write(percolator, '1');
  await run(percolator, noting(runs));
  await percolator.collectGarbage({ messageLifetimeMs: 1 });
  await write(percolator, '2');
  await run(percolator, noting(runs));
  await write(percolator, '3');
  await write(percolator, '4');
  await percolator.collectGarbage({ messageLifetimeMs: 1 }); // Before the observer has run.
  await run(percolator, noting(runs));
  assert.deepEqual(runs, [
    [undefined, '1'],
    ['1', '2'],
    ['unknown', '4'],
  ]);
});

test('whatever is written, run and collected: before is what the run before saw, or not known', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('1', '2', '3') },
    { weight: 2, arbitrary: fc.constantFrom('delete', 'lock') },
    { weight: 4, arbitrary: fc.constant('run') },
    { weight: 2, arbitrary: fc.constant('collect') },
  );
  let known = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (steps) => {
      const percolator = await open();
      const runs: Parameters<typeof noting>[0] = [];
      for (const one of steps) {
        if (one === 'run') await run(percolator, noting(runs));
        else if (one === 'collect') await percolator.collectGarbage({ messageLifetimeMs: 1 });
        else if (one === 'lock') await percolator.transact((transaction) => transaction.lock(CELL));
        else await write(percolator, one === 'delete' ? undefined : one);
      }
      const collects = steps.includes('collect');
      for (const [i, [before]] of runs.entries()) {
        const expected = i === 0 ? undefined : runs[i - 1]?.[1];
        if (before === 'unknown') assert.ok(collects && i > 0, 'nothing was collected');
        else assert.equal(before, expected);
        if (before !== undefined && before !== 'unknown') known++;
      }
    }),
    { numRuns: 150 },
  );
  assert.ok(known > 50, `${known} values were known`);
});
