/** The simulated disk refuses what a real disk refuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../base/index.ts';
import { SimulatedDisk } from './simulated-disk.ts';

test('a file that does not exist cannot be opened, renamed or removed', () => {
  const disk = new SimulatedDisk({ random: createRandom(1) });
  const missing = { code: 'ENOENT' };
  assert.throws(() => disk.open('none'), missing);
  assert.throws(() => disk.rename('none', 'other'), missing);
  assert.throws(() => disk.remove('none'), missing);
});
