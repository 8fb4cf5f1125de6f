/**
 * The claims of certificates that change or end, and of strangers in large numbers: no call fails
 * of those that are let in.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Clock, systemClock, type Warning } from '../base/index.ts';
import { connectLockService, type LockServiceClient } from '../lock-service/client.ts';
import { serveLocks } from '../lock-service/server.ts';
import { connectOracle } from '../oracle/client.ts';
import { serveOracle, type ServeOracleOptions } from '../oracle/server.ts';
import { oracleService } from '../oracle/service.ts';
import { openAllocator } from '../oracle/index.ts';
import { createMemoryBigtable, VirtualClock } from '../testing/index.ts';
import {
  AUTHORITY,
  DAY_MS,
  HOSTS,
  identity,
  OTHER_AUTHORITY,
  Source,
} from './identities.fixture.ts';
import { connect, type RpcClient } from './index.ts';
import type { RpcServer } from './rpc-server.ts';
import type { TlsIdentity } from './tls.ts';

async function serve(t: TestContext, options: ServeOracleOptions): Promise<RpcServer> {
  const source = await openAllocator(createMemoryBigtable());
  const server = await serveOracle(source, options);
  t.after(() => server.close());
  return server;
}

/** It repeats no call, unlike the oracle's client: each failure is seen. */
function client(
  t: TestContext,
  address: string,
  tls: Source,
  clock: Clock = systemClock,
): RpcClient {
  const opened = connect(address, oracleService, { clock, tls });
  t.after(() => opened.close());
  return opened;
}

const ask = (one: RpcClient): Promise<{ first: number }> =>
  one.call('Allocate', { count: 1 }, { deadlineMs: 60_000 });

