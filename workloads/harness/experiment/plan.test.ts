/** The options that several scripts share, and the parameters of a run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parametersOf } from './plan.ts';
import { onePerCore } from './shared-options.ts';

test('a default of one per core is in the range of its option, even if the machine has more cores', () => {
  for (const max of [1, 64]) {
    const { fallback, parse } = onePerCore('processes', max);
    assert.deepEqual(parse(String(fallback())), { value: fallback() });
  }
});

test('lists of numbers stay lists, also without a number; lists of texts become one text', () => {
  const options = { out: 'folder', rates: [1, 2], none: [], kinds: ['raw', 'percolator'] };
  assert.deepEqual(parametersOf(options), { rates: [1, 2], none: [], kinds: 'raw, percolator' });
});
