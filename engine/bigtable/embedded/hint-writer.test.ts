/** When hints are written: never two at a time, because they share a file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import { HINT_FILE, readHint } from './hint.ts';
import { HintWriter } from './hint-writer.ts';
import { Log } from './log.ts';
import { recover } from './recovery.ts';
import { SIZES } from './sizes.ts';

const MUCH = 1e9;

test('a group that comes while closing writes a hint does not begin another one', async () => {
  const disk = new SimulatedDisk({ random: createRandom(1) });
  const { index, log: state } = recover(disk);
  const log = new Log(disk, state, SIZES);
  const created: string[] = [];
  disk.before = (operation, name) => {
    if (operation === 'create') created.push(name);
    return undefined;
  };
  const flushed = Promise.withResolvers<number>();
  const hints = new HintWriter(disk, { index, log, flush: () => flushed.promise }, MUCH);
  const closing = hints.close();
  hints.added(MUCH);
  flushed.resolve(0);
  await closing;
  assert.equal(created.length, 1);
  assert.ok(disk.names().includes(HINT_FILE));
  assert.ok(readHint(disk) !== undefined);
});
