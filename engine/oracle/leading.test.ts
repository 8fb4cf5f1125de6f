/** When an oracle says that it leads: as long as its callers are answered here, now or soon. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryBigtable, FaultyBigtable, VirtualClock } from '../testing/index.ts';
import { type LeasedAllocator, openLeasedAllocator } from './index.ts';

async function openFaulty(): Promise<{
  readonly client: FaultyBigtable;
  readonly source: LeasedAllocator;
}> {
  const client = new FaultyBigtable(createMemoryBigtable());
  return { client, source: await openLeasedAllocator(client, new VirtualClock()) };
}

test('an oracle leads also while it changes its row; until that is done it hands out nothing', async () => {
  const { client, source } = await openFaulty();
  const changed = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  client.beforeCall = ({ kind }) => {
    if (kind !== 'mutation') return undefined;
    sent.resolve();
    return changed.promise;
  };
  const raised = source.raiseHorizon(20);
  await sent.promise;
  assert.deepEqual([source.isLeading, source.isWatching], [true, false]);
  assert.ok(source.remainingMs > 0);
  const asked = source.allocate(1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(source.handedOut, 0);
  changed.resolve();
  assert.equal(await raised, 20);
  assert.equal((await asked).horizon, 20);
});

test('an oracle that is closed while it changes its row leads no more', async () => {
  const { client, source } = await openFaulty();
  let wasLeading: boolean | undefined;
  let closing: Promise<void> | undefined;
  client.beforeCall = ({ kind }) => {
    if (kind !== 'mutation') return;
    closing ??= source.close();
    wasLeading ??= source.isLeading;
  };
  await assert.rejects(source.raiseHorizon(20), { code: 'STORE_UNAVAILABLE' });
  await closing;
  assert.equal(wasLeading, false);
});
