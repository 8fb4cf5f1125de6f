/** Waiting for another attempt to create a table: not for one that is known to have ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, PercolatorError } from '../base/index.ts';
import { decorate } from '../bigtable/index.ts';
import { openPercolator } from '../percolator.ts';
import { createMemoryBigtable, VirtualClock } from '../testing/index.ts';
import { readDefinition } from './definition.ts';

test('a database does not wait for the failed attempt of a closed one with its liveness', async () => {
  const clock = new VirtualClock();
  const memory = createMemoryBigtable();
  let isDown = false;
  const refuse = (): void => {
    if (isDown) throw new PercolatorError('STORE_UNAVAILABLE', 'for a moment');
  };
  const store = decorate(memory, {
    createTable: async (table, schema) => {
      isDown ||= table === 't';
      refuse();
      await memory.createTable(table, schema);
    },
    checkAndMutateRow: async (conditional) => {
      refuse();
      return memory.checkAndMutateRow(conditional);
    },
  });
  const liveness = { self: 'a', isDead: () => false };
  const options = { store, clock, liveness, random: createRandom(1) };
  const first = await openPercolator(options);
  const failing = clock.runUntil(first.createTable('t'));
  await assert.rejects(failing, { code: 'STORE_UNAVAILABLE' });
  await clock.runUntil(first.close());
  assert.equal((await readDefinition(memory, 't'))?.state, 'creating');
  const second = await openPercolator({ ...options, store: memory });
  const beforeMs = clock.monotonicMs();
  await clock.runUntil(second.createTable('t'));
  const waitedMs = clock.monotonicMs() - beforeMs;
  assert.ok(waitedMs < 1_000, `waited ${waitedMs} ms`);
});
