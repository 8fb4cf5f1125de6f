/**
 * The measurement of costs refuses reads that find nothing, and profiles without own code; and its
 * slices visit different rows.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bigtable, decorate } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import type { MicroCase } from '../../microbench/case.ts';
import { Data, FAMILY, RAW, rawWrite } from '../../microbench/data.ts';
import { SIZES } from '../sizes.ts';
import { costsFindings } from './measured-costs.ts';
import { loadShapes, readsOfShapes, SHAPES, SLICE_DISTANCE } from './operations.ts';

const MEASURED = {
  operations: [{ what: 'raw read', inFlight: 64, us: 5, mainUs: 4, groups: 0 }],
  idle: [{ what: 'raw read', idleMs: 2, mainUs: 40, tookUs: 50 }],
};

test('reads of every shape fail if what they read is not there', async () => {
  const data = new Data({ rows: 50, valueBytes: 10, seed: 1 });
  const store = createMemoryBigtable();
  await store.createTable(RAW, { families: [FAMILY] });
  await loadShapes(store, { readKeys: [] });
  const reads = readsOfShapes(store, data);
  assert.equal(reads.length, 4);
  for (const { name, operate } of reads) await assert.rejects(operate(1), /returned/, name);
});

test('a scan that finds fewer rows than its name says fails', async () => {
  const data = new Data({ rows: 50, valueBytes: 10, seed: 1 });
  const store = createMemoryBigtable();
  await store.createTable(RAW, { families: [FAMILY] });
  const rows = [...data.readKeys, ...data.writeKeys];
  await store.mutateRows(rows.map((row) => rawWrite(row, Buffer.alloc(10), 1)));
  const short = decorate(store, {
    readRange: async (...given) => (await store.readRange(...given)).slice(1),
  });
  const scanOf = (scanned: Bigtable): MicroCase | undefined =>
    readsOfShapes(scanned, data).find(({ name }) => name === SHAPES.scan);
  for (let i = 0; i < data.rows; i++) await scanOf(store)?.operate(i);
  await assert.rejects(async () => scanOf(short)?.operate(1), /returned 15 rows instead of 16/);
});

test('successive slices visit different rows, in every profile', () => {
  for (const [profile, { costs }] of Object.entries(SIZES)) {
    const rowsApart = SLICE_DISTANCE % costs.rows;
    assert.ok(SLICE_DISTANCE >= costs.operations, profile);
    assert.ok(rowsApart >= costs.operations, profile);
    assert.ok(costs.rows - rowsApart >= costs.operations, profile);
  }
});

test('the headline has the own code of each workload, and its check fails without any', () => {
  const own = [
    { what: 'a', us: 1.25 },
    { what: 'b', us: 2 },
  ];
  const found = costsFindings(MEASURED, own);
  assert.equal(
    found.headline,
    'The code of the workloads themselves takes 1.3 µs (a), 2.0 µs (b).',
  );
  assert.equal(found.check.passed, true);
  const none = costsFindings(MEASURED, []);
  assert.equal(none.check.passed, false);
  assert.match(none.check.detail, /no profile shows code of the workloads/);
  assert.equal(none.headline, 'There are no numbers.');
});
