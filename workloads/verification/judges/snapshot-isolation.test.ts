/**
 * The claims of the judge of snapshot isolation: it acquits what is allowed, and convicts of
 * exactly the violation made.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type HistoricRecord,
  type HistoricTransaction,
  type History,
  judgeSnapshotIsolation,
} from './index.ts';
import type { Draft, Writable } from './testing/ideal-history.ts';

/**
 * 1..2 writes x and y, 3..6 deletes x and locks y, 7 has failed on x, 9 reads; 10..12 is a strong
 * run of an observer whose client died. Each begins after the previous one has ended, but 10 and 13
 * overlap.
 */
function goodHistory(): Draft {
  const a = transaction({ startTimestamp: 1, commitTimestamp: 2, beganAt: 1, endedAt: 2 });
  a.reads.push({ cell: 't/x:c' });
  a.writes.push({ cell: 't/x:c', value: 'x1' }, { cell: 't/y:c', value: 'y1' });

  const b = transaction({ startTimestamp: 3, commitTimestamp: 6, beganAt: 3, endedAt: 6 });
  b.reads.push({ cell: 't/x:c', value: 'x1' });
  b.writes.push({ cell: 't/x:c' });
  b.locks.push('t/y:c');

  const c = transaction({ startTimestamp: 7, outcome: 'failed', beganAt: 7, endedAt: 8 });
  c.reads.push({ cell: 't/y:c', value: 'y1' });
  c.writes.push({ cell: 't/x:c', value: 'x7' });

  const d = transaction({ startTimestamp: 9, beganAt: 9, endedAt: 9.5 });
  d.reads.push({ cell: 't/x:c' }, { cell: 't/y:c', value: 'y1' }, { cell: 't/z:c' });

  const e = transaction({ startTimestamp: 10, outcome: 'unknown', beganAt: 10 });
  e.run = { observer: 'o', cell: 't/y:c', weak: false };
  e.writes.push({ cell: 't/z:c', value: 'z10' });

  const f = transaction({ startTimestamp: 13, beganAt: 10.5, endedAt: 14 });
  f.reads.push({ cell: 't/z:c', value: 'z10' });

  const records = [
    record('t/x:c', [1, 2]),
    record('t/y:c', [1, 2]),
    record('t/x:c', [3, 6], 'delete'),
    record('t/y:c', [3, 6], 'touch'),
    record('t/z:c', [10, 12]),
    record('t/y:ack_o:c', [10, 12]),
  ];
  const rollbacks = [{ cell: 't/x:c', startTimestamp: 7 }];
  return { transactions: [a, b, c, d, e, f], records, rollbacks };
}

function transaction(given: Partial<HistoricTransaction>): Draft['transactions'][number] {
  const usual = { process: 'A', startTimestamp: 0, outcome: 'committed', beganAt: 0 } as const;
  return { ...usual, ...given, reads: [], writes: [], locks: [] };
}

function record(
  cell: string,
  [startTimestamp, commitTimestamp]: readonly [number, number],
  operation: HistoricRecord['operation'] = 'put',
): Writable<HistoricRecord> {
  return { cell, startTimestamp, commitTimestamp, operation };
}

test('a scan may leave out deleted cells, and cells after its range or in other columns; a cell that the transaction wrote itself is listed as returned, whatever the snapshot holds', () => {
  const draft = goodHistory();
  const columns = ['c'];
  of(draft.transactions, 3).scans = [
    { table: 't', columns, returned: ['t/y:c'] },
    { table: 't', start: 'x', end: 'y', columns, returned: [] },
    { table: 't', columns: ['d'], returned: [] },
    { table: 'u', columns, returned: [] },
  ];
  // The transaction had deleted x before this scan, and its snapshot has a value there.
  of(draft.transactions, 1).scans = [{ table: 't', columns, returned: ['t/x:c', 't/y:c'] }];
  assert.deepEqual(claimsOf(draft), []);
});

function claimsOf(history: History): readonly string[] {
  const claims = judgeSnapshotIsolation(history).map(({ claim }) => claim.split(': ')[1] ?? '');
  return [...new Set(claims)];
}

function of<T>(items: readonly T[], i: number): T {
  const item = items.at(i);
  assert.ok(item !== undefined);
  return item;
}

