/** The judge of changes: what convicts a reader, and what does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FollowedChange, type FollowedSection, judgeChanges } from './changes.ts';
import type { HistoricRecord, HistoricTransaction, Violation } from './history.ts';

function record(cell: string, commitTimestamp: number): HistoricRecord {
  return { cell, startTimestamp: commitTimestamp - 1, commitTimestamp, operation: 'put' };
}

/** What was committed. Some of it is no change that a reader is told of; some is there twice. */
const RECORDS: readonly HistoricRecord[] = [
  record('t/b:v', 20),
  record('t/a:v', 20),
  record('t/a:v', 31),
  record('t/a:v', 31),
  record('other/a:v', 32),
  { ...record('t/c:v', 33), operation: 'touch' },
  record('t/a:ack_sum', 34),
  record('t/c:v', 44),
];

function change(cell: string, commitTimestamp: number, after: number): FollowedChange {
  return { cell, startTimestamp: commitTimestamp - 1, commitTimestamp, value: '1', after };
}

const [A20, B20, A31, C44] = [
  change('t/a:v', 20, 10),
  change('t/b:v', 20, 10),
  change('t/a:v', 31, 10),
  change('t/c:v', 44, 40),
];

const WRITER: HistoricTransaction = {
  process: '1.1',
  startTimestamp: 19,
  outcome: 'committed',
  beganAt: 1,
  reads: [],
  writes: ['t/a:v', 't/b:v'].map((cell) => ({ cell, value: '1' })),
  locks: [],
};

const LATER: HistoricTransaction = {
  ...WRITER,
  startTimestamp: 30,
  writes: [{ cell: 't/a:v', value: '1' }],
};

function judged(
  changes: readonly FollowedChange[],
  section: Partial<FollowedSection> = {},
): readonly Violation[] {
  const whole = { stored: 't', from: 10, resolved: 50, changes, ...section };
  return judgeChanges([whole], { records: RECORDS, transactions: [WRITER, LATER] });
}

test('each change once and in order is no violation, also where a reader was cut off', () => {
  assert.deepEqual(judged([A20, B20, A31, C44]), []);
  assert.deepEqual(judged([A20], { resolved: 10 }), [], 'within a transaction');
  assert.deepEqual(judged([A31, C44], { from: 20 }), []);
  assert.deepEqual(judged([A20, B20, A31], { resolved: 40 }), []);
  assert.deepEqual(judged([], { from: 44 }), [], 'nothing has changed since');
});

for (const [name, changes, message] of [
  ['missing', [A20, A31, C44], 'expected t/b:v@20, reported t/a:v@31'],
  ['missing at the end', [A20, B20, A31], 'expected t/c:v@44, reported no more'],
  ['reported twice', [A20, A20, B20, A31, C44], 'expected t/b:v@20, reported t/a:v@20'],
  ['out of order', [B20, A20, A31, C44], 'expected t/a:v@20, reported t/b:v@20'],
  [
    'never committed',
    [A20, B20, change('t/x:v', 25, 10), A31, C44],
    'expected t/a:v@31, reported t/x:v@25',
  ],
] as const) {
  test(`a change that is ${name} is a violation`, () => {
    assert.deepEqual(judged(changes), [
      {
        claim: 'changes: not each once, in order',
        message: `the section of t from 10 to 50: ${message}`,
      },
    ]);
  });
}

test('a change that is added when its timestamp was resolved is a violation', () => {
  assert.deepEqual(judged([A20, B20, change('t/a:v', 31, 40), C44]), [
    { claim: 'changes: added late', message: 't/a:v@31 was added when 40 was resolved' },
  ]);
});

test('a value that was not written is a violation', () => {
  assert.deepEqual(judged([A20, { ...B20, value: '2' }, A31, C44]), [
    { claim: 'changes: wrong value', message: 't/b:v@20 is reported as 2, which was not written' },
  ]);
});

test('a value before that is not the last one is a violation', () => {
  const [before, wrong] = [
    { ...A20, before: {} },
    { ...A31, before: { value: '2' } },
  ];
  assert.deepEqual(judged([before, B20, { ...A31, before: { value: '1' } }, C44]), []);
  assert.deepEqual(judged([before, B20, wrong, C44]), [
    { claim: 'changes: wrong value before', message: 't/a:v@31 is said to have replaced 2, not 1' },
  ]);
  assert.deepEqual(judged([{ ...A20, before: { value: '1' } }, B20, A31, C44]), [
    {
      claim: 'changes: wrong value before',
      message: 't/a:v@20 is said to have replaced 1, not undefined',
    },
  ]);
});
