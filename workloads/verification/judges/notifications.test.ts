/**
 * The claims of the judge of notifications: it acquits what is allowed, and convicts of exactly the
 * violation made.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '../../../engine/base/index.ts';
import {
  type HistoricRecord,
  type HistoricTransaction,
  type History,
  judgeNotifications,
} from './index.ts';
import { IDEAL_OBSERVERS, idealHistory } from './testing/ideal-history.ts';

const OBSERVERS = [
  { name: 'o', table: 't', column: 'c' },
  { name: 'p', table: 't', column: 'c' },
  { name: 'o', table: 'u', column: 'd' },
];

function claimsOf(
  records: readonly HistoricRecord[],
  transactions: readonly HistoricTransaction[] = [],
  left: readonly string[] = [],
): readonly string[] {
  const history: History = { records, transactions, rollbacks: [] };
  const violations = judgeNotifications(history, { observers: OBSERVERS, left });
  return violations.map(({ claim }) => claim);
}

function record(
  cell: string,
  [startTimestamp, commitTimestamp]: readonly [number, number],
  operation: HistoricRecord['operation'] = 'put',
): HistoricRecord {
  return { cell, startTimestamp, commitTimestamp, operation };
}

function transaction(
  startTimestamp: number,
  given: Partial<HistoricTransaction>,
): HistoricTransaction {
  const nothing = { reads: [], writes: [], locks: [] };
  return { process: 'A', startTimestamp, outcome: 'committed', beganAt: 0, ...nothing, ...given };
}

/**
 * Two changes of one cell: o sees each, and p sees both at once; a touch; a column without
 * observers.
 */
const GOOD: readonly HistoricRecord[] = [
  record('t/r:c', [1, 2]),
  record('t/r:ack_o:c', [3, 4]),
  record('t/r:c', [5, 6], 'delete'),
  record('t/r:ack_o:c', [7, 8]),
  record('t/r:ack_p:c', [9, 10]),
  record('t/r:c', [11, 12], 'touch'),
  record('u/r:c', [13, 14]),
];

describe('strong notifications', () => {
  test('are acquitted if every change has been seen, some together', () => {
    assert.deepEqual(claimsOf(GOOD), []);
    assert.deepEqual(claimsOf(GOOD.toReversed()), []);
  });

  test('are lost if an observer has not run since the last change', () => {
    assert.deepEqual(claimsOf([...GOOD, record('t/r:c', [15, 16])]), [
      'notifications: lost notification',
      'notifications: lost notification',
    ]);
  });

  test('are lost if an observer never ran', () => {
    assert.deepEqual(claimsOf(GOOD.toSpliced(4, 1)), ['notifications: lost notification']);
  });

  test('are lost if the change was committed between the start and the commit of the last run', () => {
    const records = [record('u/r:d', [1, 3]), record('u/r:ack_o:d', [2, 4])];
    assert.deepEqual(claimsOf(records), [
      'notifications: repeated run',
      'notifications: lost notification',
    ]);
    assert.deepEqual(claimsOf([...records, record('u/r:ack_o:d', [5, 6])]), [
      'notifications: repeated run',
    ]);
  });

  test('must not commit a second run for one change', () => {
    assert.deepEqual(claimsOf([...GOOD, record('t/r:ack_p:c', [15, 16])]), [
      'notifications: repeated run',
    ]);
  });

  test('must not commit a run whose snapshot is older than that of the run before', () => {
    const records = [
      record('u/r:d', [1, 2]),
      record('u/r:d', [3, 5]),
      record('u/r:ack_o:d', [6, 7]),
      record('u/r:ack_o:d', [4, 8]),
    ];
    assert.deepEqual(claimsOf(records), ['notifications: repeated run']);
  });

  test('must not commit a run for a touch', () => {
    const records = [record('u/r:d', [1, 2], 'touch'), record('u/r:ack_o:d', [3, 4])];
    assert.deepEqual(claimsOf([record('u/r:d', [1, 2], 'touch')]), []);
    assert.deepEqual(claimsOf(records), ['notifications: repeated run']);
  });

  test('must not commit a run for a cell that was never written', () => {
    assert.deepEqual(claimsOf([record('u/r:ack_o:d', [3, 4])]), ['notifications: repeated run']);
  });

  test('must not leave a notification', () => {
    assert.deepEqual(claimsOf(GOOD, [], ['notify t/r:c@6']), [
      'notifications: left-over notification',
    ]);
  });

  test('are not mistaken for those of a row or a table of a similar name', () => {
    const records = [record('t/r:c', [1, 2]), record('t/r2:ack_o:c', [3, 4])];
    assert.deepEqual(claimsOf(records), [
      'notifications: lost notification',
      'notifications: lost notification',
      'notifications: repeated run',
    ]);
    assert.deepEqual(claimsOf([record('tt/r:c', [1, 2]), record('t/r:cc', [1, 2])]), []);
  });
});

