/** What the validation says of its numbers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validationFindings } from './findings.ts';

const operations = { read: 2, mutate: 2, conditionalMutate: 4 };
const counted = { measured: operations, predicted: operations };
const one = { workload: 'crawl', what: 'saturation', unit: 'documents/s', errorMax: 15 } as const;

test('numbers within their limits are counted, and all numbers are shown as they are', () => {
  const compared = [
    { ...one, measured: 100, predicted: 114 },
    { ...one, measured: 100, predicted: 84 },
    { ...one, measured: 100, predicted: 300, errorMax: null },
  ];
  const findings = validationFindings({ runs: [], compared, counted, wrong: [] });
  const { headline, tables, targets } = findings;
  assert.match(headline, /^1 of 2 numbers /);
  assert.deepEqual(
    tables[0]?.rows.map((row) => row.slice(3)),
    [
      [100, 114, 14, 15],
      [100, 84, -16, 15],
      [100, 300, 200, null],
    ],
  );
  assert.deepEqual(
    targets.map(({ met }) => met),
    [true, false, true],
  );
});

test('a prediction that is not finite is a question mark in its sentence', () => {
  const compared = [{ ...one, measured: 100, predicted: Infinity }];
  const { targets } = validationFindings({ runs: [], compared, counted, wrong: [] });
  assert.match(targets[0]?.measured ?? '', /^\? documents\/s predicted, 100 measured: /);
});

test('a simulation that fails its check leaves no numbers, but its reason', () => {
  const compared = [{ ...one, measured: 100, predicted: 114 }];
  const found = validationFindings({ runs: [], compared, counted, wrong: ['a lost row'] });
  assert.deepEqual([found.headline, found.tables], ['There are no numbers.', []]);
  assert.deepEqual(found.check, { passed: false, detail: 'a lost row' });
});
