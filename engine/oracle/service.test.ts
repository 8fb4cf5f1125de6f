/**
 * Claims of the oracle as a service, over real connections: a client receives what the source
 * promised. Whatever is lost, stops or is no longer the oracle, no client receives a timestamp
 * twice, or one from before it asked (P10, P35).
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { PercolatorError, systemClock } from '../base/index.ts';
import { connect } from '../rpc/index.ts';
import type { RpcServer } from '../rpc/rpc-server.ts';
import { createMemoryBigtable, FaultyBigtable, VirtualClock } from '../testing/index.ts';
import {
  type Allocation,
  openAllocator,
  openLeasedAllocator,
  type TimestampSource,
} from './index.ts';
import { connectOracle, type OracleClient, type OracleClientOptions } from './client.ts';
import { serveOracle } from './server.ts';
import { oracleService } from './service.ts';

test('callers of several clients get unique timestamps, each larger than all that were answered before', async (t) => {
  const source = await openAllocator(createMemoryBigtable(), { rangeSize: 100 });
  const address = await serve(t, source);
  const clients = [1, 2, 3].map(() => connectTo(t, [address]));
  const taken = new Set<number>();
  let largest = 0;
  await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: 50 }, async () => {
        for (let i = 0; i < 10; i++) {
          const before = largest;
          const timestamp = await client.next();
          assert.ok(timestamp > before);
          assert.ok(!taken.has(timestamp));
          taken.add(timestamp);
          largest = Math.max(largest, timestamp);
        }
      }),
    ),
  );
  assert.equal(taken.size, 1_500);
});

test('"only one pending RPC to the oracle": callers of a client share it, and a later caller waits for the next', async (t) => {
  const scripted = new ScriptedSource();
  const client = connectTo(t, [await serve(t, scripted)]);
  const early = [client.next(), client.next(), client.next()];
  await scripted.untilAsked(1);
  const late = client.next();
  await systemClock.sleep(20);
  assert.deepEqual(scripted.counts, [3], 'P10: not served by a request from before it asked');
  scripted.answer({ first: 10 });
  assert.deepEqual(await Promise.all(early), [10, 11, 12]);
  await scripted.untilAsked(2);
  scripted.answer({ first: 13 });
  assert.equal(await late, 13);
  assert.deepEqual(scripted.counts, [3, 1]);
});

test('the horizon comes with timestamps, is read, and is raised', async (t) => {
  const source = await openAllocator(createMemoryBigtable());
  await source.allocate(7);
  const client = connectTo(t, [await serve(t, source)]);
  assert.equal(await client.raiseHorizon(7), 7);
  assert.equal(await client.raiseHorizon(3), 7);
  assert.equal(await client.readHorizon(), 7);
  const other = connectTo(t, [await serve(t, source)]);
  await other.next();
  assert.equal(other.horizon, 7);
});

test('P31: a horizon above all timestamps is refused: it could never be lowered again', async (t) => {
  const source = await openAllocator(createMemoryBigtable());
  const client = connectTo(t, [await serve(t, source)]);
  const timestamp = await client.next();
  for (const horizon of [timestamp + 2, Number.MAX_SAFE_INTEGER]) {
    await assert.rejects(client.raiseHorizon(horizon), { code: 'INVALID_ARGUMENT' });
  }
  assert.equal(await client.readHorizon(), 0);
  assert.equal(await client.raiseHorizon(timestamp), timestamp);
});

test('P35: an oracle that takes a timestamp of ours for a future one was replaced: the next oracle is asked', async (t) => {
  const serveFrom = async (first: number): Promise<RpcServer> => {
    const source = await openAllocator(createMemoryBigtable());
    await source.allocate(first);
    const server = await serveOracle(of('one database', source));
    t.after(() => server.close());
    return server;
  };
  const [former, lagging, now] = [
    await serveFrom(1_000),
    await serveFrom(1),
    await serveFrom(2_000),
  ];
  const client = connectTo(
    t,
    [former, lagging, now].map(({ address }) => address),
  );
  const timestamp = await client.next();
  await former.close();
  assert.equal(await client.raiseHorizon(timestamp), timestamp);
});

test('P54: the count of drops comes with timestamps, and each announcement raises it', async (t) => {
  const source = await openAllocator(createMemoryBigtable());
  const client = connectTo(t, [await serve(t, source)]);
  assert.equal(await client.announceDrop(), 1);
  assert.equal(client.drops, 1);
  const other = connectTo(t, [await serve(t, source)]);
  assert.equal(await other.announceDrop(), 2);
  assert.equal(client.drops, 1, 'it has not asked since');
  await client.next();
  assert.equal(client.drops, 2);
});

test('a request whose answer does not come is repeated, and the lost timestamps are never used', async (t) => {
  const scripted = new ScriptedSource();
  const client = connectTo(t, [await serve(t, scripted)], { attemptMs: 500 });
  const given = client.next();
  await scripted.untilAsked(2);
  scripted.answer({ first: 1 }); // No request still waits for it.
  scripted.answer({ first: 2 });
  assert.equal(await given, 2);
});

test('P35: an answer below the timestamps already received is discarded, and another oracle is asked', async (t) => {
  const [old, successor] = [new ScriptedSource(), new ScriptedSource()];
  const client = connectTo(t, [await serve(t, old), await serve(t, successor)]);
  const first = client.next();
  await old.untilAsked(1);
  old.answer({ first: 2_000 });
  assert.equal(await first, 2_000);
  const second = client.next();
  await old.untilAsked(2);
  old.answer({ first: 1_500 });
  await successor.untilAsked(1);
  successor.answer({ first: 2_001 });
  assert.equal(await second, 2_001);
});

test('P35: a client that has seen a later epoch rejects timestamps and horizons of an earlier one', async (t) => {
  const [old, successor] = [new ScriptedSource(), new ScriptedSource()];
  old.epoch = 1;
  successor.epoch = 2;
  const addresses = [await serve(t, successor), await serve(t, old)];
  const client = connectTo(t, addresses, { attemptMs: 500 });
  const first = client.next();
  await successor.untilAsked(1);
  successor.answer({ first: 1 });
  await first;
  const second = client.next();
  await successor.untilAsked(2); // It does not answer this time.
  await old.untilAsked(1);
  old.answer({ first: 5_000 });
  await successor.untilAsked(3);
  successor.answer({ first: 2 }); // No request still waits for it.
  successor.answer({ first: 3 });
  assert.equal(await second, 3);
  old.horizon = 5;
  successor.horizon = 9;
  successor.refusals = 1; // So that the old one is asked in between.
  assert.equal(await client.readHorizon(), 9);
  assert.equal(old.horizonReads, 1);
});

test('two requests that the same oracle refuses lead to the next oracle, not past it', async (t) => {
  const [standby, healthy] = [new ScriptedSource(), new ScriptedSource()];
  standby.refusals = Infinity;
  healthy.horizon = 9;
  const addresses = [await serve(t, standby), await serve(t, healthy)];
  const client = connectTo(t, addresses, { timeoutMs: 5_000 });
  assert.deepEqual(await Promise.all([client.readHorizon(), client.readHorizon()]), [9, 9]);
});

test('timestamps and horizons of a source without epochs are accepted in any order', async (t) => {
  const source = await openAllocator(createMemoryBigtable());
  const client = connectTo(t, [await serve(t, source)], { timeoutMs: 5_000 });
  assert.equal(await client.next(), 1);
  assert.equal(await client.raiseHorizon(1), 1);
  assert.equal(await client.readHorizon(), 1);
  assert.equal(await client.next(), 3, 'the server took 2 to check the horizon');
});

test('a source without epochs may follow an oracle with a lease, at the same address', async (t) => {
  const leased = new ScriptedSource();
  leased.epoch = 5;
  const before = await serveOracle(leased);
  t.after(() => before.close());
  const client = connectTo(t, [before.address]);
  assert.equal(await client.readHorizon(), 0);
  await before.close();
  const store = createMemoryBigtable();
  const source = of(leased.identity, await openAllocator(store));
  const after = await serveOracle(source, { address: before.address });
  t.after(() => after.close());
  assert.equal(await client.next(), 1);
});

test('an attemptMs that is longer than any timer means no limit', async (t) => {
  const source = await openAllocator(createMemoryBigtable());
  const client = connectTo(t, [await serve(t, source)], { attemptMs: Number.MAX_SAFE_INTEGER });
  assert.equal(await client.next(), 1);
});

test('a restarted server is found within a second, at the same address', async (t) => {
  const store = createMemoryBigtable();
  const before = await serveOracle(await openAllocator(store));
  t.after(() => before.close());
  const client = connectTo(t, [before.address]);
  const given = await client.next();
  await before.close();
  const startedMs = systemClock.monotonicMs();
  const next = client.next();
  await systemClock.sleep(100);
  const after = await serveOracle(await openAllocator(store), { address: before.address });
  t.after(() => after.close());
  assert.ok((await next) > given);
  assert.ok(systemClock.monotonicMs() - startedMs < 1_000);
});

test('when an oracle stops, its standby takes over, and callers only wait', async (t) => {
  const store = createMemoryBigtable();
  const lease = { leaseTimeToLiveMs: 300 };
  const first = await openLeasedAllocator(store, systemClock, lease);
  const standby = await openLeasedAllocator(store, systemClock, lease);
  t.after(() => standby.close());
  const addresses = [await serve(t, first), await serve(t, standby)];
  const client = connectTo(t, addresses);
  let last = 0;
  for (let i = 0; i < 100; i++) {
    if (i === 50) await first.close();
    const timestamp = await client.next();
    assert.ok(timestamp > last);
    last = timestamp;
  }
  assert.ok(standby.isLeading);
});

test('P35: the timestamps of the request during which a standby takes over are accepted', async (t) => {
  const store = createMemoryBigtable();
  const clock = new VirtualClock();
  const lease = { leaseTimeToLiveMs: 3_000 };
  const [firstStore, standbyStore] = [new FaultyBigtable(store), new FaultyBigtable(store)];
  const first = await openLeasedAllocator(firstStore, clock, lease);
  const standby = await openLeasedAllocator(standbyStore, clock, lease);
  const given: number[] = [];
  const recording: TimestampSource = {
    ...of(standby.identity, standby),
    get epoch() {
      return standby.epoch;
    },
    allocate: async (count) => {
      const allocation = await standby.allocate(count);
      given.push(allocation.first);
      return allocation;
    },
  };
  const client = connectTo(t, [await serve(t, first), await serve(t, recording)]);
  await client.next();
  firstStore.beforeCall = standbyStore.beforeCall = () => {
    throw new PercolatorError('STORE_UNAVAILABLE', 'not now');
  };
  await clock.advance(3_000); // The lease is over, and the standby cannot take it over yet.
  standbyStore.beforeCall = undefined;
  const timestamp = await client.next();
  assert.deepEqual(given, [timestamp]);
});

test('without any oracle, callers receive an error after a while, with address and reason', async (t) => {
  const client = connectTo(t, ['127.0.0.1:1'], { timeoutMs: 1_000 });
  await assert.rejects(
    client.next(),
    (error) =>
      error instanceof PercolatorError &&
      error.code === 'STORE_UNAVAILABLE' &&
      /the timestamp oracle at 127\.0\.0\.1:1 gives no answer: .*ECONNREFUSED/.test(error.message),
  );
});

for (const code of ['STORE_FULL', 'STORE_REFUSED', 'STORE_DAMAGED'] as const) {
  test(`${code} of an oracle's store reaches the caller at once, unless another oracle answers`, async (t) => {
    const asked = { count: 0 };
    const full: TimestampSource = {
      ...(await openAllocator(createMemoryBigtable())),
      allocate: () => {
        asked.count++;
        return Promise.reject(new PercolatorError(code, 'no room'));
      },
    };
    const address = await serve(t, full);
    const alone = connectTo(t, [address]);
    await assert.rejects(alone.next(), { code, message: /cannot be used: no room/ });
    assert.equal(asked.count, 1);
    const healthy = await serve(t, await openAllocator(createMemoryBigtable()));
    assert.equal(await connectTo(t, [address, healthy]).next(), 1);
  });
}

test('a request that is larger than gRPC allows is the mistake of its caller', async (t) => {
  const address = await serve(t, await openAllocator(createMemoryBigtable()));
  const server = connect(address, oracleService, { clock: systemClock });
  t.after(() => server.close());
  const request = { horizon: 0, identity: 'x'.repeat(5_000_000) };
  const sent = server.call('RaiseHorizon', request, { deadlineMs: 60_000 });
  await assert.rejects(sent, { code: 'INVALID_ARGUMENT', message: /larger than max/ });
});

test('a request to a silent oracle waits no longer than the timeout, however long an attempt may take', async (t) => {
  const address = await serve(t, new ScriptedSource());
  const client = connectTo(t, [address], { attemptMs: 5_000, timeoutMs: 100 });
  const startedMs = systemClock.monotonicMs();
  await assert.rejects(client.next(), { code: 'STORE_UNAVAILABLE' });
  const waitedMs = systemClock.monotonicMs() - startedMs;
  assert.ok(waitedMs < 5_000, `${waitedMs} ms`);
});

test('closing a client answers its waiting callers, refuses later ones, and may be repeated', async (t) => {
  const scripted = new ScriptedSource();
  const client = connectTo(t, [await serve(t, scripted)], { attemptMs: 50 });
  const waiting = client.next();
  await scripted.untilAsked(1);
  await client.close();
  await client.close();
  await assert.rejects(waiting, { code: 'STORE_UNAVAILABLE' });
  await assert.rejects(client.next(), { code: 'STORE_CLOSED' });
});

test('closing a client while a caller rests between two attempts answers it likewise', async (t) => {
  const scripted = new ScriptedSource();
  const client = connectTo(t, [await serve(t, scripted)], { attemptMs: 5 });
  const waiting = client.next();
  await scripted.untilAsked(6);
  await systemClock.sleep(40); // The sixth rest takes 100 ms.
  await client.close();
  await assert.rejects(waiting, { code: 'STORE_UNAVAILABLE' });
});

test('closing a client ends its connection', async (t) => {
  const source = await openAllocator(createMemoryBigtable());
  const [host, port] = (await serve(t, source)).split(':');
  const relay = createServer((socket) => {
    const onward = createConnection(Number(port), host);
    for (const end of [socket, onward]) end.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  }).listen(0, '127.0.0.1');
  t.after(() => relay.close());
  await once(relay, 'listening');
  const accepted = once(relay, 'connection');
  const client = connectTo(t, [`127.0.0.1:${(relay.address() as AddressInfo).port}`]);
  await client.next();
  const [connection] = (await accepted) as [Socket];
  const ended = once(connection, 'close');
  await client.close();
  await assert.doesNotReject(ended, 'the relay sees the connection end');
});

test('wrong options are refused at once, and so is an address that is taken', async (t) => {
  const addresses = ['127.0.0.1:1'];
  for (const [options, message] of [
    [{ addresses: [] }, 'addresses must be a list of one or more texts like host:port, not []'],
    [{ addresses: ['127.0.0.1'] }, /^addresses must be/],
    [{ addresses, attemptMs: 0 }, /^attemptMs must be/],
    [{ addresses, timeoutMs: Number.NaN }, 'timeoutMs must be a finite number above 0, not NaN'],
  ] as const) {
    assert.throws(() => connectOracle(options), { code: 'INVALID_ARGUMENT', message });
  }
  const occupied = createServer().listen(0, '127.0.0.1');
  t.after(() => occupied.close());
  await new Promise((resolve) => occupied.once('listening', resolve));
  const { port } = occupied.address() as { port: number };
  const address = `127.0.0.1:${port}`;
  await assert.rejects(serveOracle(new ScriptedSource(), { address }), {
    code: 'INVALID_ARGUMENT',
  });
});

/** The source as one of the database that `identity` names. */
function of(identity: string, source: TimestampSource): TimestampSource {
  return {
    identity,
    allocate: (count) => source.allocate(count),
    readHorizon: () => source.readHorizon(),
    raiseHorizon: (horizon) => source.raiseHorizon(horizon),
    announceDrop: () => source.announceDrop(),
    belongTo: (wanted) => source.belongTo(wanted),
  };
}

