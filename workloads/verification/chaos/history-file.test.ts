/** The claims of a history file: after `kill -9` all its lines count, except a torn last one. */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import type { RecordedTransaction } from '../invariants/index.ts';
import { openHistoryFile, readHistory } from './history-file.ts';

function began(startTimestamp: number): RecordedTransaction {
  return {
    workload: 'bank',
    process: '1.1',
    startTimestamp,
    outcome: 'unknown',
    beganAt: 1.5,
    reads: [{ cell: 'bank/a:balance', value: undefined }],
    writes: [{ cell: 'bank/a:balance', value: '1' }],
    locks: [],
  };
}

test('an ended transaction has its outcome, a begun one is unknown, and a torn last line does not count', () => {
  const folder = temporaryFolder();
  {
    using file = openHistoryFile(folder, '1.1');
    file.began(began(7));
    file.began(began(8));
    file.ended({ startTimestamp: 7, outcome: 'committed', commitTimestamp: 9, endedAt: 2.5 });
  }
  appendFileSync(
    path.join(folder, '1.1.jsonl'),
    '{"kind":"ended","ending":{"startTimestamp":8,"ou',
  );
  const { transactions } = readHistory(folder);
  assert.deepEqual(
    transactions.map(({ startTimestamp, outcome, commitTimestamp, endedAt }) => [
      startTimestamp,
      outcome,
      commitTimestamp,
      endedAt,
    ]),
    [
      [7, 'committed', 9, 2.5],
      [8, 'unknown', undefined, undefined],
    ],
  );
});

test('two transactions of one process with one start timestamp count as two', () => {
  const folder = temporaryFolder();
  using file = openHistoryFile(folder, '1.1');
  for (let i = 0; i < 2; i++) file.began(began(7));
  assert.equal(readHistory(folder).transactions.length, 2);
});

test('a line that is torn in the middle of a file is an error, not a gap', () => {
  const folder = temporaryFolder();
  appendFileSync(path.join(folder, '1.1.jsonl'), '{"kind":"be\n{"kind":"opened","pid":1}\n');
  assert.throws(() => readHistory(folder), SyntaxError);
});

test('all lives are read, with their violations, collected cells and last counts', () => {
  const folder = temporaryFolder();
  for (const life of ['1.1', '1.2', 'watcher.1']) {
    using file = openHistoryFile(folder, life);
    file.began({ ...began(Number(life.at(-1)) + life.length), process: life });
    file.violation({ claim: 'bank: while running', message: life });
    const rollbacks = [{ cell: `bank/${life}:balance`, startTimestamp: 1 }];
    file.collected({ records: [], rollbacks });
    for (const runs of [1, 2]) {
      const worker = { runs, clean: 0, failures: 0, parked: 0, meetings: 0 };
      file.counts({ engine: { committed: 10 * runs } as never, worker });
    }
  }
  const { transactions, violations, collected, counts } = readHistory(folder);
  assert.equal(transactions.length, 3);
  assert.deepEqual(
    collected.rollbacks.map(({ cell }) => cell),
    ['bank/1.1:balance', 'bank/1.2:balance', 'bank/watcher.1:balance'],
  );
  assert.deepEqual(
    violations.map(({ message }) => message),
    ['1.1', '1.2', 'watcher.1'],
  );
  assert.deepEqual(
    counts.map(({ engine, worker }) => [engine.committed, worker.runs]),
    [
      [20, 2],
      [20, 2],
      [20, 2],
    ],
  );
});
