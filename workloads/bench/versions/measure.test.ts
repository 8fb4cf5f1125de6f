/** The claim of bench:versions that each value that it reads is the one written last. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, openPercolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { readInTurns } from './measure.ts';

const TABLE = 'versions';

test('a read that gives an older value ends the run, even if all reads of the cell give that value', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  await percolator.createTable(TABLE);
  const cellOf = (row: string) => ({ table: TABLE, row, column: 'value' });
  const write = (row: string, value: string): Promise<void> =>
    percolator.transact(async (transaction) => transaction.set(cellOf(row), value));
  await write('once', 'a');
  await write('often', 'b');
  await using before = await percolator.snapshot();
  await write('often', 'c');

  const cells = {
    once: { cell: cellOf('once'), value: Buffer.from('a') },
    often: { cell: cellOf('often'), value: Buffer.from('c') },
  };
  const { signal } = new AbortController();
  const run = { reads: 10, random: createRandom(1), signal, onProgress: () => {} };
  const { reads } = await readInTurns(percolator, cells, run);
  assert.equal(reads, 10);
  const stale = { snapshot: () => percolator.snapshot(before.startTimestamp) };
  await assert.rejects(
    readInTurns(stale, cells, run),
    /^Error: a read of often gave another value than the one written last$/,
  );
});