/** A source with scripted answers. */
class ScriptedSource implements TimestampSource {
  identity = 'the database';
  epoch = 0;
  horizon = 0;
  horizonReads = 0;
  /** How many of the next reads of the horizon are refused. */
  refusals = 0;
  readonly counts: number[] = [];
  readonly #waiting: PromiseWithResolvers<Allocation>[] = [];

  allocate(count: number): Promise<Allocation> {
    this.counts.push(count);
    const waiting = Promise.withResolvers<Allocation>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  async readHorizon(): Promise<number> {
    this.horizonReads++;
    if (this.refusals-- > 0) throw new PercolatorError('STORE_UNAVAILABLE', 'not now');
    return this.horizon;
  }

  async raiseHorizon(): Promise<number> {
    return this.horizon;
  }

  async announceDrop(): Promise<number> {
    return 1;
  }

  async belongTo(): Promise<void> {}

  async untilAsked(times: number): Promise<void> {
    while (this.counts.length < times) await systemClock.sleep(1);
  }

  /** Answers the oldest waiting request. */
  answer({ first }: { readonly first: number }): void {
    this.#waiting.shift()?.resolve({ first, horizon: this.horizon, drops: 0 });
  }
}

async function serve(t: TestContext, source: TimestampSource): Promise<string> {
  const server = await serveOracle(source);
  t.after(() => server.close());
  return server.address;
}

function connectTo(
  t: TestContext,
  addresses: readonly string[],
  options: Partial<OracleClientOptions> = {},
): OracleClient {
  const client = connectOracle({ addresses, ...options });
  t.after(() => client.close());
  return client;
}
