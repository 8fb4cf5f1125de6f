/** The shape of a read's filters, without which the emulator's answers may be wrong. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CellFilter } from '../bigtable.ts';
import { treeForReading } from './filter-tree.ts';

const COLUMN: readonly CellFilter[] = ['lock', 'write', 'data'].map((kind) => ({
  family: 'cells',
  qualifier: `c:${kind}`,
  to: 7,
}));

test('P20: every read is an Interleave, without which the emulator may leave cells out', () => {
  const many = Array.from({ length: 2_000 }, (_, i) => ({ family: 'cells', qualifier: `q${i}` }));
  for (const filters of [COLUMN, COLUMN.slice(0, 1), [{ family: 'cells' }], many]) {
    const branches = treeForReading(filters)?.interleave?.filters;
    assert.ok(branches != null && branches.length >= 2, `${filters.length} filters`);
  }
  assert.equal(treeForReading([]), undefined);
});