describe('weak notifications', () => {
  const cell = 'u/r:d';
  const run = { observer: 'o', cell, weak: true };
  const notifier = transaction(1, { weak: [cell] });
  const records = [record('u/q:x', [1, 3])];

  test('are acquitted if a run has committed since, although it wrote nothing', () => {
    assert.deepEqual(claimsOf(records, [notifier, transaction(4, { run })]), []);
  });

  test('may run observers twice', () => {
    const runs = [transaction(4, { run }), transaction(5, { run })];
    assert.deepEqual(claimsOf(records, [notifier, ...runs]), []);
  });

  test('are acquitted if the run that committed was reported as unknown', () => {
    const written = transaction(4, { run, outcome: 'unknown' });
    assert.deepEqual(claimsOf([...records, record('u/q:y', [4, 5])], [notifier, written]), []);
  });

  for (const [what, runs] of Object.entries({
    'no run has committed': [],
    'the run began before their commit': [transaction(2, { run })],
    'the run has failed': [transaction(4, { run, outcome: 'failed' })],
    'the run wrote, and nothing of it is there': [
      transaction(4, { run, writes: [{ cell: 'u/q:y', value: 'y' }] }),
    ],
    'the run was another observer’s': [transaction(4, { run: { ...run, observer: 'p' } })],
    'the run was for another cell': [transaction(4, { run: { ...run, cell: 'u/q:d' } })],
  })) {
    test(`are lost if ${what}`, () => {
      assert.deepEqual(claimsOf(records, [notifier, ...runs]), [
        'notifications: lost weak notification',
      ]);
    });
  }

  test('of a transaction that did not commit need no run', () => {
    assert.deepEqual(claimsOf([], [notifier]), []);
  });
});

describe('ideal histories', () => {
  const size = { transactions: 60, rows: 4, clients: 5, readsMax: 3, writesMax: 3 };
  const histories = Array.from({ length: 50 }, (_, i) => idealHistory(createRandom(i), size));

  test('are acquitted', () => {
    for (const history of histories) {
      assert.deepEqual(judgeNotifications(history, { observers: IDEAL_OBSERVERS, left: [] }), []);
    }
  });

  test('are convicted if the last acknowledgment of a cell is taken out, or one is repeated', () => {
    for (const { transactions, records, rollbacks } of histories) {
      const i = records.findLastIndex(({ cell }) => cell.includes(':ack_'));
      const last = records[i];
      assert.ok(last !== undefined);
      const again = { ...last, startTimestamp: 1e6, commitTimestamp: 1e6 + 1 };
      for (const [claim, spoilt] of [
        ['notifications: lost notification', records.toSpliced(i, 1)],
        ['notifications: repeated run', [...records, again]],
      ] as const) {
        const history = { transactions, records: spoilt, rollbacks };
        const found = judgeNotifications(history, { observers: IDEAL_OBSERVERS, left: [] });
        assert.deepEqual(
          found.map((one) => one.claim),
          [claim],
        );
      }
    }
  });
});
