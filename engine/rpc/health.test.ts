/** The claims of health: a server says what is true when it is asked. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { systemClock } from '../base/index.ts';
import { serveLocks } from '../lock-service/server.ts';
import { openLeasedAllocator } from '../oracle/index.ts';
import { serveOracle } from '../oracle/server.ts';
import { createMemoryBigtable } from '../testing/index.ts';
import { healthService } from './health.ts';
import { HOSTS, identity, Source } from './identities.fixture.ts';
import { connect, methodOf, type RpcClient } from './index.ts';
import type { TlsSource } from './tls.ts';

const ORACLE = 'percolator.oracle.v1.TimestampOracle';

/** Without checks of the protocol's version, which other tools do not send. */
function tool(t: TestContext, address: string, tls?: TlsSource): RpcClient {
  const client = connect(address, healthService, { clock: systemClock, tls });
  t.after(() => client.close());
  return client;
}

/** The statuses that a watcher hears, newest last. */
async function watch(
  t: TestContext,
  client: RpcClient,
  service: string,
): Promise<readonly number[]> {
  const { channel } = await client.open();
  const { path, requestSerialize, responseDeserialize } = methodOf(healthService(), 'Watch');
  const stream = channel.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
    service,
  }) as ClientReadableStream<{ status: number }>;
  const heard: number[] = [];
  stream.on('data', ({ status }) => heard.push(status));
  stream.on('error', () => {});
  t.after(() => stream.cancel());
  return heard;
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await systemClock.sleep(10);
};

test('an oracle serves while it holds the lease; a standby is alive, and serves when it takes over', async (t) => {
  const store = createMemoryBigtable();
  const first = await openLeasedAllocator(store, systemClock, { leaseTimeToLiveMs: 15_000 });
  await first.allocate(1);
  const standby = await openLeasedAllocator(store, systemClock, { leaseTimeToLiveMs: 15_000 });
  t.after(() => standby.close());
  const servers = [await serveOracle(first), await serveOracle(standby)];
  t.after(() => Promise.all(servers.map((server) => server.close())));
  const [atFirst = '', atStandby = ''] = servers.map(({ address }) => address);
  const ofFirst = await watch(t, tool(t, atFirst), ORACLE);
  const ofStandby = await watch(t, tool(t, atStandby), ORACLE);
  const alive = await watch(t, tool(t, atStandby), '');
  const elsewhere = await watch(t, tool(t, atStandby), 'another');
  await until(() => [ofFirst, ofStandby, alive, elsewhere].every((heard) => heard.length > 0));
  assert.deepEqual([ofFirst[0], ofStandby[0], alive[0], elsewhere[0]], [1, 2, 1, 3]);
  await first.close();
  await until(() => ofStandby.at(-1) === 1 && ofFirst.at(-1) === 2);
  assert.deepEqual(alive, [1]);
});

test('with TLS, health needs a certificate and no role, and the same of the lock service', async (t) => {
  const tls = new Source(identity({ name: 'the locks', hosts: HOSTS }));
  const server = await serveLocks({ tls });
  t.after(() => server.close());
  const heard = await watch(
    t,
    tool(t, server.address, new Source(identity())),
    'percolator.locks.v1.LockService',
  );
  await until(() => heard.length > 0);
  assert.deepEqual(heard, [1]);
  const stranger = await watch(t, tool(t, server.address), '');
  await until(() => server.refused.connections > 0);
  assert.deepEqual(stranger, []);
});

test('a service that is not there is not found', async (t) => {
  const server = await serveLocks();
  t.after(() => server.close());
  const client = tool(t, server.address);
  const asked = client.call('Check', { service: ORACLE }, { deadlineMs: 10_000 });
  await assert.rejects(asked, /no service percolator\.oracle\.v1\.TimestampOracle is here/);
});
