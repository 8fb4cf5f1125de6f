/** The claims about starting a server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { startServer } from './server.ts';
import { loadService } from './service.ts';

const FILE = new URL('../oracle/oracle.proto', import.meta.url);
const service = (): ServiceDefinition => loadService(FILE, 'percolator.oracle.v1.TimestampOracle');

for (const address of ['', 'nowhere://a', '127.0.0.1:123456', '::1', 'localhost']) {
  test(`an address at which no server can listen is refused: '${address}'`, async () => {
    await assert.rejects(startServer(service, {}, { address }), {
      code: 'INVALID_ARGUMENT',
      message: new RegExp(`^cannot serve at ${address}: .+`),
    });
  });
}

test('without certificates no other machine is served, unless the caller insists', async () => {
  for (const address of ['0.0.0.0:0', '[::]:0', '10.0.0.1:7000', 'localhost.example:0']) {
    await assert.rejects(startServer(service, {}, { address }), {
      code: 'INVALID_ARGUMENT',
      message: `cannot serve at ${address} without the option tls, because that is not an address of this machine alone; give certificates, or insecure: true`,
    });
  }
  for (const options of [{ address: 'localhost:0' }, { address: '0.0.0.0:0', insecure: true }]) {
    const server = await startServer(service, {}, options);
    assert.match(server.address, /:\d+$/);
    await server.close();
  }
});
