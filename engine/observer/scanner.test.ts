/**
 * The claims of the scanner: wherever it begins, a full round sees every dirty cell; and it begins
 * in different places.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRandom } from '../base/index.ts';
import { openTestDatabase } from '../testing/index.ts';
import { NOTIFY, notifyTable, WEAK } from '../transaction/index.ts';
import { NotificationScanner } from './scanner.ts';

const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 });

test('every scan sees every dirty cell once, with any rows, splits, batch size and starting place', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(key, { maxLength: 20 }),
      fc.uniqueArray(key, { maxLength: 4 }),
      fc.integer({ min: 1, max: 8 }),
      fc.integer(),
      async (rows, splits, limit, seed) => {
        const database = await openTestDatabase({ tables: ['t'], splits });
        for (const [i, row] of rows.entries()) {
          const notification = {
            kind: 'set',
            qualifier: 'c',
            timestamp: 1,
            value: Buffer.alloc(0),
          } as const;
          const family = i % 3 === 0 ? WEAK : NOTIFY;
          const mutations = [
            { ...notification, family },
            { ...notification, family, timestamp: 2 },
          ];
          await database.store.mutateRows([{ table: notifyTable('t'), row, mutations }]);
        }
        const random = createRandom(seed);
        const jumps = seed % 2 === 0;
        const scanner = new NotificationScanner(database.store, random, 't', { jumps });
        for (let scan = 0; scan < 3; scan++) {
          const seen: string[] = [];
          for (;;) {
            const { cells, isFullRound } = await scanner.nextBatch(limit);
            for (const { row, weak, timestamp } of cells) seen.push(`${row} ${weak} ${timestamp}`);
            if (isFullRound) break;
          }
          const expected = rows.map((row, i) => `${row} ${i % 3 === 0} 2`);
          assert.deepEqual(seen.toSorted(), expected.toSorted());
        }
      },
    ),
    { numRuns: 150 },
  );
});

test('"first picking a random Bigtable tablet": scans begin in different places', async () => {
  const splits = ['d', 'h', 'm', 'q', 'u'];
  const database = await openTestDatabase({ tables: ['t'], splits });
  for (const row of 'abcdefghijklmnopqrstuvwxyz') {
    const notification = { family: NOTIFY, qualifier: 'c', timestamp: 1, value: Buffer.alloc(0) };
    const mutations = [{ kind: 'set', ...notification } as const];
    await database.store.mutateRows([{ table: notifyTable('t'), row, mutations }]);
  }
  const scanner = new NotificationScanner(database.store, createRandom(1), 't');
  const first = new Set<string | undefined>();
  for (let scan = 0; scan < 30; scan++) {
    const { cells } = await scanner.nextBatch(1);
    first.add(cells[0]?.row);
    while (!(await scanner.nextBatch(10)).isFullRound);
  }
  assert.ok(first.size >= 4, [...first].join(' '));
});

test('a scanner that jumps in a single tablet reaches rows after those that it has seen', async () => {
  const database = await openTestDatabase({ tables: ['t'] });
  const rows = Array.from({ length: 300 }, (_, i) => String(i).padStart(4, '0'));
  for (const row of rows) {
    const notification = { family: NOTIFY, qualifier: 'c', timestamp: 1, value: Buffer.alloc(0) };
    const mutations = [{ kind: 'set', ...notification } as const];
    await database.store.mutateRows([{ table: notifyTable('t'), row, mutations }]);
  }
  const scanner = new NotificationScanner(database.store, createRandom(1), 't', { jumps: true });
  const places = new Set<number>();
  for (let jump = 0; jump < 40; jump++) {
    const { cells } = await scanner.nextBatch(4);
    places.add(Number(cells[0]?.row));
    scanner.jump();
  }
  // The scanner remembers all four rows of each batch. If it chose its place among these alone, it
  // would stay among the first rows.
  assert.ok(places.size > 20, `${places.size} places`);
  assert.ok(Math.max(...places) > 200, `${Math.max(...places)} is the last place`);
});
