/** Environment variables that name no store: one sentence each, before anything is measured. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { UsageError } from '#results';
import { checkStoreName, provideStore } from './index.ts';

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
