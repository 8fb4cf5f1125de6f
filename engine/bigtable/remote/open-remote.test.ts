/**
 * The checks when a store is opened and when a table is first used, each reported in one clear
 * sentence.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { startFake, type FakeBigtable } from './fake-bigtable.fixture.ts';
import { openRemote, type RemoteOptions } from './index.ts';

const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const FAILED_PRECONDITION = 9;
const UNIMPLEMENTED = 12;
/** Which client looks for credentials, in order; nothing depends on the first two looks. */
const LOOKS = ['', '', 'data', 'tables', 'instances'];

const open = (
  { address }: FakeBigtable,
  more: Partial<RemoteOptions> = {},
): ReturnType<typeof openRemote> =>
  openRemote({ project: 'p', instance: 'i', plainAddress: address, ...more });

async function openAndClose(fake: FakeBigtable, more?: Partial<RemoteOptions>): Promise<void> {
  await (await open(fake, more)).close();
}

/** The libraries of the official client's own libraries. */
const ofClient = createRequire(import.meta.resolve('@google-cloud/bigtable'));
const ofGax = createRequire(ofClient.resolve('google-gax'));

describe('opening', () => {
  for (const which of ['data', 'tables', 'instances']) {
    test(`says so if there are no credentials when the client of ${which} looks for them`, async (t) => {
      const { GoogleAuth, OAuth2Client } = ofGax('google-auth-library');
      let looks = 0;
      t.mock.method(GoogleAuth.prototype, 'getUniverseDomain', async () => 'googleapis.com');
      t.mock.method(GoogleAuth.prototype, 'getClient', async () => {
        if (++looks === LOOKS.indexOf(which) + 1) throw new Error('ETIMEDOUT');
        return new OAuth2Client();
      });
      const opening = openRemote({ project: 'p', instance: 'i' });
      const message = 'no Bigtable answers at Cloud Bigtable: ETIMEDOUT';
      await assert.rejects(opening, { code: 'STORE_UNAVAILABLE', message });
    });
  }

  test('succeeds where tables may be listed and the app profile allows transactions', async () => {
    await using fake = await startFake();
    await using store = await open(fake, { appProfile: 'mine' });
    assert.deepEqual(await store.listTables(), ['t']);
    const asked = fake.calls.find(({ method }) => method === 'GetAppProfile');
    assert.equal(
      Reflect.get(asked?.request ?? {}, 'name'),
      'projects/p/instances/i/appProfiles/mine',
    );
  });

  for (const profile of [
    { multiClusterRoutingUseAny: {} },
    { singleClusterRouting: { allowTransactionalWrites: false } },
  ]) {
    test(`refuses an app profile with ${JSON.stringify(profile)}, unless the store is for reading only`, async () => {
      await using fake = await startFake();
      fake.answer('GetAppProfile', { answers: [profile] });
      await assert.rejects(open(fake, { appProfile: 'mine' }), {
        code: 'STORE_REFUSED',
        message: /^the app profile mine of .* does not allow single-row transactions.*--route-to/,
      });
      await assert.doesNotReject(openAndClose(fake, { appProfile: 'mine', readOnly: true }));
    });
  }

  test('succeeds where app profiles may not be read, or do not exist', async () => {
    for (const code of [PERMISSION_DENIED, UNIMPLEMENTED]) {
      await using fake = await startFake();
      fake.answer('GetAppProfile', { code, details: 'no' });
      await assert.doesNotReject(openAndClose(fake, { appProfile: 'mine' }));
    }
  });

  test('asks an emulator about no app profile if none is named', async () => {
    await using fake = await startFake();
    await openAndClose(fake);
    assert.deepEqual(
      fake.calls.map(({ method }) => method),
      ['ListTables'],
    );
  });

  test('tells collectors how late a call may be applied, if its deadline is above the default', async () => {
    await using fake = await startFake();
    for (const [timeoutMs, messageLifetimeMs] of [
      [10_000, undefined],
      [300_000, 1_800_000], // Six deadlines (LIFETIMES in open-remote.ts).
    ] as const) {
      await using store = await open(fake, { timeoutMs });
      assert.equal(store.manifest.messageLifetimeMs, messageLifetimeMs);
    }
  });

  test('names a missing app profile, instance or permission', async () => {
    await using fake = await startFake();
    fake.answer('GetAppProfile', { code: NOT_FOUND, details: 'no' });
    const refused = { code: 'STORE_REFUSED' };
    const profile = /no app profile projects\/p\/instances\/i\/appProfiles\/mine/;
    await assert.rejects(open(fake, { appProfile: 'mine' }), { ...refused, message: profile });
    fake.answer('ListTables', { code: NOT_FOUND, details: 'no' });
    const instance = /no Bigtable instance projects\/p\/instances\/i/;
    await assert.rejects(open(fake), { ...refused, message: instance });
    fake.answer('ListTables', { code: PERMISSION_DENIED, details: 'no' });
    const permission = /lack bigtable\.tables\.list, which the role roles\/bigtable\.admin has/;
    await assert.rejects(open(fake), { ...refused, message: permission });
  });

  test('says which address does not answer', async () => {
    const fake = await startFake();
    await fake.stop();
    const message = new RegExp(`no Bigtable answers at ${fake.address}`);
    await assert.rejects(open(fake), { code: 'STORE_UNAVAILABLE', message });
  });
});

