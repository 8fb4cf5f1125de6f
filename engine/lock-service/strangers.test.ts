/**
 * Claims of the lock service about strangers: an address that is not its own (P56), requests that
 * no client of ours makes, and clients that take without end or do not read.
 */
import assert from 'node:assert/strict';
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { test, type TestContext } from 'node:test';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { systemClock, type Warning } from '../base/index.ts';
import { openAllocator } from '../oracle/index.ts';
import { serveOracle } from '../oracle/server.ts';
import { connect, methodOf, type RpcClient, versioned } from '../rpc/index.ts';
import { createMemoryBigtable, until, VirtualClock } from '../testing/index.ts';
import { connectLockService, type LockServiceClient } from './client.ts';
import { serveLocks } from './server.ts';
import { RangeLockTable } from './range-locks.ts';
import { type Beat, lockService, type Numbered } from './service.ts';

const ROW_BYTES_MAX = 4_096;
const ALL = { from: 'a', to: 'z' };

test('P56: at the address of an oracle, the client says at once what is there', async (t) => {
  const server = await serveOracle(await openAllocator(createMemoryBigtable()));
  t.after(() => server.close());
  const { told } = clientAt(t, server.address, 3_600_000);
  const { sentence, kind, isOver } = await told(1);
  assert.match(
    sentence,
    /^the lock service at \S+ cannot be used \(a server of another kind is at \S+: it serves percolator\.oracle\.v1\.TimestampOracle, and not percolator\.locks\.v1\.LockService\): until then /,
  );
  assert.deepEqual([kind, isOver], ['lock service', false]);
});

test('P56: a service that is not there is told of after a time to live, once, until it is there', async (t) => {
  const first = await serveLocks();
  const { address } = first;
  await first.close();
  const { told, client } = clientAt(t, address, 100);
  assert.match((await told(1)).sentence, /cannot be used \(it does not answer\)/);
  assert.equal(client.warnings.length, 1);
  await systemClock.sleep(300);
  const server = await serveLocks({ address });
  t.after(() => server.close());
  assert.equal((await told(2)).isOver, true, 'and nothing in between');
  assert.deepEqual([client.isConnected, client.warnings], [true, []]);
});

test('a restart of the service is no warning', async (t) => {
  const before = await serveLocks();
  const { client, warnings } = clientAt(t, before.address, 3_600_000);
  await until(() => client.isConnected);
  await before.close();
  await until(() => !client.isConnected);
  const after = await serveLocks({ address: before.address });
  t.after(() => after.close());
  await until(() => client.isConnected);
  assert.deepEqual(warnings, []);
});

test('a text that is longer than the key of any row is refused', async (t) => {
  const raw = await rawClient(t);
  const long = 'é'.repeat(ROW_BYTES_MAX / 2 + 1);
  const whole = 'x'.repeat(ROW_BYTES_MAX);
  const lock = { token: 'a', table: 't', from: whole, to: whole };
  const ask = (request: object): Promise<Numbered> =>
    raw.call('LockRange', request, { deadlineMs: 30_000 });
  assert.ok((await ask(lock)).number > 0);
  for (const part of ['token', 'table', 'from', 'to']) {
    await assert.rejects(ask({ ...lock, [part]: long }), {
      code: 'INVALID_ARGUMENT',
      message: 'a token, a table and a row have at most 4096 bytes each, not 4098',
    });
  }
});

test('an owner that releases nothing keeps its newest locks, and costs no other owner any', () => {
  const locks = new RangeLockTable(new VirtualClock());
  const other = locks.lock('other', { table: 'other', ...ALL });
  const first = locks.lock('owner', { table: 'first', ...ALL });
  for (let i = 1; i < 10_000; i++) locks.lock('owner', { table: String(i), ...ALL });
  assert.equal(locks.lock('third', { table: 'first', ...ALL }), undefined);
  locks.lock('owner', { table: 'one more', ...ALL });
  assert.ok(locks.lock('third', { table: 'first', ...ALL }) !== undefined, 'the oldest has ended');
  assert.equal(locks.lock('third', { table: '1', ...ALL }), undefined);
  assert.equal(locks.lock('third', { table: 'other', ...ALL }), undefined);
  for (const number of [first, other]) locks.unlock(number ?? 0); // The first is over already.
  assert.ok(locks.lock('third', { table: 'other', ...ALL }) !== undefined);
});

test('a client that reads nothing is cut off before it fills the memory of the service', async (t) => {
  const server = await serveLocks();
  t.after(() => server.close());
  const { client } = clientAt(t, server.address, 3_600_000);
  await until(() => client.isConnected);
  const deaf = deafClient(t, server.address);
  deaf.write(framed(versioned({ token: 'deaf', ttlMs: 3_600_000 })));
  // One that leaves and comes back all the time: all clients hear of it each time.
  const restless = await stayAt(connectRaw(t, server.address));
  restless.on('data', () => {});
  const beat = versioned({ token: 'x'.repeat(1_000), ttlMs: 3_600_000 });
  for (let i = 0; i < 20_000 && !client.isDead('deaf'); i++) {
    restless.write(beat);
    restless.write({ ...beat, isLeaving: true });
    if (i % 100 === 0) await systemClock.sleep(5);
  }
  await until(() => client.isDead('deaf'));
});

/** A client that never reads from its connection, such as a stopped process. */
function deafClient(t: TestContext, address: string): ClientHttp2Stream {
  const session = connectHttp2(`http://${address}`);
  t.after(() => session.destroy());
  const { path } = methodOf(lockService(), 'Stay');
  const headers = { ':method': 'POST', ':path': path, te: 'trailers' };
  const stream = session.request({ ...headers, 'content-type': 'application/grpc' });
  for (const one of [session, stream]) one.on('error', () => {});
  return stream.pause();
}

/** One message of a stream of gRPC. */
function framed(beat: Beat): Buffer {
  const bytes = methodOf(lockService(), 'Stay').requestSerialize(beat);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function clientAt(
  t: TestContext,
  address: string,
  timeToLiveMs: number,
): {
  readonly client: LockServiceClient;
  readonly warnings: readonly Warning[];
  readonly told: (count: number) => Promise<Warning>;
} {
  const warnings: Warning[] = [];
  const client = connectLockService({
    addresses: [address],
    timeToLiveMs,
    local: { self: `client of ${address}`, isDead: () => false },
    onWarning: (warning) => warnings.push(warning),
  });
  t.after(() => client.close());
  const told = async (count: number): Promise<Warning> => {
    await until(() => warnings.length >= count);
    assert.equal(warnings.length, count);
    return warnings[count - 1] as Warning;
  };
  return { client, warnings, told };
}

async function rawClient(t: TestContext): Promise<RpcClient> {
  const server = await serveLocks();
  t.after(() => server.close());
  return connectRaw(t, server.address);
}

function connectRaw(t: TestContext, address: string): RpcClient {
  const raw = connect(address, lockService, { clock: systemClock });
  t.after(() => raw.close());
  return raw;
}

async function stayAt(raw: RpcClient): Promise<ClientDuplexStream<object, object>> {
  const { path, requestSerialize, responseDeserialize } = methodOf(lockService(), 'Stay');
  const stay = (await raw.open()).channel.makeBidiStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
  );
  stay.on('error', () => {});
  return stay;
}
