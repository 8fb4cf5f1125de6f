/** Which processes of a run with a cut share a host, and what a cut host could not send. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Host } from '../harness/hosts/network.ts';
import { placeOf, Stage } from './failure.ts';

test('each host of a region server has its DataNode and workers by turns; the rest is where no cut is', () => {
  const hosts = ['a', 'b', 'c'];
  const names = ['region-server-3', 'data-node-3', 'worker-3', 'worker-6', 'worker-1'];
  assert.deepEqual(
    names.map((name) => placeOf(name, hosts)),
    ['c', 'c', 'c', 'c', 'a'],
  );
  for (const name of ['zookeeper', 'name-node', 'master', 'oracle-1', 'oracle-2', 'lock-service']) {
    assert.equal(placeOf(name, hosts), undefined);
  }
});

test('what a host could not send is counted from its cut on, in each cut anew', async () => {
  const hostOf = (name: string): Host => ({ name, address: name, enter: [] });
  const [a, b, rest] = [hostOf('a'), hostOf('b'), hostOf('rest')];
  const unplugged = new Map([
    [a, 5],
    [b, 70],
  ]);
  const network = {
    unplug: async (host: Host) => void unplugged.set(host, (unplugged.get(host) ?? 0) + 3),
    plug: async () => {},
    dropped: async (host: Host) => ({ unplugged: unplugged.get(host) ?? 0, blocked: 0 }),
  };
  const stage = new Stage(network, [a, b], rest);
  const servers = ['region-server-1', 'region-server-2'];
  for (const cut of [servers, servers.slice(1)]) {
    await stage.cut(cut);
    assert.equal(await stage.heal(cut), 3 * cut.length);
  }
});
