/** What cuts hit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Host } from '../../harness/hosts/network.ts';
import { CUTS, type Cut, type CutName } from './cuts.ts';
import { harmOf } from './harm.ts';
import { placesOn } from './places.ts';

const hosts = Array.from({ length: 7 }, (_, i): Host => {
  return { name: `host-${i + 1}`, address: `10.77.0.${i + 1}`, enter: [] };
});
const [zooKeeper, , server, , leader] = hosts as [Host, Host, Host, Host, Host];
const clients = ['1', '2', '3'];
const onHBase = { places: placesOn(hosts, 2), clients, leader, isShared: false };

function cut(what: CutName, victim = 0, other = 0): Cut {
  return { what, afterMs: 0, forMs: 1_000, victim, other, isDouble: false };
}

test('a region server is cut from ZooKeeper in both directions, and from nothing else', () => {
  assert.deepEqual(harmOf(cut('zookeeper'), onHBase), {
    blocked: [
      { from: server, to: zooKeeper },
      { from: zooKeeper, to: server },
    ],
  });
});

test('the leading oracle is cut from all region servers, and so are the clients on its host', () => {
  const { blocked = [], stalled } = harmOf(cut('store'), onHBase);
  assert.equal(blocked.length, 4);
  assert.ok(blocked.every(({ from, to }) => from === leader || to === leader));
  assert.deepEqual(stalled, ['1']);
});

test('who shares the folder of a store may go on next to either oracle, and nowhere else', () => {
  const places = placesOn(hosts.slice(0, 3), 0);
  const [first, second, third] = hosts as [Host, Host, Host];
  const shared = { places, clients, leader: first, isShared: true };
  assert.deepEqual(harmOf(cut('leader'), shared), { unplugged: first, stalled: [] });
  // The leader may lose its lease to the other oracle, which reaches the folder all the time.
  assert.deepEqual(harmOf(cut('host', 0.5), shared), { unplugged: second, stalled: [] });
  assert.deepEqual(harmOf(cut('host', 0.9), shared), { unplugged: third, stalled: ['3'] });
});

test('one direction is one of the two of a pair', () => {
  const { blocked: [there, back] = [] } = harmOf(cut('pair', 0.5), onHBase);
  assert.deepEqual(harmOf(cut('one-way', 0.5, 0), onHBase), { blocked: [there] });
  assert.deepEqual(harmOf(cut('one-way', 0.5, 0.9), onHBase), { blocked: [back] });
});

test('every cut hits something, whatever is drawn', () => {
  for (const what of Object.keys(CUTS) as CutName[]) {
    for (const victim of [0, 0.2, 0.4, 0.6, 0.8, 0.999]) {
      const { unplugged, blocked = [], killed, stopped } = harmOf(cut(what, victim), onHBase);
      assert.ok(unplugged ?? blocked[0] ?? killed ?? stopped, `${what} ${victim}`);
      assert.ok(blocked.every(({ from, to }) => from !== to));
    }
  }
});