test('a wrong option is refused in one sentence, before any server is asked', async () => {
  await using fake = await startFake();
  for (const [given, message] of [
    [{ readonly: true }, /^openRemote has no option readonly; it has project, instance, /],
    [{ readOnly: 'yes' }, "readOnly must be true or false, not 'yes'"],
    [{ timeoutMs: 0 }, 'timeoutMs must be a finite number above 0, not 0'],
    [{ timeoutMs: NaN }, 'timeoutMs must be a finite number above 0, not NaN'],
    [{ timeoutMs: Infinity }, 'timeoutMs must be a finite number above 0, not Infinity'],
    [{ project: '' }, "project must be a text that is not empty, not ''"],
    [{ instance: undefined }, 'instance must be a text that is not empty, not undefined'],
    [{ plainAddress: 8086 }, 'plainAddress must be a text like host:port, not 8086'],
    [{ plainAddress: '::1' }, "plainAddress must be a text like host:port, not '::1'"],
    [{ plainAddress: 'localhost' }, "plainAddress must be a text like host:port, not 'localhost'"],
    [{ clock: {} }, 'clock must be a clock, not {}'],
  ] as const) {
    const opened = open(fake, given as Partial<RemoteOptions>);
    await assert.rejects(opened, { code: 'INVALID_ARGUMENT', message });
  }
  assert.deepEqual(fake.calls, []);
});

describe('using a table', () => {
  const read = (store: Awaited<ReturnType<typeof open>>): Promise<unknown> =>
    store.readRow('t', 'r', [{ family: 'data' }]);

  for (const gcRule of [
    { maxNumVersions: 1 },
    { maxAge: { seconds: 60 } },
    { union: { rules: [{ maxNumVersions: 3 }] } },
  ]) {
    test(`with the GC rule ${JSON.stringify(gcRule)} is refused`, async () => {
      await using fake = await startFake();
      fake.answer('GetTable', { answers: [{ columnFamilies: { data: { gcRule }, lock: {} } }] });
      await using store = await open(fake);
      const message = /table t has a GC rule on data, .* cbt setgcpolicy t data never/;
      await assert.rejects(read(store), { code: 'TABLE_MISMATCH', message });
      const made = store.createTable('t', { families: ['data', 'lock'] });
      await assert.rejects(made, { code: 'TABLE_MISMATCH', message });
      assert.ok(!fake.calls.some(({ method }) => method === 'ReadRows'));
    });
  }

  test('with an empty GC rule is allowed', async () => {
    await using fake = await startFake();
    fake.answer('GetTable', { answers: [{ columnFamilies: { data: { gcRule: {} } } }] });
    await using store = await open(fake);
    assert.equal(await read(store), undefined);
  });

  test('that is missing and may not be created names the missing permission', async () => {
    await using fake = await startFake();
    fake.answer('GetTable', { code: NOT_FOUND, details: 'no' });
    fake.answer('CreateTable', { code: PERMISSION_DENIED, details: 'no' });
    await using store = await open(fake);
    const message = /table t is missing, and making it is denied.*bigtable\.tables\.create/;
    const made = store.createTable('t', { families: ['data'] });
    await assert.rejects(made, { code: 'STORE_REFUSED', message });
  });

  test('that exists needs no permission to create one', async () => {
    await using fake = await startFake();
    fake.answer('CreateTable', { code: PERMISSION_DENIED, details: 'no' });
    await using store = await open(fake);
    await assert.doesNotReject(store.createTable('t', { families: ['data'] }));
  });

  test('loads its families once, and again when the table was recreated', async () => {
    await using fake = await startFake();
    await using store = await open(fake);
    const asked = (): number => fake.calls.filter(({ method }) => method === 'GetTable').length;
    await read(store);
    await read(store);
    assert.equal(asked(), 1);
    fake.answer('ReadRows', { code: NOT_FOUND, details: 'table not found' }, { answers: [] });
    await assert.rejects(read(store), { code: 'TABLE_NOT_FOUND' });
    await read(store);
    assert.equal(asked(), 2);
    const value = Buffer.from('');
    const set = { kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value } as const;
    const write = (): Promise<void> =>
      store.mutateRows([{ table: 't', row: 'r', mutations: [set] }]);
    fake.answer('MutateRow', { code: NOT_FOUND, details: 'table not found' }, { answers: [{}] });
    await assert.rejects(write(), { code: 'TABLE_NOT_FOUND' });
    await write();
    assert.equal(asked(), 3);
  });

  test('through a profile without transactions is refused at the first commit', async () => {
    await using fake = await startFake();
    const details = 'Single-row transactions are not allowed by this app profile';
    fake.answer('CheckAndMutateRow', { code: FAILED_PRECONDITION, details });
    await using store = await open(fake);
    const set = {
      kind: 'set',
      family: 'data',
      qualifier: 'q',
      timestamp: 1,
      value: Buffer.from(''),
    } as const;
    const sent = store.checkAndMutateRow({ table: 't', row: 'r', anyOf: [], ifNotFound: [set] });
    const message = /app profile does not allow single-row transactions/;
    await assert.rejects(sent, { code: 'STORE_REFUSED', message });
  });
});
