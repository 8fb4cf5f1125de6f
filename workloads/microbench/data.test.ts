/** The check reports a store whose contents differ from what was written. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPercolator, type Percolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { closedLoop } from '../harness/load/loops.ts';
import {
  cellOf,
  CELLS,
  checkWritten,
  Data,
  type LastWrites,
  loadTables,
  rawWrite,
} from './data.ts';
import { comparedCases, MESSAGE_CELL } from './figure-8-cases.ts';
import { recordMessages, sendAs } from './recorded-messages.ts';

const SEED = 7;

interface Bench extends AsyncDisposable {
  readonly percolator: Percolator;
  readonly data: Data;
  readonly written: LastWrites;
  check(): Promise<readonly string[]>;
}

/** A bench in which every case has visited its rows more than once. */
async function measured(): Promise<Bench> {
  // Every other owner of a lock is dead, so that a reader resolves it at once.
  const liveness = { self: 'bench', isDead: (token: string) => token !== 'bench' };
  const percolator = await openPercolator({ store: createMemoryBigtable(), liveness });
  const data = new Data({ rows: 40, valueBytes: 32, seed: SEED });
  await loadTables(percolator, data);
  const written: LastWrites = { raw: new Map(), percolator: new Map() };
  const { signal } = new AbortController();
  for (const { operate } of comparedCases(percolator, data, written).flat()) {
    await closedLoop(operate, { first: 0, operations: 100, concurrency: 4, signal });
  }
  return {
    percolator,
    data,
    written,
    check: () => checkWritten(percolator, data, written),
    [Symbol.asyncDispose]: () => percolator.close(),
  };
}

describe('the check', () => {
  test('finds nothing wrong in a correct store', async () => {
    await using bench = await measured();
    assert.deepEqual(await bench.check(), []);
  });

  test('finds a raw row that another operation has written', async () => {
    await using bench = await measured();
    const { data, percolator } = bench;
    const value = data.value({ row: 3, operation: 5_000 });
    await percolator.store.mutateRows([rawWrite(data.writeKeys[3] ?? '', value, 5_002)]);
    const [sentence, ...others] = await bench.check();
    assert.match(sentence ?? '', /^raw: row w000000003 should be of operation \d+, but is .*5000/);
    assert.deepEqual(others, []);
  });

  test('finds a cell of Percolator with bytes that no operation wrote', async () => {
    await using bench = await measured();
    const { data, percolator } = bench;
    await percolator.transact(async (transaction) => {
      const cell = cellOf(data.writeKeys[9] ?? '');
      const value = Buffer.from((await transaction.get(cell)) ?? '');
      value[31] = (value[31] ?? 0) ^ 1; // The stamp stays as it is.
      transaction.set(cell, value);
    });
    const [sentence, ...others] = await bench.check();
    assert.match(
      sentence ?? '',
      /^Percolator: row w000000009 has the stamp of operation \d+, but other bytes$/,
    );
    assert.deepEqual(others, []);
  });

  test('finds a row that is gone', async () => {
    await using bench = await measured();
    const { data, percolator } = bench;
    await percolator.transact(async (transaction) => {
      transaction.delete(cellOf(data.writeKeys[0] ?? ''));
    });
    assert.deepEqual(await bench.check(), ['Percolator: row w000000000 has no value']);
  });

  test('finds a leftover lock', async () => {
    await using bench = await measured();
    const { data, percolator } = bench;
    const value = data.value({ row: 0, operation: 0 });
    const recorded = await recordMessages(percolator, MESSAGE_CELL, value);
    const row = data.writeKeys[1] ?? '';
    // The lock is below the check's snapshot, whose reads resolve it: locks must be counted first.
    await using snapshot = await percolator.snapshot();
    const { startTimestamp } = snapshot;
    const as = { row, startTimestamp, commitTimestamp: startTimestamp + 1 };
    const prewrite = { ...sendAs(recorded, 'prewrite', as), table: CELLS };
    assert.equal(await percolator.store.checkAndMutateRow(prewrite), false);
    assert.deepEqual(await bench.check(), [
      `Percolator: row w000000001 of ${CELLS} is still locked`,
    ]);
  });

  test('reports a few of many errors, and the number of the others', async () => {
    await using bench = await measured();
    bench.written.raw.clear();
    const sentences = await bench.check();
    assert.equal(sentences.length, 6);
    assert.equal(sentences.at(-1), 'and 35 more');
  });
});
