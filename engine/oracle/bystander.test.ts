/** The read-only oracle: its answer is above all timestamps handed out, and it moves nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryBigtable } from '../testing/index.ts';
import { openAllocator, watchTimestamps } from './index.ts';

test('a bystander receives a timestamp above all that were handed out, and uses none up', async () => {
  const store = createMemoryBigtable();
  const source = await openAllocator(store, { rangeSize: 10 });
  const bystander = watchTimestamps(store);
  const { first } = await source.allocate(3);
  const seen = await bystander.next();
  assert.ok(seen > first + 2);
  assert.equal((await source.allocate(1)).first, first + 3, 'nothing was used up by looking');
});

test('a bystander knows the horizon only after a read, and then the current one', async () => {
  const store = createMemoryBigtable();
  const source = await openAllocator(store);
  const bystander = watchTimestamps(store);
  await source.raiseHorizon(7);
  assert.equal(bystander.horizon, 0, 'it has not read yet');
  assert.equal(await bystander.readHorizon(), 7);
  await source.raiseHorizon(9);
  assert.equal(bystander.horizon, 7);
  await bystander.next();
  assert.equal(bystander.horizon, 9);
});

test('a bystander moves no horizon', async () => {
  const store = createMemoryBigtable();
  const source = await openAllocator(store);
  await assert.rejects(watchTimestamps(store).raiseHorizon(5), { code: 'READ_ONLY' });
  assert.equal(await source.readHorizon(), 0);
});

test('a bystander hears of drops, and announces none', async () => {
  const store = createMemoryBigtable();
  const source = await openAllocator(store);
  const bystander = watchTimestamps(store);
  await source.announceDrop();
  await bystander.next();
  assert.equal(bystander.drops, 1);
  await assert.rejects(bystander.announceDrop(), { code: 'READ_ONLY' });
  assert.equal((await source.allocate(1)).drops, 1);
});

test('a bystander of a store without an oracle says so at its first question', async () => {
  const bystander = watchTimestamps(createMemoryBigtable());
  await assert.rejects(bystander.next(), { code: 'TABLE_NOT_FOUND' });
});
