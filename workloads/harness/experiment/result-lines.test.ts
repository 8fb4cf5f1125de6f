/** The lines that a script prints at its end: what they make of numbers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableLines } from './result-lines.ts';

test('a number is printed without an exponent on both sides of a thousand', () => {
  const rows = [999.4, 999.5, 999.96, 1_000, -999.7].map((one) => [one]);
  const [, , ...lines] = tableLines({ title: 'Rates', columns: ['a second'], rows });
  assert.deepEqual(
    lines.map((line) => line.trim()).filter((line) => line !== ''),
    ['999', '1,000', '1,000', '1,000', '-1,000'],
  );
});
