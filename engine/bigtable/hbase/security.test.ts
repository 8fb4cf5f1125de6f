/** Clusters that ask for more than a user name: for Kerberos (kerberos.test.ts), and for TLS. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { openStore, parseStoreName } from '../open-store.ts';
import { AUTHORITY, LOCALHOST } from './certificates.fixture.ts';
import { serverNameOf } from './connection.ts';
import { openHBase } from './index.ts';
import { serveHBase } from './simulated-server.fixture.ts';

/** Trusts the tests' own authority, as NODE_EXTRA_CA_CERTS would. */
function trusting(): Disposable {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, AUTHORITY]);
  return { [Symbol.dispose]: () => setDefaultCACertificates(before) };
}

test('who meets a cluster that asks for Kerberos is told in one sentence how to speak it', async () => {
  await using served = await serveHBase({ asksForKerberos: true });
  const { master } = served;
  await assert.rejects(openHBase({ servers: [master] }), {
    code: 'STORE_REFUSED',
    message:
      `the HBase server ${master} asks for Kerberos (AccessDeniedException: ` +
      'Authentication is required); give the principal of the servers, as in ' +
      'hbase://host:16000?principal=hbase/_HOST@REALM',
  });
});

test('hbases:// reads and writes through TLS', async () => {
  using _ = trusting();
  await using served = await serveHBase({ host: 'localhost', tls: LOCALHOST });
  const address = parseStoreName(`hbases://${served.master}`);
  assert.ok(typeof address === 'object');
  await using store = await openStore(address);
  await store.createTable('t', { families: ['f'], splits: ['m'] });
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1 } as const;
  const mutations = [{ ...set, value: Buffer.from('value') }];
  await store.mutateRows(['a', 'z'].map((row) => ({ table: 't', row, mutations })));
  const rows = await store.readRows('t', ['z', 'a'], [{ family: 'f' }]);
  assert.deepEqual(
    rows.map((row) => [row?.key, row?.cells.map(({ value }) => Buffer.from(value).toString())]),
    [
      ['z', ['value']],
      ['a', ['value']],
    ],
  );
});

test('a certificate of an unknown authority, or for another name, is refused in one sentence', async () => {
  await using served = await serveHBase({ host: 'localhost', tls: LOCALHOST });
  const port = served.master.split(':').at(-1);
  const refused = (host: string, why: string): object => ({
    code: 'STORE_REFUSED',
    message: new RegExp(
      `^the HBase server ${host}:${port} shows a certificate that is not trusted: ${why}[^\\n]*; ` +
        'NODE_EXTRA_CA_CERTS can name a file with more authorities$',
    ),
  });
  const open = (host: string): Promise<unknown> =>
    openHBase({ servers: [`${host}:${port}`], tls: true });
  await assert.rejects(open('localhost'), refused('localhost', 'unable to verify'));
  using _ = trusting();
  await assert.rejects(open('127.0.0.1'), refused('127.0.0.1', 'Hostname/IP does not match'));
});

test('a cluster that speaks TLS does not answer without it', async () => {
  await using served = await serveHBase({ host: 'localhost', tls: LOCALHOST });
  await assert.rejects(openHBase({ servers: [served.master] }), {
    code: 'STORE_UNAVAILABLE',
    message: /^no HBase answers at localhost:\d+: [^\n]+$/,
  });
});

test('TLS is told the name of a host, even one that looks like digits, but no address', () => {
  for (const host of ['localhost', 'db', 'cafe.fed', '10.0.0.300']) {
    assert.deepEqual(serverNameOf(host), { servername: host });
  }
  for (const host of ['127.0.0.1', '::1', 'fe80::1']) assert.deepEqual(serverNameOf(host), {});
});
