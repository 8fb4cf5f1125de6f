/**
 * Claims of the identity of a database (P73, P74): a client takes no answer of another database's
 * oracle, at whatever address it meets one, and an oracle notices that its store is another one.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { PercolatorError, systemClock } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { serveLocks } from '../lock-service/server.ts';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { startServer } from '../rpc/index.ts';
import { loadService } from '../rpc/index.ts';
import { createMemoryBigtable, FaultyBigtable, VirtualClock } from '../testing/index.ts';
import { connectOracle, type OracleClient } from './client.ts';
import { identify, openAllocator, openLeasedAllocator, type OwnSource } from './index.ts';
import { serveOracle } from './server.ts';

/** A client that waited for it would not end within a test. */
const TIMEOUT_MS = 3_600_000;

test('processes that open a new database at once give it one identity', async () => {
  const store = createMemoryBigtable();
  const found = await Promise.all([1, 2, 3].map(() => identify(new FaultyBigtable(store))));
  const names = new Set(found.map(({ name }) => name));
  assert.equal(names.size, 1);
  assert.notEqual((await identify(createMemoryBigtable())).name, found[0]?.name);
});

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`a database has the identity that its opener knows, also after ${lost}`, async () => {
    const store = createMemoryBigtable();
    const client = new FaultyBigtable(store);
    let lostOnce = false;
    client[lost](() => !lostOnce && (lostOnce = true));
    const { name } = await identify(client);
    assert.equal((await identify(store)).name, name);
  });
}

test('a database from before there were identities gets one when it is opened, and goes on', async () => {
  const store = createMemoryBigtable();
  await store.createTable('timestamp-oracle', { families: ['oracle'] });
  const limit = { family: 'oracle', qualifier: 'limit', timestamp: 5_000 };
  const value = Buffer.from(JSON.stringify({ owner: 'an older version', start: 1 }));
  const mutations = [{ kind: 'set', ...limit, value } as const];
  await store.mutateRows([{ table: 'timestamp-oracle', row: 'range', mutations }]);
  const [a, b] = [await openAllocator(store), await openAllocator(store)];
  assert.equal(a.identity, b.identity);
  assert.equal((await a.allocate(1)).first, 5_000);
});

test('P73: a client leaves an address at which the oracle of another database answers', async (t) => {
  const { right, wrong, client } = await twoDatabases(t, (own, other) => [other, own]);
  await client.belongTo(right.identity);
  await client.next();
  const { first: horizon } = await right.allocate(1);
  assert.equal(await client.raiseHorizon(horizon), horizon);
  assert.equal(await client.readHorizon(), horizon);
  assert.equal(await client.announceDrop(), 1);
  assert.equal(await wrong.readHorizon(), 0);
});

test('P73: if no address is left, all questions are refused at once, in a sentence that names both', async (t) => {
  const { right, wrong, client } = await twoDatabases(t, (_, other) => [other, other]);
  const refused = {
    code: 'WRONG_DATABASE',
    message: new RegExp(`belongs to the database ${wrong.identity}, not to .*${right.identity}`),
  };
  await assert.rejects(client.belongTo(right.identity), refused);
  await client.belongTo(wrong.identity); // Nothing of the other one was taken, so it is free.
  await assert.rejects(client.belongTo(right.identity), refused);
});

test('P73: a client notices that the oracle of another database listens at its address now', async (t) => {
  const { right, wrong } = await twoDatabases(t, () => []);
  const before = await serveOracle(right);
  const client = connect(t, [before.address]);
  await client.next(); // The first answer decides.
  await before.close();
  const after = await serveOracle(wrong, { address: before.address });
  t.after(() => after.close());
  await assert.rejects(client.next(), { code: 'WRONG_DATABASE' });
  await assert.rejects(client.readHorizon(), { code: 'WRONG_DATABASE' });
  await assert.rejects(client.raiseHorizon(1), { code: 'WRONG_DATABASE' });
  await assert.rejects(client.announceDrop(), { code: 'WRONG_DATABASE' });
  await after.close();
  const again = await serveOracle(right, { address: before.address });
  t.after(() => again.close());
  assert.ok((await client.next()) > 0, 'it asks there again, later');
});

test('P73: neither the horizon nor the drops of another database are moved', async (t) => {
  const { right, wrong } = await twoDatabases(t, () => []);
  await wrong.allocate(1_000);
  const before = await serveOracle(right);
  const client = connect(t, [before.address]);
  const horizon = await client.next();
  await before.close();
  const after = await serveOracle(wrong, { address: before.address });
  t.after(() => after.close());
  await assert.rejects(client.raiseHorizon(horizon), { code: 'WRONG_DATABASE' });
  await assert.rejects(client.announceDrop(), { code: 'WRONG_DATABASE' });
  assert.equal(await wrong.readHorizon(), 0);
  assert.equal((await wrong.allocate(1)).drops, 0);
});

