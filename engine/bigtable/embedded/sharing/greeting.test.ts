/**
 * What a client learns from the owner's greeting: how the owner's clock runs (P62), and which store
 * it is (P74).
 */
import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from '../../../base/index.ts';
import { openWithTable, setRow } from '../../../testing/small-rows.ts';
import { openEmbedded } from '../index.ts';
import { openPatiently } from '../open-embedded.ts';
import { sharedClockMs } from './messages.ts';
import { OtherProcess } from './other-process.fixture.ts';
import { codeOf, FILTERS, IMPATIENT, newStore, PATIENT } from './shared-store.fixture.ts';

const HOUR_MS = 3_600_000;

for (const [what, aheadMs] of [
  ['ahead of', HOUR_MS],
  ['back from', -HOUR_MS],
] as const) {
  test(`P62: a client whose clock is an hour ${what} the owner's is served, and its deadlines count`, async () => {
    const folder = await newStore();
    await using owner = await OtherProcess.open(folder);
    const nowMs = (): number => sharedClockMs() + aheadMs;
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
