/** Names of stores: what they mean, and which are invalid; and stores opened by address. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore, parseStoreName } from './open-store.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

test('a name can mean the embedded store, the emulator, or an instance of Cloud Bigtable', () => {
  assert.equal(parseStoreName('embedded'), 'embedded');
  assert.equal(parseStoreName('emulator'), 'emulator');
  const cloud = { kind: 'cloud', project: 'my-project', instance: 'my-instance' };
  assert.deepEqual(parseStoreName('bigtable://my-project/my-instance'), {
    ...cloud,
    appProfile: undefined,
  });
  assert.deepEqual(parseStoreName('bigtable://my-project/my-instance?appProfile=Single_1'), {
    ...cloud,
    appProfile: 'Single_1',
  });
  // Domain-scoped projects have the domain's name in front.
  const ofDomain = parseStoreName('bigtable://example.com:my-project/i');
  assert.deepEqual(ofDomain, {
    ...cloud,
    project: 'example.com:my-project',
    instance: 'i',
    appProfile: undefined,
  });
});

test('a name can mean an HBase to start on this machine, or a running one', () => {
  assert.equal(parseStoreName('hbase'), 'hbase');
  const absent = {
    namespace: undefined,
    sessionTimeoutMs: undefined,
    proofMs: undefined,
    principal: undefined,
  };
  const plain = { kind: 'hbase', tls: false, ...absent };
  assert.deepEqual(parseStoreName('hbase://master-1:16000'), {
    ...plain,
    servers: ['master-1:16000'],
  });
  assert.deepEqual(parseStoreName('hbases://m1.example.com:16000,[::1]:16020/?namespace=shop'), {
    ...plain,
    servers: ['m1.example.com:16000', '[::1]:16020'],
    namespace: 'shop',
    tls: true,
  });
  for (const namespace of ['shop', undefined]) {
    const before = namespace === undefined ? '?' : `?namespace=${namespace}&`;
    assert.deepEqual(parseStoreName(`hbase://m:1${before}sessionTimeoutMs=30000`), {
      ...plain,
      servers: ['m:1'],
      namespace,
      sessionTimeoutMs: 30_000,
    });
    const principal = 'hbase/_HOST@EXAMPLE.ORG';
    for (const session of [undefined, 30_000]) {
      const given = session === undefined ? before : `${before}sessionTimeoutMs=${session}&`;
      assert.deepEqual(parseStoreName(`hbase://m:1${given}principal=${principal}`), {
        ...plain,
        servers: ['m:1'],
        namespace,
        sessionTimeoutMs: session,
        principal,
      });
    }
    assert.deepEqual(parseStoreName(`hbase://m:1${before}proofMs=0`), {
      ...plain,
      servers: ['m:1'],
      namespace,
      proofMs: 0,
    });
  }
  assert.deepEqual(parseStoreName('hbase://m:1?namespace=n&sessionTimeoutMs=6000&proofMs=500'), {
    ...plain,
    servers: ['m:1'],
    namespace: 'n',
    sessionTimeoutMs: 6_000,
    proofMs: 500,
  });
});

test('an invalid name is refused with the valid forms', () => {
  for (const name of [
    '',
    'Embedded',
    'floppy',
    'bigtable',
    'bigtable://',
    'bigtable://project',
    'bigtable://project/',
    'bigtable:///instance',
    'bigtable://project/instance/table',
    'bigtable://project/instance?appProfile=',
    'bigtable://project/instance?profile=x',
    'bigtable://project/instance?appProfile=x&y=z',
    'https://project/instance',
    'hbase://',
    'hbase://host',
    'hbase://host:port',
    'hbase://host:16000,',
    'hbase://host:0',
    'hbase://host:16000,other:99999',
    'hbase://host:16000/path',
    'hbase://host:16000?namespace=',
    'hbase://host:16000?',
    'hbase://host:16000?namespace=x&',
    'hbase://host:16000?namespace=x&other=y',
    'hbase://host:16000?sessionTimeoutMs=x',
    'hbase://host:16000?&sessionTimeoutMs=30000',
    'hbase://host:16000?sessionTimeoutMs=30000s',
    'hbase://host:16000&sessionTimeoutMs=30000',
    'hbase://host:16000?namespace=x?sessionTimeoutMs=30000',
    'hbase://host:16000?principal=',
    'hbase://host:16000?principal=hbase',
    'hbase://host:16000?principal=hbase/_HOST@',
    'hbase://host:16000?principal=hbase/_HOST&namespace=x',
    'hbase://host:16000?namespace=xprincipal=hbase/_HOST',
    'hbase://host:16000?proofMs=-1',
    'hbase://host:16000?proofMs=',
    'hbase://host:16000?proofMs=1&namespace=x',
    'hbase:host:16000',
  ]) {
    assert.throws(() => parseStoreName(name), {
      code: 'INVALID_ARGUMENT',
      message:
        /a store is embedded, emulator, bigtable:\/\/project\/instance.*, hbase or hbase\[s\]:\/\//,
    });
  }
});

test('the address of an embedded store opens it', async () => {
  const folder = temporaryFolder();
  await using store = await openStore({ kind: 'embedded', folder, fsync: false });
  await store.createTable('t', { families: ['data'] });
  await using reading = await openStore({ kind: 'embedded', folder }, { readOnly: true });
  assert.deepEqual(await reading.listTables(), ['t']);
  await assert.rejects(reading.dropTable('t'), { code: 'READ_ONLY' });
});

test('a wrong option is refused for every kind of store', async () => {
  const options = { readonly: true } as object;
  for (const address of [
    { kind: 'embedded', folder: temporaryFolder() },
    { kind: 'emulator', address: '127.0.0.1:1' },
    { kind: 'cloud', project: 'p', instance: 'i' },
    { kind: 'hbase', servers: ['127.0.0.1:1'] },
  ] as const) {
    await assert.rejects(openStore(address, options), {
      code: 'INVALID_ARGUMENT',
      message: 'openStore has no option readonly; it has readOnly, clock',
    });
  }
});