test('an oracle that may come back is waited for, also if another address is wrong', async (t) => {
  const { right, client } = await twoDatabases(t, (_, other) => [other, '127.0.0.1:1'], 300);
  await assert.rejects(client.belongTo(right.identity), {
    code: 'STORE_UNAVAILABLE',
    message: /127\.0\.0\.1:1 gives no answer: .*; nor can that at \S+ \(it belongs to /,
  });
});

test('at the address of a lock service, a client says at once what is there', async (t) => {
  const locks = await serveLocks();
  t.after(() => locks.close());
  await assert.rejects(connect(t, [locks.address]).next(), {
    code: 'WRONG_DATABASE',
    message:
      /a server of another kind is at \S+: it serves percolator\.locks\.v1\.LockService, and not percolator\.oracle\.v1\.TimestampOracle/,
  });
});

test('a server of another kind is passed over', async (t) => {
  const locks = await serveLocks();
  t.after(() => locks.close());
  const { right, client } = await twoDatabases(t, (own) => [locks.address, own]);
  await client.belongTo(right.identity);
  assert.equal(await client.next(), 1);
});

test('P74: an oracle whose store came back empty, or is another one, hands out nothing more', async () => {
  for (const isEmpty of [true, false]) {
    const store = createMemoryBigtable();
    const clock = new VirtualClock();
    const asking = await openAllocator(store);
    const leased = await openLeasedAllocator(store, clock, { leaseTimeToLiveMs: 3_000 });
    await leased.allocate(1);
    await store.dropTable('timestamp-oracle');
    if (!isEmpty) await identify(store);
    const refused = {
      code: 'WRONG_DATABASE',
      message: isEmpty ? /: it came back empty; / : /: it has the database \S+ now; /,
    };
    await assert.rejects(asking.allocate(1), refused);
    await assert.rejects(asking.readHorizon(), refused);
    await clock.advance(1_000); // It renews its lease.
    await assert.rejects(leased.allocate(1), refused);
    await assert.rejects(leased.readHorizon(), refused);
  }
});

test('clients of an oracle hear at once that its store is lost, or that the store refuses', async (t) => {
  const client = new FaultyBigtable(createMemoryBigtable());
  const source = await openAllocator(client);
  const oracle = connect(t, [await addressOf(t, source)]);
  await oracle.next();
  client.beforeCall = () => {
    throw new PercolatorError('STORE_REFUSED', 'no permission');
  };
  await assert.rejects(oracle.next(), { code: 'STORE_REFUSED', message: /no permission/ });
  client.beforeCall = undefined;
  await client.dropTable('timestamp-oracle');
  await assert.rejects(oracle.next(), { code: 'WRONG_DATABASE', message: /it came back empty/ });
});

test('timestamps are counted in whole numbers', async () => {
  const store: Bigtable = createMemoryBigtable();
  for (const count of [1.5, 0, Number.NaN]) {
    await assert.rejects((await openAllocator(store)).allocate(count), {
      code: 'INVALID_ARGUMENT',
      message: `the count of timestamps must be a whole number above 0, not ${count}`,
    });
  }
});

test('a server without a description is a server of another kind, too', async (t) => {
  const file = new URL('../lock-service/lock-service.proto', import.meta.url);
  const service = (): ServiceDefinition => loadService(file, 'percolator.locks.v1.LockService');
  const server = await startServer(service, {});
  t.after(() => server.close());
  await assert.rejects(connect(t, [server.address]).next(), { code: 'WRONG_DATABASE' });
});

/** The oracles of two databases, and a client with addresses that `choose` is asked for. */
async function twoDatabases(
  t: TestContext,
  choose: (right: string, wrong: string) => readonly string[],
  timeoutMs = TIMEOUT_MS,
): Promise<{
  readonly right: OwnSource;
  readonly wrong: OwnSource;
  readonly client: OracleClient;
}> {
  const right = await openAllocator(createMemoryBigtable());
  const wrong = await openAllocator(createMemoryBigtable());
  const addresses = choose(await addressOf(t, right), await addressOf(t, wrong));
  const client = connect(t, addresses.length === 0 ? ['127.0.0.1:1'] : addresses, timeoutMs);
  return { right, wrong, client };
}

async function addressOf(t: TestContext, source: OwnSource): Promise<string> {
  const server = await serveOracle(source);
  t.after(() => server.close());
  return server.address;
}

function connect(
  t: TestContext,
  addresses: readonly string[],
  timeoutMs = TIMEOUT_MS,
): OracleClient {
  const client = connectOracle({ addresses, timeoutMs, clock: systemClock });
  t.after(() => client.close());
  return client;
}
