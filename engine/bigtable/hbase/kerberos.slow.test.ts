/**
 * A real HBase that demands Kerberos, and a real key distribution center: reading and writing, and
 * what users do wrong. The bytes of the exchange are tested without either (kerberos.test.ts).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { systemClock } from '../../base/index.ts';
import type { Bigtable, RowMutation } from '../bigtable.ts';
import { openStore, parseStoreName } from '../open-store.ts';
import { type LocalHBase, openHBase, startHBase, whyNoHBase } from './index.ts';
import { type KeyDistributionCenter, startKdc, USER, whyNoKdc } from './kdc.fixture.ts';

const DAY_SECONDS = 86_400;
/** For calls that fail in the end, and repeat until then. */
const GIVEN_UP_MS = 5_000;
const set = (row: string): RowMutation => ({
  table: 't',
  row,
  mutations: [
    { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.from('value') },
  ],
});

const why = (await whyNoHBase(process.env)) ?? (await whyNoKdc());
if (why === undefined) {
  const kdc = await startKdc();
  after(() => kdc.stop());
  await kdc.kinit(DAY_SECONDS);
  const hbase = await startHBase({
    environment: process.env,
    regionServers: 0,
    realm: kdc.realm,
  });
  after(() => hbase.stop());
  claimKerberos(kdc, hbase);
} else {
  test('an HBase that demands Kerberos', { skip: why }, () => {});
}

function claimKerberos(kdc: KeyDistributionCenter, { servers }: LocalHBase): void {
  const principal = 'hbase/_HOST';
  const open = (given: { principal?: string; timeoutMs?: number } = {}): Promise<Bigtable> =>
    openHBase({ servers, principal, ...given });
  const refused = (message: RegExp): object => ({ code: 'STORE_REFUSED', message });

  test('who has a ticket reads and writes, by an address too', async () => {
    const address = parseStoreName(`hbase://${servers[0]}?principal=${principal}@${realmOf(USER)}`);
    assert.ok(typeof address === 'object');
    await using store = await openStore(address);
    await store.createTable('t', { families: ['f'], splits: ['m'] });
    await store.mutateRows(['a', 'z'].map(set));
    const rows = await store.readRows('t', ['z', 'a'], [{ family: 'f' }]);
    assert.deepEqual(
      rows.map((row) => row?.cells.map(({ value }) => Buffer.from(value).toString())),
      [['value'], ['value']],
    );
  });

  test('who gives no principal is told to give one', async () => {
    await assert.rejects(
      openHBase({ servers }),
      refused(/asks for Kerberos .*; give the principal of the servers, as in hbase:/),
    );
  });

  test('a principal or realm that is not the servers’ is refused in one sentence', async () => {
    await assert.rejects(
      open({ principal: 'hbaze/_HOST' }),
      refused(/\(hbaze\/127\.0\.0\.1\): Server hbaze\S+ not found .*; principal must be the one/),
    );
    await assert.rejects(
      open({ principal: 'hbase/_HOST@ELSEWHERE' }),
      refused(/is for hbase\/127\.0\.0\.1@PERCOLATOR\.TEST, and principal is hbase\/_HOST@ELSEWH/),
    );
  });

  test('who has no ticket, or an expired one, is told at once where kinit must put one', async () => {
    await kdc.kdestroy();
    await assert.rejects(open(), refused(/No Kerberos credentials available .*; kinit gets a new/));
    await kdc.kinit(1);
    await systemClock.sleep(2_000);
    await assert.rejects(open(), refused(/: Ticket expired; kinit gets a new one/));
    await kdc.kinit(DAY_SECONDS);
    await using store = await open();
    assert.deepEqual(await store.listTables(), ['t']);
  });

  /** With a ticket that has expired since; a slow machine needs one that lasts longer. */
  const opened = async (): Promise<Bigtable> => {
    for (let seconds = 2; ; seconds *= 2) {
      await kdc.kinit(seconds);
      const store = await open({ timeoutMs: GIVEN_UP_MS }).catch(() => undefined);
      await systemClock.sleep(1_000 * (seconds + 1));
      if (store !== undefined) return store;
      assert.ok(seconds < DAY_SECONDS, 'a store can be opened within a day');
    }
  };

  test('an open store outlives its ticket, and takes a new one without being opened again', async () => {
    await using store = await opened();
    // The connections to the master are open; the one to the region server is made now.
    assert.deepEqual(await store.listTables(), ['t']);
    const filters = [{ family: 'f' }];
    await assert.rejects(store.readRow('t', 'a', filters), {
      code: 'STORE_UNAVAILABLE',
      message: /Ticket expired/,
    });
    await kdc.kinit(DAY_SECONDS);
    assert.equal((await store.readRow('t', 'a', filters))?.cells.length, 1);
  });

  test('where no key distribution center answers, the store is unavailable, and not refused', async () => {
    await kdc.kinit(DAY_SECONDS);
    await kdc.stop();
    await assert.rejects(open({ timeoutMs: GIVEN_UP_MS }), {
      code: 'STORE_UNAVAILABLE',
      message: /^no HBase answers at .*: Cannot contact any KDC for realm/,
    });
  });
}

function realmOf(principal: string): string {
  return principal.slice(principal.indexOf('@') + 1);
}
