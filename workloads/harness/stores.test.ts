/**
 * Environment variables that name no store get one sentence each, before anything is measured; a
 * script that loads its own tables touches none of the user's.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openStore } from '#engine';
import { UsageError } from '#results';
import { checkStoreName, provideEmptyStore, provideStore } from './stores.ts';
import { emulatorOrReason } from './testing/emulator.ts';

const HOST = 'BIGTABLE_EMULATOR_HOST';
const CREDENTIALS = 'GOOGLE_APPLICATION_CREDENTIALS';

describe('a store that cannot be used', () => {
  const given = { [HOST]: process.env[HOST], [CREDENTIALS]: process.env[CREDENTIALS] };
  before(() => {
    process.env[CREDENTIALS] = '/no/such/file.json';
  });
  after(() => {
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  const wrong = ['localhost', 'localhost:', 'localhost:abc', 'localhost:0', 'localhost:65536'];
  const alsoWrong = [':8086', '::1:8086', 'http://localhost:8086', 'localhost:8086/', 'a b:1', ' '];
  for (const value of [...wrong, ...alsoWrong]) {
    test(`${HOST}=${value}`, async () => {
      process.env[HOST] = value;
      const sentence = `${HOST} must be host:port, such as localhost:8086, but is "${value}".`;
      await refused('emulator', (message) => assert.equal(message, sentence));
    });
  }

  for (const value of ['127.0.0.1:1', '[::1]:1']) {
    test(`${HOST}=${value}, where nothing answers`, async () => {
      process.env[HOST] = value;
      await refused('emulator', (message) => {
        assert.match(message, /^--store: no Bigtable answers at .*:1: No connection established\b/);
        assert.doesNotMatch(message, /Resolution note/);
      });
    });
  }

  test('Cloud Bigtable without credentials', async () => {
    await refused('bigtable://project/instance', (message) => {
      assert.match(message, /^--store: Cloud Bigtable needs credentials, .*run: gcloud auth/);
    });
  });
});

async function refused(name: string, check: (message: string) => void): Promise<void> {
  const options = { regionServers: 3 }; // Scripts give it with every store.
  await assert.rejects(provideStore(checkStoreName(name), { folder: '' }, options), (error) => {
    assert.ok(error instanceof UsageError, String(error));
    assert.doesNotMatch(error.message, /\n/);
    check(error.message);
    return true;
  });
}

test("the user's store must have no table, keeps what it had, and has nothing of ours at the end", async (t) => {
  const emulator = await emulatorOrReason();
  if (typeof emulator === 'string') return t.skip(emulator);
  const was = process.env[HOST];
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
    if (was === undefined) delete process.env[HOST];
    else process.env[HOST] = was;
    await emulator.stop();
  }
});