/** A connection without gRPC, as soon as the server has accepted it. */
async function open(
  t: TestContext,
  { address }: RpcServer,
  shown: TlsIdentity,
): Promise<TLSSocket> {
  const [host = '', port] = address.split(':');
  const { authority, certificate, key } = shown;
  const [ca, cert, own] = [authority, certificate, key].map((pem) => Buffer.from(pem));
  const socket = connectTls({
    host,
    port: Number(port),
    ca,
    cert,
    key: own,
    ALPNProtocols: ['h2'],
  });
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

const bothAuthorities = Buffer.from(AUTHORITY.certificate + OTHER_AUTHORITY.certificate);
const others = Buffer.from(OTHER_AUTHORITY.certificate);

test('certificates and then the authority are replaced while callers call, and no call fails', async (t) => {
  const service = { name: 'the oracle', hosts: HOSTS };
  const ofServer = new Source(identity(service));
  const server = await serve(t, { tls: ofServer });
  const sources = [1, 2, 3].map(() => new Source(identity()));
  const clients = sources.map((tls) => client(t, server.address, tls));
  const over = new AbortController();
  const asked = { calls: 0 };
  const timestamps = new Set<number>();
  const calling = Promise.all(
    clients.map(async (one) => {
      while (!over.signal.aborted) {
        const answers = await Promise.all([ask(one), ask(one), ask(one)]);
        for (const { first } of answers) timestamps.add(first);
        asked.calls += answers.length;
      }
    }),
  );
  const shownBy = async (): Promise<string> => {
    const socket = await open(t, server, sources[0]?.current() ?? identity());
    return socket.getPeerCertificate().serialNumber;
  };
  /** Until calls have been answered after the change. */
  const settle = async (): Promise<void> => {
    const enough = asked.calls + 60;
    while (asked.calls < enough) await Promise.race([systemClock.sleep(5), calling]);
  };
  const renewAll = async (next: (options: object) => TlsIdentity): Promise<void> => {
    ofServer.renew(next(service));
    for (const source of sources) source.renew(next({}));
    await settle();
  };
  const seen = [await shownBy()];
  const steps: ((options: object) => TlsIdentity)[] = [
    (options) => identity(options),
    (options) => ({ ...identity(options), authority: bothAuthorities }),
    (options) => ({ ...identity(options, OTHER_AUTHORITY), authority: bothAuthorities }),
    (options) => ({ ...identity(options, OTHER_AUTHORITY), authority: others }),
  ];
  for (const step of steps) {
    await renewAll(step);
    seen.push(await shownBy());
  }
  over.abort();
  await calling;
  assert.equal(new Set(seen).size, seen.length, 'each time a new connection shows the new one');
  assert.equal(timestamps.size, asked.calls);
  await assert.rejects(
    client(t, server.address, new Source(identity())).call(
      'Allocate',
      { count: 1 },
      { deadlineMs: 2_000 },
    ),
    { code: 'STORE_UNAVAILABLE' },
    'the former authority is not trusted any more',
  );
});

test('a client goes over to a connection that shows its new certificate, if the server takes it', async (t) => {
  const server = await serve(t, {
    tls: new Source(identity({ name: 'the oracle', hosts: HOSTS })),
  });
  const tls = new Source(identity());
  const one = client(t, server.address, tls);
  const raise = (): Promise<unknown> =>
    one.call('RaiseHorizon', { horizon: 0 }, { deadlineMs: 60_000 });
  await assert.rejects(raise(), { code: 'ROLE_REFUSED' });
  const strange = identity({ role: 'collector' }, OTHER_AUTHORITY);
  tls.renew({ ...strange, authority: bothAuthorities });
  const { refused } = server;
  while (server.refused.connections === refused.connections) await systemClock.sleep(5);
  await ask(one);
  await assert.rejects(raise(), { code: 'ROLE_REFUSED' }, 'the connection before is kept');
  tls.renew(identity({ role: 'collector' }));
  const isTaken = async (): Promise<boolean> =>
    raise().then(
      () => true,
      () => false,
    );
  while (!(await isTaken())) await systemClock.sleep(5);
  await ask(one);
});

test('a new certificate that cannot be used is a warning, and the former one stays', async (t) => {
  const reported: string[] = [];
  const onWarning = ({ kind, isOver }: Warning): void => void reported.push(`${kind} ${isOver}`);
  const first = identity({ name: 'the oracle', hosts: HOSTS });
  const tls = new Source(first);
  const server = await serve(t, { tls, onWarning });
  const { key } = identity();
  for (const broken of [
    { ...first, key },
    { ...first, certificate: Buffer.from('x') },
  ]) {
    tls.renew(broken);
    assert.match(
      server.warnings[0]?.sentence ?? '',
      /^the new certificate cannot be used, .* its (?:key is not|certificate holds no) /,
    );
    await ask(client(t, server.address, new Source(identity())));
  }
  tls.renew(identity({ name: 'the oracle', hosts: HOSTS }));
  assert.deepEqual(reported, ['certificate false', 'certificate false', 'certificate true']);
  await assert.rejects(serve(t, { tls: new Source({ ...first, key }) }), {
    code: 'INVALID_ARGUMENT',
    message:
      /^cannot serve at \S+: the option tls cannot be used: its key is not that of the certificate$/,
  });
});

/** gRPC compares its deadlines with the true clock, which goes on after this file was loaded. */
function clockOfNow(): VirtualClock {
  return new VirtualClock(systemClock.wallMs());
}

test('a week before the certificate of a service expires, and after it has, there is a warning', async (t) => {
  const clock = clockOfNow();
  const reported: string[] = [];
  const onWarning = ({ sentence, isOver }: Warning): void =>
    void reported.push(`${isOver ? 'over: ' : ''}${sentence.slice(0, 53)}`);
  const service = { name: 'the oracle', hosts: HOSTS };
  const tls = new Source(identity({ ...service, days: 9 }));
  await serve(t, { tls, clock, onWarning });
  await clock.advance(1 * DAY_MS);
  assert.deepEqual(reported, []);
  await clock.advance(2 * DAY_MS);
  const soon = 'the certificate of OU=worker, CN=the oracle expires: ';
  assert.deepEqual(reported, [soon.slice(0, 53)]);
  await clock.advance(7 * DAY_MS);
  const late = 'the certificate of OU=worker, CN=the oracle has expired';
  assert.deepEqual(reported.slice(1), [late.slice(0, 53)]);
  tls.renew(identity({ ...service, days: 60 }));
  await clock.advance(3_600_000);
  assert.deepEqual(reported.slice(2), [`over: ${late.slice(0, 53)}`]);
});

test('a connection ends when the certificate that its peer has shown expires', async (t) => {
  const clock = clockOfNow();
  const service = { name: 'the oracle', hosts: HOSTS, days: 60 };
  const server = await serve(t, { tls: new Source(identity(service)), clock });
  const [short, long] = [
    await open(t, server, identity({ days: 1 })),
    await open(t, server, identity({ days: 3 })),
  ];
  for (const socket of [short, long]) {
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0');
    await once(socket, 'data'); // It is inside.
  }
  const ended = once(short, 'close');
  await clock.advance(2 * DAY_MS);
  await ended;
  assert.equal(long.destroyed, false);
});

/** A proxy in front of the server. It counts the connections that were opened, and are open. */
async function proxyTo(
  t: TestContext,
  { address }: RpcServer,
): Promise<{ readonly address: string; readonly opened: number; readonly open: Set<Socket> }> {
  const port = Number(address.split(':').at(-1));
  const sockets = new Set<Socket>();
  let opened = 0;
  const proxy = createServer((socket) => {
    opened += 1;
    sockets.add(socket);
    const inner = connectTcp({ port, host: '127.0.0.1' });
    socket.pipe(inner).pipe(socket);
    socket.on('close', () => sockets.delete(socket) && inner.destroy()).on('error', () => {});
    inner.on('close', () => socket.destroy()).on('error', () => {});
  });
  proxy.listen({ port: 0, host: '127.0.0.1' });
  await once(proxy, 'listening');
  t.after(() => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    get opened() {
      return opened;
    },
    open: sockets,
  };
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await systemClock.sleep(5);
};

const MINUTE_MS = 60_000;

test('a client leaves a connection in time before the certificate of its server expires', async (t) => {
  const clock = clockOfNow();
  const service = { name: 'the oracle', hosts: HOSTS };
  const ofServer = new Source(identity({ ...service, days: 1 }));
  const proxy = await proxyTo(t, await serve(t, { tls: ofServer }));
  const one = client(t, proxy.address, new Source(identity()), clock);
  await ask(one);
  ofServer.renew(identity({ ...service, days: 60 }));
  await clock.advance(DAY_MS - 10 * MINUTE_MS);
  await ask(one);
  assert.equal(proxy.opened, 1, 'a renewal of the server alone changes nothing at once');
  await clock.advance(6 * MINUTE_MS);
  const [first] = proxy.open;
  await until(() => proxy.opened > 1 && proxy.open.size === 1 && first?.destroyed === true);
  const { opened } = proxy;
  await ask(one);
  await clock.advance(DAY_MS);
  await ask(one);
  assert.equal(proxy.opened, opened, 'the new one lasts');
});

test('a client ends a connection whose server has let its certificate expire', async (t) => {
  const clock = clockOfNow();
  const ofServer = new Source(identity({ name: 'the oracle', hosts: HOSTS, days: 1 }));
  const proxy = await proxyTo(t, await serve(t, { tls: ofServer }));
  const one = client(t, proxy.address, new Source(identity()), clock);
  await ask(one);
  const [first] = proxy.open;
  await clock.advance(2 * DAY_MS);
  await until(() => first?.destroyed === true);
  assert.equal(first?.destroyed, true);
});

test('a client that is given a certificate that cannot be used warns, and keeps the former one', async (t) => {
  const reported: string[] = [];
  const onWarning = ({ kind, isOver }: Warning): void => void reported.push(`${kind} ${isOver}`);
  const server = await serve(t, {
    tls: new Source(identity({ name: 'the oracle', hosts: HOSTS })),
  });
  const proxy = await proxyTo(t, server);
  const first = identity();
  const tls = new Source(first);
  await using oracle = connectOracle({ addresses: [proxy.address], tls, onWarning });
  await oracle.next();
  tls.renew({ ...first, key: identity().key });
  assert.deepEqual(reported, ['certificate false']);
  await oracle.next();
  assert.equal(proxy.opened, 1, 'there is no other certificate to show');
  tls.renew(identity());
  assert.deepEqual(reported, ['certificate false', 'certificate true']);
  await until(() => proxy.opened === 2);
});

test('a stay at a lock service goes over to the new certificate, and no process looks dead meanwhile', async (t) => {
  const server = await serveLocks({
    tls: new Source(identity({ name: 'the locks', hosts: HOSTS })),
  });
  t.after(() => server.close());
  const proxy = await proxyTo(t, server);
  const stayAt = (address: string, self: string, tls: Source): LockServiceClient => {
    const local = { self, isDead: () => false };
    const opened = connectLockService({ addresses: [address], local, tls });
    t.after(() => opened.close());
    return opened;
  };
  const tls = new Source(identity());
  const one = stayAt(proxy.address, 'one', tls);
  const other = stayAt(server.address, 'other', new Source(identity()));
  await until(() => one.isConnected && other.isConnected);
  const looks = { lost: 0, dead: 0 };
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      if (!one.isConnected) looks.lost += 1;
      if (other.isDead('one')) looks.dead += 1;
      await systemClock.sleep(1);
    }
  })();
  for (const opened of [2, 3]) {
    tls.renew(identity());
    await until(() => proxy.opened === opened && proxy.open.size === 1);
  }
  await systemClock.sleep(500); // Longer than a service waits for a process to come back.
  over.abort();
  await looking;
  assert.deepEqual(looks, { lost: 0, dead: 0 });
  await one.close();
  await until(() => other.isDead('one'));
});

