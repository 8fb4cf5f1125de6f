/** Which processes of a run with a cut share a host. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf } from './failure.ts';

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
