/** The claims of the findings: intervals hold their values, and captions are true. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findingsOf } from './findings.ts';
import { type VariantResult, variantsOf } from './measure.ts';

const RESULT: VariantResult = {
  variant: 'off',
  done: 100,
  perSecond: [1],
  operations: 10,
  rpcs: 10,
  readRpcs: 5,
  conditionalRpcs: 1,
  blindRpcs: 1,
  scanRpcs: 1,
  wasted: 0,
  cpuMs: 1,
  medianMs: 1,
  p99Ms: 2,
  aloneMedianMs: 1,
  samples: 100,
  aloneSamples: 50,
};

/** The median of these rates, and its interval. */
function rateOf(perSecond: readonly number[]): { value: unknown; interval: unknown } {
  const crawl = [{ ...RESULT, perSecond }];
  const [table] = findingsOf({ crawl, tenColumns: crawl, concurrency: 1 }).tables;
  const name = 'per second, median repeat';
  const metric = table?.metrics?.columns.find(({ column }) => column === name);
  const value = table?.rows[0]?.[table.columns.indexOf(name)];
  return { value, interval: metric?.intervals?.[0] };
}

test('the interval of a rate holds the rate, also if one repeat was far off', () => {
  const eight = [100, 101, 102, 103, 104, 105, 106, 1];
  assert.deepEqual(rateOf(eight), { value: 102, interval: { low: 1, high: 106 } });
  const same = [...Array.from({ length: 9 }, () => 100), 1];
  assert.deepEqual(rateOf(same), { value: 100, interval: { low: 100, high: 100 } });
});

test('the ranks of the interval are those of the binomial distribution', () => {
  const upTo = (count: number): readonly number[] =>
    Array.from({ length: count }, (_, index) => index + 1);
  for (const [count, interval] of [
    [1, null],
    [5, null],
    [6, { low: 1, high: 6 }],
    [8, { low: 1, high: 8 }],
    [9, { low: 2, high: 8 }],
    [10, { low: 2, high: 9 }],
    [20, { low: 6, high: 15 }],
  ] as const) {
    assert.deepEqual(rateOf(upTo(count)).interval, interval, `${count} repeats`);
  }
});

test('only a storage that takes several conditional mutations in one call is also measured with one per call', () => {
  const values = { batchDelay: 1, batchRows: 100, batchInFlight: 8 };
  const namesOn = (store: 'embedded' | 'emulator'): readonly string[] =>
    variantsOf({ ...values, store }).map(({ name }) => name);
  const names = ['off', 'prefetch', 'batching', 'both'];
  assert.deepEqual(namesOn('embedded'), [...names, 'both, public API']);
  assert.deepEqual(namesOn('emulator'), names);
});

test('each chart says that “both, public API” and the emulator send one conditional mutation per call', () => {
  const { charts } = findingsOf({ crawl: [RESULT], tenColumns: [RESULT], concurrency: 1 });
  for (const { caption } of charts ?? []) {
    assert.match(caption, /“both, public API” and the emulator do without/);
  }
});
