/**
 * The findings: no numbers if a check fails, no ratio of CPU times if a part of them is not known,
 * and marks that a reader can tell apart.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableOf } from '../../results/report/charts/findings-chart.ts';
import type { Slice } from './case.ts';
import { NAMES } from './figure-8-cases.ts';
import { figure8Chart, figure8Table } from './figure-8-tables.ts';
import { findingsOf, type StoreResult } from './findings.ts';

const KNOWN = { operations: 1, seconds: 1, clientUs: 2, serverUs: 3, servicesUs: 5 };
const WRONG = ['raw: row w000000003 has no value'];

/** A store on which every case had one slice. */
function resultOf(name: string, slice: Slice = KNOWN, inProcesses = false): StoreResult {
  const slices = new Map(Object.values(NAMES).map((of) => [of, [slice]]));
  const figure8 = { slices, messages: new Map(), inProcesses, concurrency: 64 };
  const none = { sweeps: undefined, latencies: [], conditionalBatch: [], inProcess: [], wrong: [] };
  return { name, durability: 'none', figure8, profiles: new Map(), ...none };
}

test('a failed check leaves no numbers, of another store either, not even in the targets', () => {
  const right = resultOf('emulator');
  assert.equal(findingsOf([right]).targets.length, 2);
  const wrong = { ...resultOf('embedded'), wrong: WRONG };
  for (const results of [[wrong], [right, wrong]]) {
    const { check, tables, charts, targets } = findingsOf(results);
    assert.deepEqual(check, { passed: false, detail: `embedded: ${WRONG[0]}` });
    assert.deepEqual([tables, charts, targets], [[], [], []]);
  }
});

/** The last column of the first row of the store. */
function relativeCpu(name: string, slice: Slice, inProcesses: boolean): unknown {
  return figure8Table([resultOf(name, slice, inProcesses)])
    .rows.find(([store]) => store === name)
    ?.at(-1);
}

test('relative CPU counts all processes, and is null if the time of one is not known', () => {
  const noServer = { ...KNOWN, serverUs: null };
  const noServices = { ...KNOWN, servicesUs: null };
  assert.equal(relativeCpu('emulator', KNOWN, true), 1);
  assert.equal(relativeCpu('emulator', noServices, false), 1, 'the oracle is in the client');
  assert.equal(
    relativeCpu('embedded', { ...noServices, serverUs: null }, false),
    1,
    'the storage is in the client, too',
  );
  assert.equal(relativeCpu('emulator', { ...noServices, serverUs: null }, false), null);
  assert.equal(relativeCpu('emulator', noServer, true), null);
  assert.equal(relativeCpu('embedded', noServices, true), null);
});

for (const stores of [2, 5, 12]) {
  test(`marks of ${stores} stores are next to each other, each at its own operation`, () => {
    const results = Array.from({ length: stores }, (_, i) => resultOf(`store ${i}`));
    const chart = figure8Chart(results);
    const reads = chart.series.map(({ points }) => points[0]?.x);
    assert.equal(
      new Set(reads).size,
      stores + 1,
      'one place for each store, and one for the paper',
    );
    assert.deepEqual(
      tableOf(chart).rows.map(([, operation]) => operation),
      chart.series.flatMap(() => ['random reads', 'single-cell writes']),
    );
  });
}
