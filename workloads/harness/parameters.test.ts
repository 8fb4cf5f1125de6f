/** The parameters of a run: lists of texts become one text, and lists of numbers stay lists. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parametersOf } from './parameters.ts';

test('lists of numbers stay lists, also without a number; lists of texts become one text', () => {
  const options = { out: 'folder', rates: [1, 2], none: [], kinds: ['raw', 'percolator'] };
  assert.deepEqual(parametersOf(options), { rates: [1, 2], none: [], kinds: 'raw, percolator' });
});
