/** The schedule of cuts, and who is where. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import { type Cut, CUTS, drawCuts, SESSION_MS } from './cuts.ts';
import { hostsMin, placesOn } from './places.ts';

function drawn(count: number, hasServers: boolean, seed = 1): readonly Cut[] {
  return [...drawCuts(createRandom(seed), hasServers).take(count)];
}

test('each cut comes once before one comes again, and a seed repeats them', () => {
  const all = Object.keys(CUTS).toSorted();
  const cuts = drawn(3 * all.length, true);
  for (let i = 0; i < cuts.length; i += all.length) {
    const names = cuts.slice(i, i + all.length).map(({ what }) => what);
    assert.deepEqual(names.toSorted(), all);
  }
  assert.deepEqual(cuts, drawn(3 * all.length, true));
  assert.notDeepEqual(cuts, drawn(3 * all.length, true, 2));
});

test('without servers of a store, none is cut', () => {
  const names = new Set(drawn(100, false).map(({ what }) => what));
  assert.equal(names.size, Object.keys(CUTS).length - 2);
  assert.ok(!names.has('zookeeper'));
  assert.ok(!names.has('store'));
});

test('cuts are shorter and longer than each lease, and sessions end in every cut from ZooKeeper', () => {
  const cuts = drawn(1_000, true);
  assert.ok(cuts.some(({ forMs }) => forMs < 1_000));
  assert.ok(cuts.some(({ forMs }) => forMs > 19_000));
  for (const { forMs } of cuts.filter(({ what }) => what === 'zookeeper')) {
    assert.ok(forMs >= 2 * SESSION_MS);
  }
});

test('with HBase, ZooKeeper has a host of its own, and oracles and region servers share none', () => {
  const hosts = Array.from({ length: 7 }, (_, i) => ({
    name: `host-${i + 1}`,
    address: `10.77.0.${i + 1}`,
    enter: [],
  }));
  const { hostOf, engine } = placesOn(hosts, 2);
  const nameOf = (process: string): string | undefined => hostOf(process)?.name;
  assert.deepEqual(
    ['zookeeper', 'name-node', 'master', 'region-server-1', 'data-node-1', 'region-server-2'].map(
      nameOf,
    ),
    ['host-1', 'host-2', 'host-2', 'host-3', 'host-3', 'host-4'],
  );
  assert.deepEqual(
    ['oracle-1', 'witness-1', 'oracle-2', 'lock-service', '1', '2', '3', 'watcher'].map(nameOf),
    ['host-5', 'host-5', 'host-6', 'host-7', 'host-5', 'host-6', 'host-7', undefined],
  );
  assert.equal(engine.length, 3);
  assert.equal(hostsMin(2), 6);
});
