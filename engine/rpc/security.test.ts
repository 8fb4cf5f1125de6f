/**
 * The claims of mutual TLS, on real connections: what has no certificate of a trusted authority
 * never reaches the source of timestamps, and what has one may do what its role allows.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { isRetryable, systemClock, type Warning } from '../base/index.ts';
import type { CertificateOptions } from '../host/certificates.ts';
import { connectLockService } from '../lock-service/client.ts';
import { serveLocks } from '../lock-service/server.ts';
import { connectOracle, type OracleClientOptions } from '../oracle/client.ts';
import { openAllocator, type TimestampSource } from '../oracle/index.ts';
import { lockService } from '../lock-service/service.ts';
import { oracleService } from '../oracle/service.ts';
import { serveOracle, type ServeOracleOptions } from '../oracle/server.ts';
import { createMemoryBigtable } from '../testing/index.ts';
import { connect, startServer } from './index.ts';
import type { RpcServer } from './rpc-server.ts';
import {
  AUTHORITY,
  DAY_MS,
  HOSTS,
  identity,
  NOW_MS,
  OTHER_AUTHORITY,
  Source,
} from './identities.fixture.ts';
import { NEEDED, refusalOf } from './roles.ts';
import { describingService } from './service.ts';
import type { TlsIdentity, TlsSource } from './tls.ts';

/** A source of timestamps that counts what reaches it. */
async function countedSource(): Promise<TimestampSource & { readonly asked: number }> {
  const source = await openAllocator(createMemoryBigtable());
  let asked = 0;
  const counted =
    <Arguments extends unknown[], Answer>(method: (...given: Arguments) => Promise<Answer>) =>
    (...given: Arguments): Promise<Answer> => {
      asked += 1;
      return method(...given);
    };
  return {
    allocate: counted((count: number) => source.allocate(count)),
    readHorizon: counted(() => source.readHorizon()),
    raiseHorizon: counted((horizon: number) => source.raiseHorizon(horizon)),
    announceDrop: counted(() => source.announceDrop()),
    identity: source.identity,
    belongTo: (name) => source.belongTo(name),
    get asked() {
      return asked;
    },
  };
}

/** For a client that is refused: how often it tries does not matter. */
const SHORTLY = { timeoutMs: 1_000 };

interface Scene {
  readonly source: TimestampSource & { readonly asked: number };
  readonly server: RpcServer;
  readonly port: number;
  /** Asks for a timestamp as this client, and closes. */
  readonly next: (options?: Partial<OracleClientOptions>) => Promise<number>;
}

async function open(t: TestContext, options: ServeOracleOptions = {}): Promise<Scene> {
  const source = await countedSource();
  const tls = new Source(identity({ name: 'the oracle', hosts: HOSTS }));
  const server = await serveOracle(source, { tls, ...options });
  t.after(() => server.close());
  const next = async (given: Partial<OracleClientOptions> = {}): Promise<number> => {
    const addresses = [server.address];
    await using client = connectOracle({ addresses, ...given });
    return await client.next();
  };
  return { source, server, port: Number(server.address.split(':').at(-1)), next };
}

test('processes with certificates of one authority talk; addresses may be names or numbers', async (t) => {
  const { next, port, source } = await open(t);
  const tls = new Source(identity());
  assert.equal(await next({ tls }), 1);
  assert.equal(await next({ tls, addresses: [`localhost:${port}`] }), 2);
  assert.equal(source.asked, 2);
  assert.equal(tls.listeners, 0, 'a client that was closed listens no more');
});

const EXPIRED = { nowMs: NOW_MS - 10 * DAY_MS, days: 1 };
const STRANGERS: readonly (readonly [who: string, tls: TlsSource | undefined, says: RegExp])[] = [
  [
    'a certificate of another authority',
    new Source({ ...identity({}, OTHER_AUTHORITY), authority: Buffer.from(AUTHORITY.certificate) }),
    /no connection with TLS to \S+: .*it may not trust the certificate of this process/,
  ],
  [
    'an expired certificate',
    new Source(identity(EXPIRED)),
    /no connection with TLS to \S+: .*it may not trust the certificate of this process/,
  ],
  ['no TLS at all', undefined, /gives no answer/],
];

