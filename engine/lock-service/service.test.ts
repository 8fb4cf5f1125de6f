/**
 * Claims of the lock service over real connections, with processes that are killed, stopped and
 * come back; and that it may lose everything without harm.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Clock, systemClock, type Warning } from '../base/index.ts';
import { connectLockService, type LockServiceClient, type LockServiceOptions } from './client.ts';
import type { Liveness } from './index.ts';
import { serveLocks, type ServeLocksOptions } from './server.ts';
import { connect, methodOf, startServer, versioned } from '../rpc/index.ts';
import type { LockedRange, RangeLocks } from './range-locks.ts';
import { type LivenessChanges, lockService } from './service.ts';
import { until } from '../testing/index.ts';

const RANGE = { table: 't', from: 'a', to: 'b' };
const MEMBER = new URL('member.fixture.ts', import.meta.url);

test('"automatically deleted when the process exits": a killed process is dead for all others at once', async (t) => {
  const { address } = await serve(t);
  const observer = await join(t, address, 'observer');
  const { child, token } = await startMember(t, address, 60_000);
  assert.equal(observer.isDead(token), false);
  assert.equal(await observer.tryLock(RANGE), undefined, 'it holds a lock');
  child.kill('SIGKILL');
  await until(() => observer.isDead(token));
  assert.ok(await observer.tryLock(RANGE), 'and its locks ended with it');
  assert.equal((await join(t, address, 'late')).isDead(token), true, 'a later client is told');
});

test('P26: a process that was stopped is presumed dead, and alive again when it goes on', async (t) => {
  const { address } = await serve(t);
  const observer = await join(t, address, 'observer');
  const { child, token } = await startMember(t, address, 400);
  child.kill('SIGSTOP');
  await until(() => observer.isDead(token));
  child.kill('SIGCONT');
  await until(() => !observer.isDead(token));
});

test('P26: a service that stood still reads the waiting beats before it declares a worker dead', async (t) => {
  const { address } = await serve(t);
  const dead: string[] = [];
  const client = connect(address, lockService, { clock: systemClock });
  const { path, requestSerialize, responseDeserialize } = methodOf(lockService(), 'Stay');
  const stay = (await client.open()).channel.makeBidiStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
  );
  stay.on('error', () => {});
  stay.on('data', (changes: LivenessChanges) => dead.push(...(changes.dead ?? [])));
  stay.write(versioned({ token: 'observer', ttlMs: 60_000 }));
  await once(stay, 'data');
  t.after(() => {
    stay.cancel();
    client.close();
  });
  await startMember(t, address, 400);
  await systemClock.yield();
  // This process, which serves, stands still for longer than the member's time to live.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  await systemClock.sleep(200);
  assert.deepEqual(dead, []);
});

test('closing is leaving: no client waits for the time to live', async (t) => {
  const { address } = await serve(t);
  const observer = await join(t, address, 'observer');
  const leaver = await join(t, address, 'leaver', { timeToLiveMs: 60_000 });
  assert.ok(await leaver.tryLock(RANGE));
  await leaver.close();
  assert.ok(await observer.tryLock(RANGE), 'not even for a moment');
  await leaver.close();
  await until(() => observer.isDead('leaver'));
});

test('a client remembers no more of the dead than the service does', async (t) => {
  // One more than DEAD_MAX (tokens.ts).
  const dead = Array.from({ length: 10_001 }, (_, i) => String(i));
  const stay = (call: { write(changes: LivenessChanges): void }): void =>
    call.write(versioned({ dead }));
  const server = await startServer(lockService, { stay });
  t.after(() => server.close());
  const client = await join(t, server.address, 'client');
  assert.equal(client.isDead('0'), false);
  assert.equal(client.isDead('1'), true);
  assert.equal(client.isDead('10000'), true);
});

test('an unknown token is not dead, nor is the client’s own', async (t) => {
  const { address } = await serve(t);
  const observer = await join(t, address, 'observer');
  await systemClock.sleep(100);
  assert.equal(observer.isDead('unknown'), false);
  assert.equal(observer.isDead('observer'), false);
});

test('P26: a restarted service makes no living process look dead', async (t) => {
  const before = await serve(t);
  const observer = await join(t, before.address, 'observer', { timeToLiveMs: 300 });
  const other = await join(t, before.address, 'other', { timeToLiveMs: 300 });
  const dead = await join(t, before.address, 'dead');
  await dead.close();
  await until(() => observer.isDead('dead'));
  await before.close();
  await until(() => !observer.isConnected);
  assert.equal(observer.isDead('dead'), false, 'its reports are forgotten');
  await serve(t, { address: before.address });
  await until(() => observer.isConnected && other.isConnected);
  for (let i = 0; i < 30; i++) {
    assert.equal(observer.isDead('other'), false);
    await systemClock.sleep(20);
  }
  await other.close();
  await until(() => observer.isDead('other'));
});

test('P56: a network that drops everything is noticed: the reports of the service are forgotten', async (t) => {
  const { address } = await serve(t);
  const proxy = await swallowingProxy(t, address);
  const observer = await join(t, proxy.address, 'observer', { timeToLiveMs: 500 });
  const dead = await join(t, address, 'dead');
  await dead.close();
  await until(() => observer.isDead('dead'));
  proxy.swallow(true);
  await until(() => !observer.isConnected);
  assert.equal(observer.isDead('dead'), false);
  proxy.swallow(false);
  await until(() => observer.isConnected && observer.isDead('dead'));
});

test('the operating system’s knowledge counts without the service', async (t) => {
  const local: Liveness = { self: 'us', isDead: (token) => token === 'known to be dead' };
  const client = connectLockService({ addresses: ['127.0.0.1:1'], local });
  t.after(() => client.close());
  assert.equal(client.isDead('known to be dead'), true);
  assert.equal(client.isDead('other'), false);
  assert.equal(client.self, 'us');
});

describe('with two services', () => {
  test('P85: a worker that both report dead is dead, and the loss of one of them changes nothing', async (t) => {
    const [first, second] = [await serve(t), await serve(t)];
    const both = [first.address, second.address];
    const observer = await joinAll(t, both, 'observer');
    const [early, late] = [await joinAll(t, both, 'early'), await joinAll(t, both, 'late')];
    await early.close();
    await until(() => observer.isDead('early'));
    await first.close();
    await until(() => observer.connectedTo.length === 1);
    assert.equal(observer.isDead('early'), true, 'the second service has known it all along');
    assert.deepEqual([observer.isConnected, observer.isDead('late')], [true, false]);
    await late.close();
    await until(() => observer.isDead('late'));
    await serve(t, { address: first.address }); // It knows of no dead.
    const next = await joinAll(t, both, 'next');
    await next.close();
    await until(() => observer.isDead('next'));
  });

  test('P85: a worker that only one of them has lost is not dead', async (t) => {
    const [first, second] = [await serve(t), await serve(t)];
    const proxy = await swallowingProxy(t, first.address);
    const observer = await joinAll(t, [first.address, second.address], 'observer');
    const alone = await join(t, first.address, 'observer of the first');
    await joinAll(t, [proxy.address, second.address], 'worker', { timeToLiveMs: 300 });
    proxy.swallow(true);
    await until(() => alone.isDead('worker'));
    assert.equal(observer.isDead('worker'), false, 'the second one still hears of it');
  });

  test('P49: ranges are locked at the first one that answers, and unlocked where they are locked', async (t) => {
    const [first, second] = [await serve(t), await serve(t)];
    const both = [first.address, second.address];
    const [a, b] = [await joinAll(t, both, 'a'), await joinAll(t, both, 'b')];
    const onlyFirst = await join(t, first.address, 'only first');
    const onlySecond = await join(t, second.address, 'only second');
    const lock = await a.tryLock(RANGE);
    assert.ok(lock !== undefined);
    assert.equal(await b.tryLock(RANGE), undefined);
    assert.equal(await onlyFirst.tryLock(RANGE), undefined);
    lock.release();
    await until(async () => (await b.tryLock(RANGE)) !== undefined);
    await first.close();
    await until(() => [a, b].every(({ connectedTo }) => connectedTo[0] === second.address));
    assert.ok((await a.tryLock(RANGE)) !== undefined, 'the second service knew of no lock');
    assert.equal(await b.tryLock(RANGE), undefined);
    assert.equal(await onlySecond.tryLock(RANGE), undefined);
  });

  test('P56: each service that is lost is a warning of its own, with what follows', async (t) => {
    const second = await serve(t);
    const warnings: Warning[] = [];
    const client = await join(t, ['127.0.0.1:1', second.address], 'us', {
      timeToLiveMs: 200,
      onWarning: (warning) => warnings.push(warning),
    });
    await until(() => warnings.length > 0);
    const sentence =
      'the lock service at 127.0.0.1:1 cannot be used (it does not answer): until then only the other lock services say which processes of other machines are dead';
    assert.deepEqual(
      client.warnings.map((warning) => warning.sentence),
      [sentence],
    );
  });
});

test('a range is locked for one scanner, until it is released or it expires', async (t) => {
  const { address } = await serve(t, { rangeTimeToLiveMs: 300 });
  const [a, b] = [await join(t, address, 'a'), await join(t, address, 'b')];
  const lock = await a.tryLock(RANGE);
  assert.ok(lock !== undefined);
  assert.equal(await b.tryLock(RANGE), undefined);
  lock.release();
  await until(async () => (await b.tryLock(RANGE)) !== undefined);
  assert.equal(await a.tryLock(RANGE), undefined);
  await until(async () => (await a.tryLock(RANGE)) !== undefined);
});

test('a range of one row is that row, and no other', async (t) => {
  const { address } = await serve(t);
  const [a, b] = [await join(t, address, 'a'), await join(t, address, 'b')];
  const only = (row: string): LockedRange => ({ table: 't', from: row, to: row });
  assert.ok((await a.tryLock(only('m'))) !== undefined);
  assert.equal(await b.tryLock(only('m')), undefined);
  for (const row of ['l', 'm\0', 'm1', 'n']) assert.ok(await b.tryLock(only(row)), row);
  assert.ok(await b.tryLock({ ...only('m'), table: 'u' }), 'a row of another table');
});

test('P49: a service that does not answer is waited for once, and then skipped for a while', async (t) => {
  const silent = createServer((socket) => t.after(() => socket.destroy()));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const local: Liveness = { self: 'us', isDead: () => false };
  const client = connectLockService({ addresses: [`127.0.0.1:${port}`], local });
  t.after(() => client.close());
  assert.ok(await client.tryLock(RANGE));
  assert.ok(await grantsAtOnce(client, 10));
});

test('P49: without the service every lock is granted, and asking costs nothing after the first time', async (t) => {
  const server = await serve(t);
  const [a, b] = [await join(t, server.address, 'a'), await join(t, server.address, 'b')];
  assert.ok(await a.tryLock(RANGE));
  await server.close();
  await until(() => !b.isConnected);
  const lock = await b.tryLock(RANGE);
  assert.ok(lock !== undefined);
  lock.release();
  assert.ok(await grantsAtOnce(b, 100));
});

test('a client that is closed leaves no timer that keeps the process alive', async (t) => {
  const { address } = await serve(t);
  let sleeping = 0;
  const clock: Clock = {
    ...systemClock,
    sleep: async (ms, signal, options) => {
      if (options?.background === true) return systemClock.sleep(ms, signal, options);
      sleeping++;
      await systemClock.sleep(ms, signal, options);
      sleeping--;
    },
  };
  const client = await join(t, address, 'client', { clock });
  await client.close();
  await systemClock.yield();
  assert.equal(sleeping, 0);
});

test('wrong options are refused at once', async () => {
  const wrong = { code: 'INVALID_ARGUMENT' };
  const right = { addresses: ['127.0.0.1:1'], local: { self: 'a', isDead: () => false } };
  for (const options of [
    ...['', '127.0.0.1', '127.0.0.1:123456', 'nowhere://a', '127.0.0.1:1\n'].map((address) => ({
      addresses: ['127.0.0.1:2', address],
    })),
    { addresses: [] },
    { timeToLiveMs: 0 },
    { timeToLiveMs: 0.5 },
    { timeToLiveMs: Number.NaN },
  ]) {
    assert.throws(() => connectLockService({ ...right, ...options }), wrong);
  }
  for (const options of [{ address: '' }, { rangeTimeToLiveMs: Number.NaN }]) {
    await assert.rejects(serveLocks(options), wrong);
  }
});

async function serve(t: TestContext, options: ServeLocksOptions = {}) {
  const server = await serveLocks(options);
  t.after(() => server.close());
  return server;
}

/** Sits between a client and the service; connections never break, but it may drop all bytes. */
async function swallowingProxy(
  t: TestContext,
  address: string,
): Promise<{ readonly address: string; readonly swallow: (isOn: boolean) => void }> {
  let isSwallowing = false;
  const sockets = new Set<Socket>();
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (bytes) => isSwallowing || to.write(bytes));
    from.on('error', () => {});
    from.on('close', () => to.destroy());
  };
  const server = createServer((client) => {
    const service = createConnection(Number(address.split(':')[1]), '127.0.0.1');
    pass(client, service);
    pass(service, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, swallow: (isOn) => (isSwallowing = isOn) };
}

/** A client that the service knows. */
async function join(
  t: TestContext,
  address: string | readonly string[],
  self: string,
  options: Partial<LockServiceOptions> = {},
): Promise<LockServiceClient> {
  const local: Liveness = { self, isDead: () => false };
  const client = connectLockService({ addresses: [address].flat(), local, ...options });
  t.after(() => client.close());
  await until(() => client.isConnected);
  return client;
}

/** The same, known to all of these services. */
async function joinAll(
  t: TestContext,
  addresses: readonly string[],
  self: string,
  options: Partial<LockServiceOptions> = {},
): Promise<LockServiceClient> {
  const client = await join(t, addresses, self, options);
  await until(() => client.connectedTo.length === addresses.length);
  return client;
}

async function startMember(
  t: TestContext,
  address: string,
  timeToLiveMs: number,
): Promise<{ readonly child: ChildProcess; readonly token: string }> {
  const child = spawn(process.execPath, [fileURLToPath(MEMBER), address, String(timeToLiveMs)]);
  t.after(() => child.kill('SIGKILL'));
  const [written] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, token: written.toString().trim() };
}

/** Whether all of these locks are granted before anything that takes time happens. */
async function grantsAtOnce(client: RangeLocks, times: number): Promise<boolean> {
  const granting = (async (): Promise<boolean> => {
    for (let i = 0; i < times; i++) assert.ok(await client.tryLock(RANGE));
    return true;
  })();
  return Promise.race([granting, systemClock.yield().then(() => false)]);
}
