/** The claims about starting a server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './server.ts';
import { loadService } from './service.ts';

const FILE = new URL('../oracle/oracle.proto', import.meta.url);

for (const address of ['', 'nowhere://a', '127.0.0.1:123456', '::1', 'localhost']) {
  test(`an address at which no server can listen is refused: '${address}'`, async () => {
    const service = loadService(FILE, 'percolator.oracle.v1.TimestampOracle');
    await assert.rejects(startServer(service, {}, address), {
      code: 'INVALID_ARGUMENT',
      message: new RegExp(`^cannot serve at ${address}: .+`),
    });
  });
}
