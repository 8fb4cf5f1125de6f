/**
 * When hints are written: never two at a time, because they share a file, and none after the store
 * has given up its folder.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, systemClock } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import { HINT_FILE, HintWriter, readHint } from './hint.ts';
import { Log, SIZES } from './log.ts';
import { openOnDisk } from './open-embedded.ts';
import { recover } from './recovery.ts';

/** Bytes of log after which a hint is written (SIZES.hintBytes is less). */
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

test('an opening that fails waits for the hint that it has begun to write', async () => {
  const settings = { fsync: true, readOnly: false };
  const first = new SimulatedDisk({ random: createRandom(1) });
  const store = await openOnDisk(first, { ...settings, sizes: SIZES });
  await store.createTable('t', { families: ['f'] });
  const files = first.files(); // As after `kill -9`: the last group is written again.
  await store.close();
  const disk = new SimulatedDisk({ random: createRandom(1) }, files);
  const operations: string[] = [];
  disk.before = (operation, name) => {
    operations.push(`${operation} ${name}`);
    if (name.startsWith(HINT_FILE)) disk.move(); // The opening fails when it looks for the folder.
    return undefined;
  };
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => (nowMs += 1_000) };
  const sizes = { ...SIZES, hintBytes: 1 };
  await assert.rejects(openOnDisk(disk, { ...settings, sizes, clock }), { code: 'STORE_CLOSED' });
  assert.ok(operations.includes(`write ${HINT_FILE}.new`));
  const before = [...operations];
  for (let turn = 0; turn < 100; turn++) await systemClock.yield();
  assert.deepEqual(operations, before);
});
