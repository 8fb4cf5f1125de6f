/** What the judge of shared locks convicts, and what it must leave alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoricRecord, HistoricTransaction } from './history.ts';
import { judgeSnapshotIsolation } from './snapshot-isolation.ts';

type Interval = readonly [start: number, commit: number];

/** The first two share a lock of x, and write a cell of their own; the last one writes x. */
function judged(sharing: readonly [Interval, Interval], writer: Interval): readonly string[] {
  const usual = { process: 'A', outcome: 'unknown', beganAt: 0, reads: [], locks: [] } as const;
  const transactions: HistoricTransaction[] = sharing.map(([startTimestamp], i) => ({
    ...usual,
    startTimestamp,
    writes: [{ cell: `t/y${i}:c`, value: 'y' }],
    shared: ['t/x:c'],
  }));
  const [startTimestamp] = writer;
  transactions.push({ ...usual, startTimestamp, writes: [{ cell: 't/x:c', value: 'x' }] });
  const records = [
    ...sharing.flatMap((interval, i) => [
      record(`t/y${i}:c`, interval),
      record('t/x:ack_%read:c', interval),
    ]),
    record('t/x:c', writer),
  ];
  const rollbacks = sharing.map(([start]) => ({ cell: 't/x:ack_%read:c', startTimestamp: start }));
  const found = judgeSnapshotIsolation({ transactions, records, rollbacks });
  return found.map(({ claim }) => claim);
}

function record(cell: string, [startTimestamp, commitTimestamp]: Interval): HistoricRecord {
  return { cell, startTimestamp, commitTimestamp, operation: 'put' };
}

test('locks that are shared may overlap, before and after a writer', () => {
  assert.deepEqual(
    judged(
      [
        [1, 4],
        [2, 3],
      ],
      [5, 6],
    ),
    [],
  );
  assert.deepEqual(
    judged(
      [
        [3, 6],
        [4, 5],
      ],
      [1, 2],
    ),
    [],
  );
  assert.deepEqual(
    judged(
      [
        [1, 2],
        [5, 6],
      ],
      [3, 4],
    ),
    [],
  );
});

test('a writer overlaps none of them', () => {
  const overlapping = ['snapshot isolation: overlapping writers'];
  assert.deepEqual(
    judged(
      [
        [1, 2],
        [3, 6],
      ],
      [4, 5],
    ),
    overlapping,
  );
  assert.deepEqual(
    judged(
      [
        [1, 2],
        [4, 5],
      ],
      [3, 6],
    ),
    overlapping,
  );
  assert.deepEqual(
    judged(
      [
        [1, 4],
        [7, 8],
      ],
      [3, 6],
    ),
    overlapping,
  );
  assert.deepEqual(
    judged(
      [
        [1, 2],
        [5, 8],
      ],
      [3, 6],
    ),
    overlapping,
  );
});
