/**
 * What a client learns from the owner's greeting: how the owner's clock runs (P62), and which store
 * it is (P74).
 */
import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PercolatorError, systemClock } from '../../../base/index.ts';
import { openWithTable, setRow } from '../../../testing/small-rows.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import type { Bigtable } from '../../bigtable.ts';
import { MANIFEST } from '../embedded.ts';
import { storeIn } from '../folder.ts';
import { openEmbedded } from '../index.ts';
import { openPatiently } from '../open-embedded.ts';
import { Client } from './client.ts';
import { OtherProcess } from './other-process.fixture.ts';
import { codeOf, FILTERS, IMPATIENT, newStore, PATIENT } from './shared-store.fixture.ts';
import { socketOf } from './socket-place.ts';

const HOUR_MS = 3_600_000;

for (const [what, aheadMs] of [
  ['ahead of', HOUR_MS],
  ['back from', -HOUR_MS],
] as const) {
  test(`P62: a client whose clock is an hour ${what} the owner's is served, and its deadlines count`, async () => {
    const folder = await newStore();
    await using owner = await OtherProcess.open(folder);
    const nowMs = (): number => systemClock.monotonicMs() + aheadMs;
    await using patient = await openPatiently({ folder, own: false }, { ...PATIENT, nowMs });
    await patient.mutateRows([setRow('in time')]);
    assert.notEqual(await patient.readRow('t', 'in time', FILTERS), undefined);
    await using client = await openPatiently({ folder, own: false }, { ...IMPATIENT, nowMs });
    owner.signal('SIGSTOP');
    assert.equal(await client.mutateRows([setRow('late')]).catch(codeOf), 'STORE_IN_DOUBT');
    await systemClock.sleep(2 * IMPATIENT.requestMs); // The greeting took some time, too.
    owner.signal('SIGCONT');
    assert.equal(await patient.readRow('t', 'late', FILTERS), undefined);
    await patient.mutateRows([setRow('later')]);
    assert.equal(await owner.call('readRow', 't', 'late', FILTERS), undefined);
  });
}

test('P62: a client of another clock that heard the greeting late is served all the same', async (t) => {
  const folder = await newStore();
  await using _ = await openEmbedded({ folder });
  // For each request, it believes that the owner has less time than the request has.
  const times = { toClientMs: 3_000, aheadMs: HOUR_MS, requestMs: 2_000 };
  const client = await clientThrough(t, folder, times);
  client.hasten();
  await client.store.mutateRows([setRow('in time')]);
  assert.notEqual(await client.store.readRow('t', 'in time', FILTERS), undefined);
  await client.store.close();
});

test('P62: clocks that seem to be one by chance make no deadline late', async (t) => {
  const folder = await newStore();
  await using owner = await openEmbedded({ folder });
  // The client asks at 300, the owner greets at 400, the client hears it at 700: one clock?
  const times = { toOwnerMs: 400, aheadMs: 300, requestMs: 300 };
  const { store } = await clientThrough(t, folder, times);
  const write = store.mutateRows([setRow('late')]).catch(codeOf);
  assert.match(String(await write), /^STORE_(UNAVAILABLE|IN_DOUBT)$/);
  await systemClock.sleep(2 * times.toOwnerMs);
  assert.equal(await owner.readRow('t', 'late', FILTERS), undefined);
  await store.close();
});

/** A client whose clock is ahead of the owner's, and whose messages take a while until `hasten`. */
async function clientThrough(
  t: TestContext,
  folder: string,
  {
    toOwnerMs = 0,
    toClientMs = 0,
    aheadMs,
    requestMs,
  }: {
    readonly toOwnerMs?: number;
    readonly toClientMs?: number;
    readonly aheadMs: number;
    readonly requestMs: number;
  },
): Promise<{ readonly store: Bigtable; readonly hasten: () => void }> {
  let isSlow = true;
  const relay = (client: Socket): void => {
    const owner = connect({ path: socketOf(storeIn(folder) ?? folder), allowHalfOpen: true });
    for (const [from, to, ms] of [
      [client, owner, toOwnerMs],
      [owner, client, toClientMs],
    ] as const) {
      t.after(() => from.destroy());
      from.on('error', () => {});
      from.on('data', (chunk) => {
        void systemClock.sleep(isSlow ? ms : 0).then(() => to.write(chunk));
      });
      from.on('end', () => void systemClock.sleep(ms).then(() => to.end()));
    }
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    void systemClock.sleep(toOwnerMs).then(() => relay(client));
  });
  const path = join(temporaryFolder(), 'slow');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => server.close());
  const store = new Client({
    manifest: { ...MANIFEST, durability: 'none' },
    fsync: true,
    readOnly: false,
    attachMs: 60_000,
    requestMs,
    socketPath: () => path,
    own: undefined,
    nowMs: () => systemClock.monotonicMs() + aheadMs,
    refusal: (reason) => new PercolatorError('STORE_UNAVAILABLE', reason),
  });
  await store.attach();
  return { store, hasten: () => (isSlow = false) };
}

for (const own of [false, true]) {
  test(`P74: a client that may ${own ? '' : 'not '}own the store refuses another one in its place`, async () => {
    const [folder, another] = [await newStore(), await newStore()];
    const owner = await openEmbedded({ folder });
    await using client = await openPatiently({ folder, own }, PATIENT);
    await owner.mutateRows([setRow('r')]);
    assert.notEqual(await client.readRow('t', 'r', FILTERS), undefined);
    const moved = `${folder}.moved`;
    await owner.close();
    renameSync(folder, moved);
    renameSync(another, folder);
    const next = own ? undefined : await openEmbedded({ folder });
    const refusal = { code: 'WRONG_DATABASE', message: /another store is in its place/ };
    await assert.rejects(client.readRow('t', 'r', FILTERS), refusal);
    await assert.rejects(client.mutateRows([setRow('wrong')]), refusal);
    await next?.close();
    await using opened = await openWithTable(folder);
    assert.deepEqual(await opened.readRange('t', { limit: 1 }, FILTERS), [], 'it is as it was');
    await opened.close();

    rmSync(folder, { recursive: true });
    renameSync(moved, folder);
    const back = own ? undefined : await openEmbedded({ folder });
    assert.notEqual(await client.readRow('t', 'r', FILTERS), undefined, 'its own store is back');
    await back?.close();
  });
}
