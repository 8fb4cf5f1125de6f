/** Claims about engines that are programs: which inputs reach the program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Split } from '../input-splits.ts';
import { outsideEngine } from './engine.ts';

const PATH = 'hdfs://names/words';

test('a file of another file system is an input as a whole; a part of it is refused', async () => {
  const given: (readonly Split[])[] = [];
  const engine = outsideEngine('any', async (_run, inputs) => void given.push(inputs));
  const run = (input: object): Promise<void> =>
    engine.run({
      chain: { url: 'file:///job.ts', parameters: [{}] },
      inputs: [{ path: PATH, ...input }],
      outputFolder: 'hdfs://names/counts',
    });
  await run({});
  await run({ start: 0 });
  const whole = { path: PATH, start: 0, end: Infinity };
  assert.deepEqual(given, [[whole], [whole]]);
  for (const part of [{ end: 5 }, { start: 3 }, { start: -1 }, { start: 0, end: 0 }]) {
    await assert.rejects(run(part), { code: 'INVALID_ARGUMENT' }, JSON.stringify(part));
  }
  assert.equal(given.length, 2, 'no program is started');
});
