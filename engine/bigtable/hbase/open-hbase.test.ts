/** How late a call may be applied, as the store tells collectors (P66); and wrong options. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../base/index.ts';
import { VirtualClock } from '../../testing/index.ts';
import { openHBase } from './index.ts';
import { serveHBase } from './simulated-server.fixture.ts';

test('P66: a call may be applied until its deadline and one and a half sessions have passed', async () => {
  await using served = await serveHBase();
  const servers = [served.master];
  for (const [given, messageLifetimeMs] of [
    [{}, 145_000], // The defaults: 10 s, and sessions of 90 s.
    [{ sessionTimeoutMs: 6_000 }, 19_000],
    [{ sessionTimeoutMs: 6_000, timeoutMs: 1_000 }, 10_000],
  ] as const) {
    await using store = await openHBase({ servers, ...given });
    assert.equal(store.manifest.messageLifetimeMs, messageLifetimeMs);
  }
});

test('a wrong option is refused in one sentence, before any server is asked', async () => {
  const servers = ['127.0.0.1:1'];
  for (const [given, message] of [
    [{ sessionTimeoutMs: 2_999 }, 'sessionTimeoutMs must be a number of at least 3000, not 2999'],
    [{ proofMs: -1 }, 'proofMs must be a number of milliseconds from 0 to 3000, not -1'],
    [{ proofMs: 3_001 }, 'proofMs must be a number of milliseconds from 0 to 3000, not 3001'],
    [
      { proofMs: 2_001, sessionTimeoutMs: 3_000 },
      'proofMs must be at most 2000, two thirds of sessionTimeoutMs, which is 3000, not 2001',
    ],
    [{ timeoutMs: 0 }, 'timeoutMs must be a finite number above 0, not 0'],
    [{ session: 6_000 }, /^openHBase has no option session; it has servers, namespace, tls, /],
    [
      { principal: 'hbase' },
      "principal must be a principal like hbase/_HOST or hbase/_HOST@REALM, not 'hbase'",
    ],
    [{ servers: 'host:16000' }, /^servers must be a list of one or more texts like host:port, not/],
    [{ servers: [] }, /^servers must be/],
    [{ servers: ['localhost'] }, /^servers must be/],
    [{ servers: ['host:99999'] }, /^servers must be/],
  ] as const) {
    const options = { servers, ...given } as Parameters<typeof openHBase>[0];
    await assert.rejects(openHBase(options), { code: 'INVALID_ARGUMENT', message });
  }
});

test('P64: how long a mutation proves answers is as the option says', async () => {
  for (const [proofMs, proofs] of [
    [0, 2],
    [3_000, 0], // Of a clock that stands still.
  ] as const) {
    let applied = 0;
    await using served = await serveHBase({ onApplied: () => void applied++ });
    const clock = new VirtualClock();
    await using store = await openHBase({ servers: [served.master], proofMs, clock });
    await store.createTable('t', { families: ['f'] });
    const cell = { family: 'f', qualifier: 'q' };
    const set = { kind: 'set', ...cell, timestamp: 1, value: Buffer.from('1') } as const;
    await store.mutateRows([{ table: 't', row: 'a', mutations: [set] }]);
    const before = applied;
    for (let i = 0; i < 2; i++) assert.ok(await store.readRow('t', 'a', [cell]));
    assert.equal(applied - before, proofs);
  }
});

/** Longer than a connection and a question may take (connection.ts, regions.ts). */
const LATE_MS = 3_500;

test('a server that is late is waited for, for as long as a call may take', async () => {
  const sockets = new Set<Socket>();
  const openAtMs = systemClock.monotonicMs() + LATE_MS;
  const front = async (listener: Server): Promise<Server> => {
    const late = createServer((client) => {
      sockets.add(client.on('error', () => {}));
      void systemClock.sleep(Math.max(0, openAtMs - systemClock.monotonicMs())).then(() => {
        const { port } = listener.address() as AddressInfo;
        const server = connect(port, '127.0.0.1').on('error', () => {});
        client.pipe(server).pipe(client);
      });
    });
    await once(late.listen(0, '127.0.0.1'), 'listening');
    return late.unref();
  };
  await using served = await serveHBase({ front });
  await using store = await openHBase({ servers: [served.master] });
  assert.deepEqual(await store.listTables(), []);
  for (const socket of sockets) socket.destroy();
});

test('an address at which no process listens is refused at once', async () => {
  const silent = createServer().listen(0, '127.0.0.1').unref();
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  silent.close();
  const beganMs = systemClock.monotonicMs();
  const opening = openHBase({ servers: [`127.0.0.1:${port}`], timeoutMs: 600_000 });
  await assert.rejects(opening, { code: 'STORE_UNAVAILABLE', message: /no HBase answers at 127/ });
  assert.ok(systemClock.monotonicMs() - beganMs < 300_000);
});
