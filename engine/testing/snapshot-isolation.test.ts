/** The claims of the checker: it accepts what snapshot isolation permits and finds what it forbids. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSnapshotIsolation, type HistoricTransaction } from './index.ts';

function transaction(
  [startTimestamp, commitTimestamp]: readonly [number, number?],
  { reads = {}, writes = {}, locks = [] }: { reads?: object; writes?: object; locks?: string[] },
): HistoricTransaction {
  return {
    startTimestamp,
    commitTimestamp,
    reads: Object.entries(reads).map(([cell, value]) => ({ cell, value })),
    writes: new Map(Object.entries(writes)),
    locks,
  };
}

const first = transaction([1, 2], { writes: { x: 'a' } });

test('a history in order, a read of the past and a write skew are accepted', () => {
  assertSnapshotIsolation([
    first,
    transaction([3, 6], { reads: { x: 'a', y: undefined }, writes: { y: 'b' } }),
    transaction([4, 7], { reads: { x: 'a', y: undefined }, writes: { x: 'c' } }),
    transaction([5], { reads: { x: 'a', y: undefined } }),
    transaction([8], { reads: { x: 'c', y: 'b' } }),
  ]);
});

const forbidden: Record<string, HistoricTransaction[]> = {
  'a stale read': [first, transaction([3], { reads: { x: undefined } })],
  'a read of the future': [
    transaction([1], { reads: { x: 'a' } }),
    transaction([2, 3], { writes: { x: 'a' } }),
  ],
  'a read of what was aborted': [
    transaction([1], { writes: { x: 'a' } }),
    transaction([2], { reads: { x: 'a' } }),
  ],
  'a deleted value': [
    first,
    transaction([3, 4], { writes: { x: undefined } }),
    transaction([5], { reads: { x: 'a' } }),
  ],
  'two writers that overlap': [
    first,
    transaction([3, 5], { writes: { x: 'b' } }),
    transaction([4, 6], { writes: { x: 'c' } }),
  ],
  'a writer and a lock that overlap': [
    transaction([3, 5], { locks: ['x'] }),
    transaction([4, 6], { writes: { x: 'c' } }),
  ],
  'a timestamp given twice': [first, transaction([2], {})],
  'a commit before its start': [transaction([5, 4], {})],
};

for (const [name, history] of Object.entries(forbidden)) {
  test(`${name} is found`, () => assert.throws(() => assertSnapshotIsolation(history)));
}
