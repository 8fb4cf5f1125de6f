/** What fails: a third of the parts of one kind, chosen by the seed, or one named process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeVictims, ownerOf, VICTIMS, victimsOf } from './victims.ts';

const CHOICE = { regionServers: 6, workers: 3, seed: 1, cut: false } as const;

test('a third of the region servers and of the workers fails, at least one, and the seed chooses', () => {
  const servers = victimsOf({ ...CHOICE, kill: 'region-servers' });
  assert.equal(new Set(servers).size, 2);
  for (const name of servers) assert.match(name, /^region-server-[1-6]$/);
  assert.deepEqual(victimsOf({ ...CHOICE, kill: 'region-servers' }), servers);
  const seeds = Array.from({ length: 20 }, (_, seed) => seed);
  const chosen = seeds.map((seed) => victimsOf({ ...CHOICE, kill: 'workers', seed }).join());
  assert.deepEqual([...new Set(chosen)].toSorted(), ['worker-1', 'worker-2', 'worker-3']);
  assert.equal(victimsOf({ ...CHOICE, kill: 'workers', workers: 1 }).length, 1);
});

test('everything that can fail has words for the page, and an owner that can kill it', () => {
  const words = VICTIMS.map((kill) => describeVictims({ ...CHOICE, kill }));
  assert.deepEqual(words, [
    '2 of 6 region servers',
    'the master',
    'a DataNode',
    '1 of 3 workers',
    'the timestamp oracle',
    'the lock service',
  ]);
  const cut = describeVictims({ ...CHOICE, kill: 'region-servers', cut: true });
  assert.equal(cut, '2 of 6 hosts with region servers');
  const owners = VICTIMS.map(ownerOf);
  assert.deepEqual(owners, ['hbase', 'hbase', 'hbase', 'engine', 'engine', 'engine']);
});
