/** The ports of a local cluster: free, and outside the range of outgoing connections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer } from 'node:net';
import { accepts, freePorts, HOST } from './loopback.ts';

test('free ports are distinct, and not those that the system gives to connections', async () => {
  const ports = await freePorts(50);
  assert.equal(new Set(ports).size, 50);
  assert.deepEqual(
    ports.filter((port) => port < 10_000 || port >= 32_768),
    [],
  );
});

test('a free port has no listener, and a service can listen at it', async (t) => {
  const [port = 0] = await freePorts(1);
  assert.equal(await accepts(port), false);
  const server = createServer();
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(port, HOST, resolve));
  assert.equal(await accepts(port), true);
});