for (const [who, tls, says] of STRANGERS) {
  test(`a client with ${who} gets no timestamp, and nothing of it reaches the source`, async (t) => {
    const { next, source, server } = await open(t);
    await assert.rejects(next({ tls, ...SHORTLY }), { code: 'STORE_UNAVAILABLE', message: says });
    assert.equal(source.asked, 0);
    assert.ok(server.refused.connections > 0);
    assert.equal(await next({ tls: new Source(identity()) }), 1, 'others are served');
  });
}

test('a client that shows no certificate is refused before it can send a request', async (t) => {
  const { port, source, server } = await open(t);
  const socket = connectTls({ port, ca: AUTHORITY.certificate, ALPNProtocols: ['h2'] });
  t.after(() => socket.destroy());
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  assert.match(String(error.code), /ALERT_CERTIFICATE_REQUIRED/);
  assert.equal(source.asked, 0);
  assert.equal(server.refused.connections, 1);
});

test('TLS 1.2 is not spoken', async (t) => {
  const { port, next } = await open(t);
  const { certificate, key } = identity();
  const shown = { cert: Buffer.from(certificate), key: Buffer.from(key) };
  const versions = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
  const socket = connectTls({ port, ca: AUTHORITY.certificate, ...shown, ...versions });
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  assert.match(String(error.code), /PROTOCOL_VERSION/);
  assert.equal(await next({ tls: new Source(identity()) }), 1);
});

