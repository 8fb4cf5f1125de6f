/** Whose time a profile shows: that of the innermost function of this project. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownTime } from './workloads.ts';

const HERE = 'file:///project/workloads/shop/sell.ts';
const ENGINE = 'file:///project/engine/read.ts';

function frame(id: number, functionName: string, url: string, children: readonly number[] = []) {
  return { id, callFrame: { functionName, url }, children };
}

test('samples count for the workload if its function is the innermost of ours', () => {
  const profile = JSON.stringify({
    nodes: [
      frame(1, '(root)', '', [2, 6, 7]),
      frame(2, 'sell', HERE, [3, 4]),
      frame(3, 'read', ENGINE, [5]),
      frame(4, 'parse', ''), // Built into the runtime, called by the workload.
      frame(5, 'slice', 'node:buffer'), // Called by the engine.
      frame(6, '(idle)', ''),
      frame(7, '(garbage collector)', ''),
    ],
    samples: [2, 4, 3, 5, 5, 6, 6, 7],
    timeDeltas: [0, 1000, 1001, 1002, 1003, 1004, 1005, 1006],
  });
  const partOf = ([innermost = '']: readonly string[]): string | undefined =>
    innermost === HERE ? 'shop' : undefined;
  assert.deepEqual(ownTime(profile, partOf), new Map([['shop', 2001]]));
});
