/**
 * The anomalies of Hermitage (testing/hermitage.ts), in processes that share a store in memory. All
 * that snapshot isolation prevents are prevented. Those that it permits are asserted to occur, and
 * to vanish with `lock(cell)`. And the two that need more than a program to bring them about.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HERMITAGE, HERMITAGE_COLUMN, HermitageScene } from '../testing/hermitage.ts';
import { cell, openTestDatabase, put } from '../testing/index.ts';

const CONFLICT = { code: 'WRITE_CONFLICT' };
const LOSES = ['T1 commits', 'T2 fails: WRITE_CONFLICT'];

/** In the order of HERMITAGE. */
const TOLD: readonly (readonly string[])[] = [
  [...LOSES, 'left: 1 = 11, 2 = 21'],
  ['T2 reads 1 = 10', 'T1 gives up', 'T2 reads 1 = 10', 'T2 commits'],
  ['T2 reads 1 = 10', 'T1 commits', 'T2 reads 1 = 10', 'T2 commits'],
  ['T1 reads 2 = 20', 'T2 reads 1 = 10', 'T1 commits', 'T2 commits'],
  [
    'T1 commits',
    'T3 reads 1 = 11',
    'T3 reads 2 = 19',
    'T2 fails: WRITE_CONFLICT',
    'T3 reads 1 = 11',
    'T3 reads 2 = 19',
  ],
  ['T1 finds 30 in no row', 'T2 commits', 'T1 finds 30 in no row'],
  ['T2 finds 20 in 2', ...LOSES, 'left: 1 = 20, 2 = 30'],
  ['T1 reads 1 = 10', 'T2 reads 1 = 10', ...LOSES, 'left: 1 = 11, 2 = 20'],
  ['T1 reads 1 = 10', 'T2 commits', 'T1 reads 2 = 20'],
  ['T1 finds 10 in 1', 'T2 commits', 'T1 finds 12 in no row', 'T1 finds 10 in 1'],
  ['T1 reads 1 = 10', 'T2 commits', 'T1 fails: WRITE_CONFLICT'],
  ['T1 reads 2 = 20', 'T2 reads 1 = 10', 'T1 commits', 'T2 commits', 'left: 1 = 11, 2 = 21'],
  ['T1 reads 2 = 20', 'T2 reads 1 = 10', ...LOSES, 'left: 1 = 11, 2 = 20'],
  ['T1 reads 2 = 20', 'T2 reads 1 = 10', ...LOSES, 'left: 1 = 11, 2 = 20'],
  [
    'T1 finds 30 in no row',
    'T2 finds 30 in no row',
    'T1 commits',
    'T2 commits',
    'left: 1 = 10, 2 = 20, 3 = 30, 4 = 30',
  ],
  ['T1 finds 30 in no row', 'T2 finds 30 in no row', ...LOSES, 'left: 1 = 10, 2 = 20, 3 = 30'],
  [
    'T1 reads 1 = 10',
    'T1 reads 2 = 20',
    'T2 commits',
    'T3 reads 1 = 10',
    'T3 reads 2 = 25',
    'T3 commits',
    'T1 commits',
  ],
  [
    'T1 reads 1 = 10',
    'T1 reads 2 = 20',
    'T2 commits',
    'T3 reads 1 = 10',
    'T3 reads 2 = 25',
    'T3 commits',
    'T1 fails: WRITE_CONFLICT',
  ],
];

describe('an anomaly is prevented, or occurs because this is snapshot isolation:', () => {
  for (const [i, { name, title, isPermitted, run }] of HERMITAGE.entries()) {
    test(`${name}, ${title}: ${isPermitted ? 'occurs' : 'prevented'}`, async () => {
      const database = await openTestDatabase({ shared: [HERMITAGE_COLUMN] });
      const scene = new HermitageScene('t', (process) => database.client(process).begin());
      await scene.reset();
      assert.equal(await run(scene), isPermitted);
      assert.deepEqual(scene.told, TOLD[i]);
    });
  }
});

test('G1a, aborted reads, of a transaction that aborts with its locks held: prevented', async () => {
  const database = await openTestDatabase();
  await database.client('setup').write({ one: '10', two: '20' });
  const [t1, t2] = [database.client('T1'), database.client('T2')];
  const loser = await t1.begin();
  put(loser, { one: '101', two: '102' });
  await t2.write({ two: '21' });
  let read: Promise<unknown> | undefined;
  t1.beforeMutation(3, async () => {
    assert.deepEqual(await database.locks(), ['one:c']);
    read = t2.read(['one']); // Its snapshot is above the lock and the data, so it waits.
    await database.clock.yield();
    assert.ok(t2.context.counters.lockWaits > 0);
  });
  await assert.rejects(loser.commit(), CONFLICT);
  assert.deepEqual(await database.clock.runUntil(read as Promise<unknown>), { one: '10' });
  assert.deepEqual(await t2.read(['one', 'two']), { one: '10', two: '21' });
});

test('G2-item, write skew: gone with locks on what was read, also if T2 commits first', async () => {
  const database = await openTestDatabase();
  await database.client('setup').write({ one: '10', two: '20' });
  const t1 = await database.client('T1').begin();
  const t2 = await database.client('T2').begin();
  await t1.lock(cell('two'));
  await t2.lock(cell('one'));
  put(t1, { one: '11' });
  put(t2, { two: '21' });
  await t2.commit();
  await assert.rejects(t1.commit(), CONFLICT);
});
