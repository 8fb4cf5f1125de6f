/** What the judges of cuts convict, and what they do not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '#engine';
import type { RecordedTransaction } from '../invariants/index.ts';
import { type CutHistory, judgeCuts, judgeTimestamps, SAYS_SO_MS } from './cut-judges.ts';

const CUT = {
  what: 'a cut',
  fromMs: 1_000,
  untilMs: 1_000 + SAYS_SO_MS + 500,
  stalled: ['1'],
  hit: undefined,
};
const refusal = { process: '1.2', at: 3_000, code: 'STORE_UNAVAILABLE' } as const;

function transaction(
  changed: Partial<RecordedTransaction> & Pick<RecordedTransaction, 'beganAt' | 'startTimestamp'>,
): RecordedTransaction {
  const nothing = { reads: [], scans: [], writes: [], locks: [] };
  return { workload: 'bank', process: '1.2', outcome: 'committed', ...nothing, ...changed };
}

function claimsOf(changed: Partial<CutHistory>): readonly string[] {
  const history = { cuts: [CUT], transactions: [], witnessed: [], refusals: [refusal], ...changed };
  return judgeCuts(history).map(({ claim }) => claim);
}

test('an oracle that hands out of an old range after another one has answered is convicted', () => {
  const witnessed = [
    { askedAt: 1, at: 2, timestamp: 100 },
    { askedAt: 3, at: 4, timestamp: 20_000_000 },
    { askedAt: 5, at: 6, timestamp: 101 },
  ];
  const [violation, ...others] = judgeTimestamps({ transactions: [], witnessed });
  assert.equal(violation?.claim, 'oracle: timestamps grow in the order of time');
  assert.match(violation?.message ?? '', /^101 was asked for 1\.0 ms after 20000000 /);
  assert.deepEqual(others, []);
});

test('answers to questions that overlap may come in either order', () => {
  const witnessed = [
    { askedAt: 1, at: 9, timestamp: 100 },
    { askedAt: 3, at: 4, timestamp: 20_000_000 },
    { askedAt: 10, at: 11, timestamp: 20_000_001 },
  ];
  assert.deepEqual(judgeTimestamps({ transactions: [], witnessed }), []);
});

test('a transaction that begins after a witness was answered has a larger timestamp', () => {
  const witnessed = [{ askedAt: 1, at: 2, timestamp: 100 }];
  const transactions = [transaction({ beganAt: 3, sentAt: 4, endedAt: 5, startTimestamp: 99 })];
  assert.equal(judgeTimestamps({ transactions, witnessed }).length, 1);
});

test('a client that commits while it is cut off is convicted', () => {
  const inside = { beganAt: 1_500, sentAt: 1_600, endedAt: 1_700, startTimestamp: 5 };
  assert.deepEqual(claimsOf({ transactions: [transaction(inside)] }), [
    'cuts: what is cut off makes no progress',
  ]);
  assert.deepEqual(claimsOf({ transactions: [transaction({ ...inside, process: '2.1' })] }), []);
  assert.deepEqual(claimsOf({ transactions: [transaction({ ...inside, outcome: 'failed' })] }), []);
  const healed = { ...inside, endedAt: CUT.untilMs + 1 };
  assert.deepEqual(claimsOf({ transactions: [transaction(healed)] }), []);
});

test('a client that hangs in silence while it is cut off is convicted', () => {
  const silence = ['cuts: what is cut off says so'];
  assert.deepEqual(claimsOf({ refusals: [] }), silence);
  const ended = { beganAt: 900, sentAt: 950, endedAt: 5_000, startTimestamp: 5 };
  const failing = (code: ErrorCode | undefined, times = ended): readonly string[] =>
    claimsOf({
      refusals: [],
      transactions: [transaction({ ...times, outcome: 'failed', code })],
    });
  assert.deepEqual(failing('STORE_UNAVAILABLE'), []);
  assert.deepEqual(failing('STORE_UNAVAILABLE', { ...ended, endedAt: 990 }), silence);
  const short = { ...CUT, untilMs: CUT.fromMs + SAYS_SO_MS - 1 };
  assert.deepEqual(claimsOf({ refusals: [], cuts: [short] }), []);
});

test('a conflict does not say that its client was cut off, nor does a commit without an end', () => {
  const silence = ['cuts: what is cut off says so'];
  const sent = { beganAt: 900, sentAt: 2_000, startTimestamp: 5 };
  for (const code of ['WRITE_CONFLICT', 'ROLLED_BACK', 'LOCKED', undefined] as const) {
    const transactions = [transaction({ ...sent, outcome: 'failed', endedAt: 5_000, code })];
    assert.deepEqual(claimsOf({ refusals: [], transactions }), silence);
  }
  const unknown = { ...sent, outcome: 'unknown' } as const;
  assert.deepEqual(claimsOf({ refusals: [], transactions: [transaction(unknown)] }), silence);
  const told = transaction({ ...unknown, code: 'COMMIT_UNKNOWN' });
  assert.deepEqual(claimsOf({ refusals: [], transactions: [told] }), []);
  const conflict = { ...refusal, code: 'WRITE_CONFLICT' } as const;
  assert.deepEqual(claimsOf({ refusals: [conflict] }), silence);
});

test('a client that was killed or stopped while it was cut off need not say so', () => {
  assert.deepEqual(claimsOf({ refusals: [], cuts: [{ ...CUT, hit: '1' }] }), []);
  assert.equal(claimsOf({ refusals: [], cuts: [{ ...CUT, hit: '2' }] }).length, 1);
});
