/** A script that loads its own tables touches none of the user's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '#engine';
import { UsageError } from '#results';
import { emulatorOrReason } from '../testing/emulator.ts';
import { provideEmptyStore } from './empty-stores.ts';

const HOST = 'BIGTABLE_EMULATOR_HOST';

test("the user's store must have no table, keeps what it had, and has nothing of ours at the end", async (t) => {
  const emulator = await emulatorOrReason();
  if (typeof emulator === 'string') return t.skip(emulator);
  const before = process.env[HOST];
  process.env[HOST] = emulator.address;
  try {
    await using store = await openStore({ kind: 'emulator', address: emulator.address });
    const ours = await provideEmptyStore('emulator', { folder: '' });
    await store.createTable('ours', { families: ['f'] });
    await ours[Symbol.asyncDispose]();
    assert.deepEqual(await store.listTables(), []);

    await store.createTable('theirs', { families: ['f'] });
    await assert.rejects(provideEmptyStore('emulator', { folder: '' }), (error) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, /^--store must be a store without tables, .* has theirs\.$/);
      return true;
    });
    assert.deepEqual(await store.listTables(), ['theirs']);
  } finally {
    if (before === undefined) delete process.env[HOST];
    else process.env[HOST] = before;
    await emulator.stop();
  }
});