test('a server that accepts connections and says nothing is left after five seconds', async (t) => {
  const clock = clockOfNow();
  const silent = new Set<Socket>();
  const server = createServer((socket) => {
    silent.add(socket);
    socket.resume().on('error', () => {});
  });
  server.listen({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of silent) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  const one = client(t, `127.0.0.1:${port}`, new Source(identity()), clock);
  const asked = ask(one);
  asked.catch(() => {});
  await until(() => silent.size > 0);
  await clock.advance(5_000);
  await assert.rejects(asked, {
    code: 'STORE_UNAVAILABLE',
    message: /no connection with TLS to \S+: the server has not ended the handshake for 5 s/,
  });
});

test('bytes that are overwritten after they were handed over change nothing', async (t) => {
  const clock = clockOfNow();
  const given = identity({ name: 'the oracle', hosts: HOSTS, days: 60 });
  const server = await serve(t, { tls: new Source(given), clock });
  const own = identity();
  const one = client(t, server.address, new Source(own));
  for (const bytes of [given, own].flatMap((each) => Object.values(each))) bytes.fill(0);
  await clock.advance(2 * 3_600_000);
  await ask(one);
  assert.deepEqual(server.warnings, []);
});

test('each certificate of the authorities is looked at, not only the first', async (t) => {
  const [header = '', ...lines] = OTHER_AUTHORITY.certificate.split('\n');
  const cut = [header, ...lines.slice(3)].join('\n');
  const unended = OTHER_AUTHORITY.certificate.replace(/-----END[^]*/, '');
  for (const broken of [cut, unended]) {
    const authority = Buffer.from(AUTHORITY.certificate + broken);
    const tls = new Source({ ...identity({ hosts: HOSTS }), authority });
    const message = /its authority holds a certificate, number 2, that cannot be read$/;
    await assert.rejects(serve(t, { tls }), { code: 'INVALID_ARGUMENT', message });
    assert.throws(() => client(t, '127.0.0.1:1', tls), { code: 'INVALID_ARGUMENT', message });
  }
});

test('one file may hold the key and the certificate, in either order', async (t) => {
  const own = identity({ name: 'the oracle', hosts: HOSTS });
  const [certificate, key] = [own.certificate, own.key].map((pem) => Buffer.from(pem).toString());
  for (const text of [`${key}\n${certificate}`, `${certificate}\n${key}`]) {
    const both = Buffer.from(text);
    const server = await serve(t, { tls: new Source({ ...own, certificate: both, key: both }) });
    assert.equal((await ask(client(t, server.address, new Source(identity())))).first, 1);
  }
});

/** Few enough for the usual limits of open files; the service itself holds at most 512. */
const STRANGERS = 10_000;
const AT_A_TIME = 200;

test('10,000 connections that never finish a handshake cost bounded memory, and others no call', async (t) => {
  const server = await serve(t, {
    tls: new Source(identity({ name: 'the oracle', hosts: HOSTS })),
  });
  const before = client(t, server.address, new Source(identity()));
  await ask(before);
  const port = Number(server.address.split(':').at(-1));
  const opened = new Set<Socket>();
  t.after(() => opened.forEach((socket) => socket.destroy()));
  const arrive = async (i: number): Promise<void> => {
    const socket = connectTcp({ port, host: '127.0.0.1' });
    opened.add(socket);
    socket.on('error', () => {}).on('close', () => opened.delete(socket));
    await once(socket, 'connect');
    if (i % 2 === 0) socket.write('\u0016\u0003\u0001\u0002'); // It begins, and then says no more.
  };
  const startBytes = process.memoryUsage().rss;
  let answered = 0;
  for (let i = 0; i < STRANGERS; i += AT_A_TIME) {
    await Promise.all(Array.from({ length: AT_A_TIME }, (_, j) => arrive(i + j).catch(() => {})));
    await ask(before);
    answered += 1;
  }
  const grownBytes = process.memoryUsage().rss - startBytes;
  await ask(client(t, server.address, new Source(identity())));
  assert.equal(answered, STRANGERS / AT_A_TIME);
  assert.ok(server.refused.connections > STRANGERS - 1_000, `${server.refused.connections} ended`);
  assert.ok(grownBytes < 400e6, `${grownBytes} bytes more than before`);
  while (opened.size > 0) await systemClock.sleep(50); // The last 512 have five seconds.
  assert.ok(server.refused.connections >= STRANGERS);
});
