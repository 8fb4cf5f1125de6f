/** The lines that a script prints at its end: what they make of numbers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableLines } from './result-lines.ts';

test('a table is turned if only its indent makes it too wide for the terminal', (t) => {
  Reflect.set(process.stdout, 'columns', 40);
  t.after(() => Reflect.deleteProperty(process.stdout, 'columns'));
  const columns = ['a'.repeat(18), 'b'.repeat(19)]; // 39 wide, and 22 when turned.
  const lines = tableLines({ title: 'Times', columns, rows: [[1, 2]] });
  assert.deepEqual(lines.slice(1, 3), [`  ${columns[0]}   1`, `  ${columns[1]}  2`]);
});

test('a number is printed without an exponent on both sides of a thousand', () => {
  const rows = [999.4, 999.5, 999.96, 1_000, -999.7].map((one) => [one]);
  const [, , ...lines] = tableLines({ title: 'Rates', columns: ['a second'], rows });
  assert.deepEqual(
    lines.map((line) => line.trim()).filter((line) => line !== ''),
    ['999', '1,000', '1,000', '1,000', '-1,000'],
  );
});