const IMPOSTORS: readonly (readonly [who: string, identity: TlsIdentity, says: RegExp])[] = [
  ['of another host', identity({ hosts: ['oracle-2.example'] }), /does not match certificate's/],
  ['of another authority', identity({ hosts: HOSTS }, OTHER_AUTHORITY), /self-signed|unable to/],
  ['that has expired', identity({ hosts: HOSTS, ...EXPIRED }), /certificate has expired/],
  ['of a client', identity(), /unsuitable certificate purpose/],
];

for (const [who, shown, says] of IMPOSTORS) {
  test(`a server with a certificate ${who} is asked nothing`, async (t) => {
    const authority = Buffer.from(AUTHORITY.certificate);
    const { next, source } = await open(t, { tls: new Source({ ...shown, authority }) });
    await assert.rejects(next({ tls: new Source(identity()), ...SHORTLY }), {
      code: 'STORE_UNAVAILABLE',
      message: says,
    });
    assert.equal(source.asked, 0);
  });
}

test('a client with TLS at a plaintext port is told so in time', async (t) => {
  const { next, source } = await open(t, { tls: undefined });
  await assert.rejects(next({ tls: new Source(identity()), ...SHORTLY }), {
    code: 'STORE_UNAVAILABLE',
    message: /no connection with TLS/,
  });
  assert.equal(source.asked, 0);
});

test('a role allows what it names and no more, and a refusal is final, counted and explained', async (t) => {
  const { source, server } = await open(t);
  const client = (role: CertificateOptions['role']) => {
    const tls = new Source(identity({ role, name: `the ${role}` }));
    const opened = connectOracle({ addresses: [server.address], tls });
    t.after(() => opened.close());
    return opened;
  };
  const [worker, collector, admin] = [client('worker'), client('collector'), client('admin')];
  assert.equal(await worker.next(), 1);
  assert.equal(await worker.readHorizon(), 0);
  const { asked } = source;
  const isRefused = (method: string, role: string, needed: string) => (error: unknown) => {
    assert.match(
      String(error),
      new RegExp(
        `${method} needs the role ${needed}, and the certificate of the ${role} has the role ${role}`,
      ),
    );
    assert.equal((error as { code?: string }).code, 'ROLE_REFUSED');
    assert.equal(isRetryable(error), false);
    return true;
  };
  await assert.rejects(worker.raiseHorizon(1), isRefused('RaiseHorizon', 'worker', 'collector'));
  await assert.rejects(worker.announceDrop(), isRefused('AnnounceDrop', 'worker', 'admin'));
  await assert.rejects(collector.announceDrop(), isRefused('AnnounceDrop', 'collector', 'admin'));
  assert.equal(source.asked, asked);
  assert.equal(server.refused.calls, 3);
  assert.equal(await collector.raiseHorizon(1), 1);
  assert.equal(await admin.raiseHorizon(1), 1);
  assert.equal(await admin.announceDrop(), 1);
});

test('a certificate without a role, with an unknown one or with two may do nothing', () => {
  const path = '/percolator.oracle.v1.TimestampOracle/Allocate';
  const peer = (unit: unknown) =>
    ({ subject: { CN: 'x', OU: unit } }) as unknown as PeerCertificate;
  assert.equal(refusalOf(path, peer('worker')), undefined);
  for (const unit of [undefined, 'owner', '', 'Admin', ['worker', 'admin']]) {
    assert.match(
      refusalOf(path, peer(unit)) ?? '',
      /^Allocate needs the role worker, .* has no role/,
    );
  }
  assert.match(refusalOf(path, undefined) ?? '', /there is no certificate$/);
  assert.match(refusalOf('/a.b/C', peer('collector')) ?? '', /^C needs the role admin/);
});

test('each call of each service has a role in the table', () => {
  for (const service of [oracleService(), lockService(), describingService()]) {
    for (const { path } of Object.values(service)) assert.ok(path in NEEDED, path);
  }
});

test('the lock service asks for the same certificates', async (t) => {
  const tls = new Source(identity({ name: 'the lock service', hosts: HOSTS }));
  const server = await serveLocks({ tls });
  t.after(() => server.close());
  const addresses = [server.address];
  const local = { self: 'me', isDead: () => false };
  const warnings: string[] = [];
  const onWarning = ({ sentence }: Warning): void => void warnings.push(sentence);
  const shared = { addresses, local, timeToLiveMs: 200, onWarning };
  const client = connectLockService({ ...shared, tls: new Source(identity()) });
  t.after(() => client.close());
  while (!client.isConnected) await systemClock.sleep(5);
  assert.deepEqual(warnings, []);
  const stranger = connectLockService({
    ...shared,
    tls: new Source(identity({}, OTHER_AUTHORITY)),
  });
  t.after(() => stranger.close());
  while (warnings.length === 0) await systemClock.sleep(5);
  assert.equal(stranger.isConnected, false);
  assert.match(warnings[0] ?? '', /the lock service at \S+ cannot be used/);
});

test('a server that has answered, and is gone later, is not said to mistrust the certificate', async (t) => {
  const tls = new Source(identity({ hosts: HOSTS }));
  const Allocate = (_call: unknown, answer: (error: null, response: object) => void): void =>
    answer(null, { version: 1, first: 1 });
  const server = await startServer(oracleService, { Allocate }, { tls });
  t.after(() => server.close());
  const client = connect(server.address, oracleService, { clock: systemClock, tls });
  t.after(() => client.close());
  const ask = (): Promise<unknown> => client.call('Allocate', { count: 1 }, { deadlineMs: 60_000 });
  await ask();
  await server.close();
  for (let i = 0; i < 3; i++) {
    await assert.rejects(ask(), (error: Error & { readonly code?: string }) => {
      assert.equal(error.code, 'STORE_UNAVAILABLE');
      assert.doesNotMatch(error.message, /trust/);
      return true;
    });
  }
});

test('what a server says of itself reaches the caller, also with TLS', async (t) => {
  const tls = new Source(identity({ hosts: HOSTS }));
  const standby = { code: 14, details: 'this oracle stands by' };
  const Allocate = (_call: unknown, answer: (error: object) => void): void => answer(standby);
  const server = await startServer(oracleService, { Allocate }, { tls });
  t.after(() => server.close());
  const client = connect(server.address, oracleService, { clock: systemClock, tls });
  t.after(() => client.close());
  for (let i = 0; i < 3; i++) {
    await assert.rejects(client.call('Allocate', { count: 1 }, { deadlineMs: 60_000 }), {
      code: 'STORE_UNAVAILABLE',
      message: /this oracle stands by/,
    });
  }
});
