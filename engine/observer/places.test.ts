/**
 * P82: observers of one column that hang, or have much to do, leave places for those of the others;
 * and what that costs. Each test with the number in its name fails without the rule.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Warning } from '../base/index.ts';
import { openTestDatabase, type TestDatabase, type CellTexts } from '../testing/index.ts';
import { type Observer, Worker, type WorkerOptions } from './index.ts';

/** More than a scan may find at once. */
const MANY = 300;
const QUICK: WorkerOptions = { concurrency: 4, scanRows: 16, slowMs: 500 };

for (const [what, column] of [
  ['another column of the table', 'next'],
  ['a column of another table', 'seen'],
] as const) {
  test(`P82: while all runs of one column hang, a change of ${what} is seen`, async () => {
    const database = await openTestDatabase({ observed: ['seen', 'next'] });
    const table = column === 'seen' ? 'u' : 't';
    const { worker, saw, warnings } = startWorker(database, [
      hanging('t', 'seen'),
      [table, column],
    ]);
    // By another process, so that only a scan finds it; its row comes after all that hang.
    const other = database.client('other');
    await database.runUntil(other.write(rows('t', 'seen')));
    await database.clock.advance(2_000);
    await database.runUntil(other.write({ [`${table}/z:${column}`]: '1' }));
    await database.clock.advance(60_000);
    assert.deepEqual(saw, [`${table}/z:${column}`]);
    assert.deepEqual(new Set(warnings.map(({ kind }) => kind)), new Set(['slow run']));
    void worker.stop();
  });
}

test('P82: changes of this process that hang leave room for others of this process', async () => {
  const database = await openTestDatabase({ observed: ['seen', 'next'] });
  const { worker, client, saw } = startWorker(database, [hanging('t', 'seen'), ['t', 'next']]);
  await database.runUntil(client.write(rows('t', 'seen')));
  await database.runUntil(client.write({ 't/a:next': '1', 't/b:next': '1' }));
  await database.clock.advance(0);
  assert.deepEqual(saw, ['t/a:next', 't/b:next'], 'at once, one after the other');
  void worker.stop();
});

test('P82: each of many columns that hang has one place beyond those of the first', async () => {
  const columns = ['a', 'b', 'c', 'd'];
  const database = await openTestDatabase({ observed: columns });
  const hangs = columns.map((column) => hanging('t', column));
  const { worker, client, begun } = startWorker(database, [...hangs, ['t', 'd']], {
    concurrency: 2,
  });
  for (const column of columns) {
    await database.runUntil(client.write({ [`t/x:${column}`]: '1', [`t/y:${column}`]: '1' }));
  }
  await database.clock.advance(1_000);
  assert.deepEqual(begun.toSorted(), ['t/x:a', 't/x:b', 't/x:c', 't/x:d', 't/y:a']);
  void worker.stop();
});

test('one column with work has all places, and two share them', async () => {
  const database = await openTestDatabase({ observed: ['seen', 'next'] });
  const running: Record<string, number> = {};
  let most: Record<string, number> = {};
  const slow = (column: string): Observer => ({
    ...observing('t', column),
    run: async () => {
      const together = (running[column] ?? 0) + 1;
      running[column] = together;
      most[column] = Math.max(most[column] ?? 0, together);
      await database.clock.sleep(10);
      running[column] = (running[column] ?? 0) - 1;
    },
  });
  const { worker, client } = startWorker(database, [slow('seen'), slow('next')], {
    concurrency: 10,
  });
  await database.runUntil(client.write(rows('t', 'seen')));
  await database.runUntil(worker.idle());
  assert.deepEqual(most, { seen: 10 });

  await database.runUntil(client.write({ ...rows('t', 'seen'), ...rows('t', 'next') }));
  await database.clock.advance(100); // After some runs, each has half of the places.
  most = {};
  await database.clock.advance(100);
  assert.deepEqual(most, { seen: 5, next: 5 });
  await database.runUntil(worker.stop());
});

test('a worker with observers of several columns makes no more calls for the work of one', async () => {
  const calls: number[] = [];
  for (const columns of [['seen'], ['seen', 'next', 'other']]) {
    const database = await openTestDatabase({ observed: ['seen', 'next', 'other'] });
    await database.runUntil(database.client('other').write(rows('t', 'seen')));
    const places = columns.map((column) => ['t', column] as const);
    const { worker, client, saw } = startWorker(database, places, { concurrency: 8 });
    await database.runUntil(worker.idle());
    assert.equal(saw.length, MANY);
    await database.runUntil(worker.stop());
    calls.push(client.store.trace.length);
  }
  assert.equal(calls[0], calls[1]);
});

test('the calls for n cells grow with n, and not faster', async () => {
  const calls: number[] = [];
  for (const cells of [250, 500, 1_000]) {
    const database = await openTestDatabase({ observed: ['seen'] });
    await database.runUntil(database.client('other').write(rows('t', 'seen', cells)));
    const { worker, client, saw } = startWorker(database, [['t', 'seen']]);
    await database.runUntil(worker.idle());
    assert.equal(saw.length, cells);
    await database.runUntil(worker.stop());
    calls.push(client.store.trace.length / cells);
  }
  const [some = 0, , many = 0] = calls;
  assert.ok(many <= some, calls.join());
});

type ObservedPlace = readonly [table: string, column: string];

function observing(table: string, column: string): Observer {
  return { name: `of ${column}`, table, column, run: async () => {} };
}

function hanging(table: string, column: string): Observer {
  return {
    ...observing(table, column),
    name: `hangs on ${column}`,
    run: () => new Promise(() => {}),
  };
}

function startWorker(
  database: TestDatabase,
  observed: readonly (Observer | ObservedPlace)[],
  options: WorkerOptions = {},
) {
  const client = database.client('worker');
  /** Cells whose runs have begun, and those that do not hang. */
  const begun: string[] = [];
  const saw: string[] = [];
  const warnings: Warning[] = [];
  const observers = observed.map((one): Observer => {
    const observer = 'run' in one ? one : observing(...one);
    return {
      ...observer,
      run: async (transaction, cell, change) => {
        const name = `${cell.table}/${cell.row}:${cell.column}`;
        begun.push(name);
        await observer.run(transaction, cell, change);
        saw.push(name);
      },
    };
  });
  const onWarning = (warning: Warning): void => void warnings.push(warning);
  const worker = new Worker(client.context, observers, { ...QUICK, onWarning, ...options });
  return { worker, client, begun, saw, warnings };
}

function rows(table: string, column: string, length = MANY): CellTexts {
  return Object.fromEntries(
    Array.from({ length }, (_, i) => [`${table}/${1_000 + i}:${column}`, '1']),
  );
}
