/** What counts as the answer of a store, when two stores are compared. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryBigtable } from '../testing/index.ts';
import type { Bigtable } from './bigtable.ts';
import { decorate } from './decorate.ts';
import { answer, type Operation } from './random-operations.ts';

const READ: Operation = { kind: 'readRows', table: 't', rows: ['a'], filters: [] };

test('an error of the store is an answer, and any other error is thrown', async () => {
  await using store = createMemoryBigtable();
  assert.equal(await answer(store, READ), 'TABLE_NOT_FOUND');
  const mistake = Object.assign(new TypeError('a mistake'), { code: 'ERR_INVALID_ARG_TYPE' });
  const mistaken: Bigtable = decorate(store, { readRows: () => Promise.reject(mistake) });
  await assert.rejects(answer(mistaken, READ), mistake);
  await assert.rejects(answer(store, { kind: 'unknown' } as never), { code: 'ERR_ASSERTION' });
});