/** One violation each, and its claim. */
const SPOILT: Record<string, readonly [claim: string, spoil: (draft: Draft) => void]> = {
  'a scan that misses a row': [
    'stale read',
    ({ transactions }) => {
      of(transactions, 3).scans = [{ table: 't', columns: ['c'], returned: [] }];
    },
  ],
  'a read that misses the newest version': [
    'stale read',
    ({ transactions }) => (of(of(transactions, 1).reads, 0).value = undefined),
  ],
  'a deleted value that is still read': [
    'stale read',
    ({ transactions }) => (of(of(transactions, 3).reads, 0).value = 'x1'),
  ],
  'a read of a later commit': [
    'read of the future',
    ({ transactions }) => (of(of(transactions, 3).reads, 2).value = 'z10'),
  ],
  'a failed transaction that read a later commit': [
    'read of the future',
    ({ transactions }) => of(transactions, 2).reads.push({ cell: 't/z:c', value: 'z10' }),
  ],
  'a read of a failed write': [
    'read of an uncommitted value',
    ({ transactions }) => (of(of(transactions, 3).reads, 0).value = 'x7'),
  ],
  'a read of a cell that was never written': [
    'read of an uncommitted value',
    ({ transactions }) => of(transactions, 5).reads.push({ cell: 't/v:c', value: 'v' }),
  ],
  'a snapshot of the past with a wrong value': [
    'stale read',
    ({ transactions }) => {
      const past = transaction({ startTimestamp: 6, past: true, beganAt: 20 });
      past.reads.push({ cell: 't/x:c', value: 'x1' });
      transactions.push(past);
    },
  ],
  'a start timestamp handed out twice': [
    'timestamp handed out twice',
    ({ transactions }) => transactions.push({ ...of(transactions, 3), beganAt: 8 }),
  ],
  'a start timestamp that is a commit timestamp, too': [
    'timestamp handed out twice',
    (draft) =>
      draft.records.forEach((one) => one.startTimestamp === 10 && (one.commitTimestamp = 13)),
  ],
  'a commit timestamp handed out twice': [
    'timestamp handed out twice',
    ({ transactions, records }) => {
      const [other] = transactions.splice(2, 1);
      assert.ok(other !== undefined);
      const writes = [{ cell: 't/v:c', value: 'v' }];
      transactions.push({ ...other, startTimestamp: 4, outcome: 'unknown', beganAt: 3, writes });
      of(transactions, -1).reads = [];
      records.push({ ...of(records, 0), cell: 't/v:c', startTimestamp: 4, commitTimestamp: 6 });
    },
  ],
  'a commit before its start': [
    'commit before its start',
    ({ records }) => {
      for (const one of records) if (one.startTimestamp === 10) one.commitTimestamp = 9.5;
    },
  ],
  'a missing write': [
    'half committed',
    ({ transactions, records }) => {
      records.splice(4, 1);
      of(transactions, 5).reads = [];
    },
  ],
  'a missing lock': ['half committed', ({ records }) => records.splice(3, 1)],
  'a missing acknowledgment': ['half committed', ({ records }) => records.splice(5, 1)],
  'two commit timestamps': [
    'half committed',
    ({ records }) =>
      records.push({ ...of(records, 4), commitTimestamp: 12.5, startTimestamp: 10, cell: 't/v:c' }),
  ],
  'a record in a cell that was not written': [
    'record of another write',
    ({ records }) => records.push({ ...of(records, 4), cell: 't/v:c' }),
  ],
  'a put where there was a delete': [
    'record of another write',
    ({ records }) => (of(records, 2).operation = 'put'),
  ],
  'a record without a transaction': [
    'dangling record',
    ({ records }) =>
      records.push({ cell: 't/v:c', startTimestamp: 20, commitTimestamp: 21, operation: 'put' }),
  ],
  'a committed transaction that was rolled back elsewhere': [
    'committed and rolled back',
    ({ rollbacks }) => rollbacks.push({ cell: 't/y:c', startTimestamp: 3 }),
  ],
  'a commit that was reported and is not there': [
    'lost commit',
    ({ transactions }) => {
      Object.assign(of(transactions, 2), { outcome: 'committed', commitTimestamp: 8 });
    },
  ],
  'a commit that was reported without a timestamp and is not there': [
    'lost commit',
    ({ transactions }) => (of(transactions, 2).outcome = 'committed'),
  ],
  'a commit reported at another timestamp': [
    'wrong commit timestamp',
    ({ transactions }) => (of(transactions, 1).commitTimestamp = 5),
  ],
  'a failure that is visible': [
    'failed yet visible',
    ({ transactions }) => {
      of(transactions, 4).outcome = 'failed';
    },
  ],
  'a writer that began before the last one had committed': [
    'overlapping writers',
    ({ transactions, records }) => {
      const [other] = transactions.splice(2, 1);
      assert.ok(other !== undefined);
      const reads = [{ cell: 't/y:c', value: 'y1' }];
      transactions.push({ ...other, startTimestamp: 5, outcome: 'unknown', beganAt: 3, reads });
      of(transactions, 2).reads[0] = { cell: 't/x:c', value: 'x7' };
      records.push({ ...of(records, 0), startTimestamp: 5, commitTimestamp: 8 });
    },
  ],
  'a writer that overlaps a lock': [
    'overlapping writers',
    ({ transactions, records }) => {
      const [other] = transactions.splice(2, 1);
      assert.ok(other !== undefined);
      const writes = [{ cell: 't/y:c', value: 'y7' }];
      transactions.push({ ...other, startTimestamp: 5, outcome: 'unknown', beganAt: 3, writes });
      of(of(transactions, 2).reads, 1).value = 'y7';
      records.push({ ...of(records, 1), startTimestamp: 5, commitTimestamp: 8 });
    },
  ],
  'a transaction that begins after another has ended, with a smaller start timestamp': [
    'real time',
    ({ transactions }) => (of(transactions, 4).beganAt = 14.5),
  ],
  'a transaction that begins after a commit and does not see it': [
    'real time',
    ({ transactions, records }) => {
      for (const one of records) if (one.startTimestamp === 10) one.commitTimestamp = 15;
      Object.assign(of(transactions, 4), {
        outcome: 'committed',
        commitTimestamp: 15,
        endedAt: 10.2,
      });
      of(of(transactions, 5).reads, 0).value = undefined;
    },
  ],
};

