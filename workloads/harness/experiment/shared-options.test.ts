/** The options that several scripts share. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onePerCore } from './shared-options.ts';

test('a default of one per core is in the range of its option, even if the machine has more cores', () => {
  for (const max of [1, 64]) {
    const { fallback, parse } = onePerCore('processes', max);
    assert.deepEqual(parse(String(fallback())), { value: fallback() });
  }
});
