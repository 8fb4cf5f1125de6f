/** Preparing ends when it is asked to, and prepares what can be checked. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import type { Plan } from './plan.ts';
import { prepare, preparedArrivals } from './prepared.ts';

test('an interrupt does not wait until all arrivals are written', async () => {
  const folder = temporaryFolder();
  const interrupt = new AbortController();
  const repository = 100;
  const progress = {
    phase: () => {},
    update: (done: number) => {
      if (done === repository) interrupt.abort(new Error('interrupted'));
    },
    note: () => {},
    end: () => {},
  };
  const batch = { store: 'embedded', batch: 'local', batchSeconds: 1, workers: 1 } as const;
  const plan = {
    ...batch,
    repository,
    rates: [1e7],
    documentBytes: 200,
    seed: 1,
  } as unknown as Plan;
  await assert.rejects(
    prepare(plan, { folder, progress, signal: interrupt.signal }),
    /interrupted/,
  );
  assert.equal(statSync(path.join(folder, 'arrivals')).size, 0);
});

test('the batch gets no more documents than a check can hold', () => {
  const batch = { rates: [1, 3_600], batch: 'local', batchSeconds: 100 } as const;
  // 10 documents a second, for 1.5 times 100 s and 5 s more.
  assert.equal(preparedArrivals({ ...batch, repository: 1_000 }), 1_551);
  // A check holds 2^24 documents.
  assert.equal(preparedArrivals({ ...batch, repository: 10_000_000 }), 6_777_216);
});