describe('the judge of snapshot isolation', () => {
  test('acquits a history with a delete, a lock, a failure, a run and a dead client', () => {
    assert.deepEqual(claimsOf(goodHistory()), []);
  });

  test('acquits write skew', () => {
    const draft = goodHistory();
    of(draft.transactions, 4).reads.push({ cell: 't/w:c' }); // And writes z.
    const other = transaction({ startTimestamp: 11, commitTimestamp: 14, beganAt: 10 });
    other.reads.push({ cell: 't/z:c' });
    other.writes.push({ cell: 't/w:c', value: 'w11' });
    draft.transactions.push(other);
    draft.records.push(record('t/w:c', [11, 14]));
    assert.deepEqual(claimsOf(draft), []);
  });

  test('acquits a snapshot of the past at the timestamp of another transaction', () => {
    const draft = goodHistory();
    const past = transaction({ startTimestamp: 3, past: true, beganAt: 20 });
    past.reads.push({ cell: 't/x:c', value: 'x1' });
    draft.transactions.push(past);
    assert.deepEqual(claimsOf(draft), []);
  });

  test('counts a record that was written twice as one', () => {
    const draft = goodHistory();
    draft.records.push(...draft.records);
    assert.deepEqual(claimsOf(draft), []);
  });

  for (const [what, [claim, spoil]] of Object.entries(SPOILT)) {
    test(`convicts ${what} of "${claim}", and of nothing else`, () => {
      const draft = goodHistory();
      spoil(draft);
      assert.deepEqual(claimsOf(draft), [claim]);
    });
  }

  test('names the transactions that contradict each other', () => {
    const draft = goodHistory();
    of(of(draft.transactions, 1).reads, 0).value = undefined;
    assert.deepEqual(judgeSnapshotIsolation(draft), [
      {
        claim: 'snapshot isolation: stale read',
        message: 't/x:c at 3 was read as nothing; it was "x1", committed by [1, 2]',
      },
    ]);
  });

  test('names the timestamp at which a lost commit was reported, if there is one', () => {
    const draft = goodHistory();
    const failed = of(draft.transactions, 2);
    failed.outcome = 'committed';
    const messageOf = (): string => of(judgeSnapshotIsolation(draft), 0).message;
    const told = 'the transaction of 7 was reported committed';
    assert.equal(messageOf(), `${told}; nothing of it is there`);
    failed.commitTimestamp = 8;
    assert.equal(messageOf(), `${told} at 8; nothing of it is there`);
  });

  test('keeps the first twenty findings', () => {
    const draft = goodHistory();
    const read = { cell: 't/x:c', value: 'never written' };
    of(draft.transactions, 3).reads = Array.from({ length: 1000 }, () => read);
    assert.equal(judgeSnapshotIsolation(draft).length, 20);
  });
});
