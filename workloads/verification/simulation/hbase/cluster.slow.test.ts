/** The counts of a simulated cluster: they say what has been tested, so nothing else may count. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Timeline } from '../../world/event-loop.ts';
import { HBaseCluster } from './cluster.ts';

test('an event that changes nothing does not count', async () => {
  const timeline = new Timeline();
  const knobs = {
    servers: 1,
    events: { merge: 20, split: 20, pause: 2 },
    calls: {},
    moveInBatch: 0,
    delayMsMax: 1,
    sessionMs: 100,
    pauseMsMax: 50,
    noticeMsMax: 1,
    openMsMax: 1,
  };
  const cluster = new HBaseCluster({ seed: 1, knobs, timeline }, {});
  cluster.trouble();
  await timeline.run(() => timeline.nowMs > 10_000);
  // Its only region is that of hbase:meta, which has neither rows to split at nor a neighbour.
  const { merge, split, pause = 0 } = cluster.counts;
  assert.deepEqual([merge, split], [undefined, undefined]);
  assert.ok(pause > 0);
});
