/**
 * The simulator's table obeys the contract about filters that pass nothing, cells that pass two
 * filters, and rows without mutations. The conformance suite checks this for every storage, but the
 * simulator's table alone is not a storage.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CellFilter, TIMESTAMP_MAX } from '../../../engine/bigtable/index.ts';
import { ModelTable } from './model-table.ts';

const VALUE = Buffer.from('v');
const COLUMN: CellFilter = { family: 'data', qualifier: 'q' };
const INVERTED: readonly CellFilter[] = [
  { ...COLUMN, from: 2, to: 1 },
  { family: 'data', from: TIMESTAMP_MAX, to: 0 },
];

function table(): ModelTable {
  const made = new ModelTable();
  const set = { kind: 'set', family: 'data', qualifier: 'q', value: VALUE } as const;
  made.mutateRow('r', [
    { ...set, timestamp: 1 },
    { ...set, timestamp: 2 },
  ]);
  return made;
}

test('no filters, and filters with an empty range, pass nothing', () => {
  for (const filters of [[], ...INVERTED.map((filter) => [filter]), INVERTED]) {
    assert.equal(table().readRow('r', filters), undefined);
    assert.deepEqual(table().readRange({ limit: 9 }, filters), []);
    const conditional = { table: 't', row: 'r', anyOf: filters, ifNotFound: [] };
    assert.equal(table().checkAndMutateRow(conditional), false);
  }
});

test('a cell that passes two filters comes twice, in the order of the filters', () => {
  const row = table().readRow('r', [{ ...COLUMN, to: 1 }, { family: 'data' }]);
  assert.deepEqual(
    row?.cells.map(({ timestamp }) => timestamp),
    [1, 2, 1],
  );
});

test('a row without mutations stays as it is', () => {
  const made = table();
  made.mutateRow('r', []);
  made.mutateRow('s', []);
  assert.deepEqual(
    made.readRange({ limit: 9 }, [{ family: 'data' }]).map(({ key }) => key),
    ['r'],
  );
});
