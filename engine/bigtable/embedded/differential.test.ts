/**
 * Compares the embedded store with the simple memory store: the same random operations get the same
 * answers (random-operations.ts).
 *
 * The two share no code but the argument checks: not the encoding of keys, not the order of bytes,
 * not the reading of versions.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createMemoryBigtable } from '../../testing/index.ts';
import type { Bigtable } from '../bigtable.ts';
import { answer, operationOf, SCHEMA, TABLES, wholeTables } from '../random-operations.ts';
import { openEmbedded } from './index.ts';

for (const isReopened of [false, true]) {
  const how = isReopened ? 'that is reopened now and then' : 'that stays open';
  test(`random operations get the same answers from the memory store and an embedded one ${how}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'percolator-differential-'));
    // Without fsync, which does not change any answer; the same store for all runs.
    const open = (): Promise<Bigtable> => openEmbedded({ folder, fsync: false });
    let embedded = await open();
    const reopen = async (): Promise<void> => {
      await embedded.close();
      embedded = await open();
    };
    try {
      const step = fc.record({ next: operationOf({}), reopens: fc.nat(4).map((n) => n === 0) });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          await using memory = createMemoryBigtable();
          for (const name of TABLES) {
            await embedded.dropTable(name);
            await embedded.createTable(name, SCHEMA);
            await memory.createTable(name, SCHEMA);
          }
          const whole = wholeTables().map((next) => ({ next, reopens: isReopened }));
          for (const { next, reopens } of [...steps, ...whole]) {
            if (isReopened && reopens) await reopen();
            assert.deepEqual(await answer(embedded, next), await answer(memory, next));
          }
        }),
        { numRuns: isReopened ? 100 : 400 },
      );
    } finally {
      await embedded.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
}
