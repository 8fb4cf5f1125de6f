/**
 * The claims of counting pairs: what a pair is, that the fast count equals the obvious one, and
 * when the goal of a round is reached.
 */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createRandom, type Random } from '#engine';
import { temporaryFolder } from '#engine/testing';
import type { RecordedTransaction } from '../invariants/index.ts';
import { countPairs, Goal, PairCounter, type Writer, writerOf } from './goal.ts';
import { type HistoryFile, openHistoryFile } from './history-file.ts';

let timestamp = 0;

function transaction(parts: Partial<RecordedTransaction>): RecordedTransaction {
  return {
    workload: 'bank',
    process: '1.1',
    startTimestamp: ++timestamp,
    outcome: 'unknown',
    beganAt: 0,
    reads: [],
    writes: [],
    locks: [],
    ...parts,
  };
}

function writing(cells: readonly string[], beganAt: number, endedAt: number): RecordedTransaction {
  const writes = cells.map((cell) => ({ cell, value: '1' }));
  return transaction({ beganAt, sentAt: endedAt, endedAt, writes, outcome: 'committed' });
}

describe('a pair of overlapping writers', () => {
  test('counts once, however many cells the two share', () => {
    const pair = [writing(['a', 'b'], 1, 4), writing(['a', 'b', 'c'], 2, 3)];
    assert.equal(countPairs(pair), 1);
  });

  test('is not counted if one ended before the other began, or if they wrote different cells', () => {
    assert.equal(countPairs([writing(['a'], 1, 2), writing(['a'], 2, 3)]), 0);
    assert.equal(countPairs([writing(['a'], 1, 4), writing(['b'], 2, 3)]), 0);
  });

  test('counts whether they committed or not, except if one failed before it asked for its commit', () => {
    const one = writing(['a'], 1, 4);
    const lost = { ...writing(['a'], 2, 3), outcome: 'failed' as const };
    assert.equal(countPairs([one, lost]), 1);
    assert.equal(countPairs([one, { ...lost, sentAt: undefined }]), 0);
  });

  test('may include one that only locked, or be two runs of one observer for one cell', () => {
    const locked = transaction({ beganAt: 2, sentAt: 3, locks: ['a'] });
    assert.equal(countPairs([writing(['a'], 1, 4), locked]), 1);
    const run = { observer: 'o', cell: 'a', weak: false };
    const times = { beganAt: 0, ranAt: 2, sentAt: 3, run };
    assert.equal(countPairs([transaction(times), transaction({ ...times, sentAt: 4 })]), 1);
  });

  test('counts a run from when its body began, not from when its process did', () => {
    const run = { observer: 'o', cell: 'x', weak: true };
    const writes = [{ cell: 'a', value: '1' }];
    const late = transaction({ beganAt: 0, ranAt: 5, sentAt: 6, run, writes });
    assert.equal(countPairs([writing(['a'], 1, 4), late]), 0);
  });
});

test('random histories have the pairs that comparing all with all finds, in any order', () => {
  const random = createRandom(7);
  for (let i = 0; i < 30; i++) {
    const history = Array.from({ length: 60 }, () => drawTransaction(random));
    const expected = compareAll(history.map(writerOf).filter((one) => one !== undefined));
    assert.equal(countPairs(history), expected);
    const unordered = new PairCounter(1_000);
    for (const one of history) {
      const writer = writerOf(one);
      if (writer !== undefined) unordered.add(writer);
    }
    assert.equal(unordered.pairs, expected);
  }
});

test('a goal is reached when the files hold enough pairs and runs, however the lines arrive', async () => {
  const folder = temporaryFolder();
  using file = openHistoryFile(folder, '1.1');
  const goal = new Goal({ pairs: 1, runs: 1 }, 3_600, folder);
  const [one, other] = [writing(['ä'], 1, 4), writing(['ä'], 2, 3)];
  for (const writer of [one, other]) {
    assert.equal(goal.isReached(), false);
    recordWriters(file, [writer]);
  }
  assert.equal(goal.isReached(), false);
  assert.equal(goal.pairs, 1);
  const run = transaction({ run: { observer: 'o', cell: 'x', weak: false }, ranAt: 1, sentAt: 2 });
  file.began(run);
  const line = JSON.stringify({
    kind: 'ended',
    ending: { startTimestamp: run.startTimestamp, outcome: 'committed' },
  });
  appendFileSync(path.join(folder, '1.1.jsonl'), line.slice(0, 30));
  assert.equal(goal.isReached(), false, 'half a line does not count');
  appendFileSync(path.join(folder, '1.1.jsonl'), `${line.slice(30)}\n`);
  assert.equal(goal.isReached(), true);
});

test('a goal of pairs and runs is not reached by runs only', () => {
  const folder = temporaryFolder();
  using file = openHistoryFile(folder, '1.1');
  const goal = new Goal({ pairs: 1, runs: 1 }, 3_600, folder);
  const run = transaction({ run: { observer: 'o', cell: 'x', weak: false }, ranAt: 1, sentAt: 2 });
  file.began(run);
  file.ended({ startTimestamp: run.startTimestamp, outcome: 'committed', endedAt: 3 });
  assert.equal(goal.isReached(), false);
  recordWriters(file, [writing(['a'], 1, 4), writing(['a'], 2, 3)]);
  assert.equal(goal.isReached(), true);
});

test('a line that is read in two parts names its cells, though the first part ends within a character', () => {
  const folder = temporaryFolder();
  using file = openHistoryFile(folder, '1.1');
  const goal = new Goal({ pairs: 1, runs: 0 }, 3_600, folder);
  recordWriters(file, [writing(['ä'], 1, 4)]);
  const { startTimestamp, endedAt, ...began } = writing(['ä'], 2, 3);
  const line = Buffer.from(
    `${JSON.stringify({ kind: 'began', transaction: { ...began, startTimestamp } })}\n`,
  );
  const within = line.indexOf('ä') + 1;
  appendFileSync(path.join(folder, '1.1.jsonl'), line.subarray(0, within));
  assert.equal(goal.isReached(), false);
  appendFileSync(path.join(folder, '1.1.jsonl'), line.subarray(within));
  file.ended({ startTimestamp, outcome: 'committed', endedAt });
  assert.equal(goal.isReached(), true);
});

test('a goal is reached when its seconds are over', async () => {
  const folder = temporaryFolder();
  assert.equal(new Goal({ pairs: 1, runs: 1 }, 0, folder).isReached(), true);
});

function recordWriters(file: HistoryFile, writers: readonly RecordedTransaction[]): void {
  for (const { startTimestamp, endedAt, ...began } of writers) {
    file.began({ ...began, startTimestamp, endedAt: undefined, outcome: 'unknown' });
    file.ended({ startTimestamp, outcome: 'committed', endedAt });
  }
}

function drawTransaction(random: Random): RecordedTransaction {
  const cells = ['a', 'b', 'c', 'd'].filter(() => random.fraction() < 0.4);
  const beganAt = random.integer(0, 100);
  return writing(cells, beganAt, beganAt + random.integer(1, 30));
}

function compareAll(writers: readonly Writer[]): number {
  const met = (a: Writer, b: Writer): boolean =>
    a.cells.some((cell) => b.cells.includes(cell)) &&
    Math.max(a.fromMs, b.fromMs) < Math.min(a.untilMs, b.untilMs);
  return writers.flatMap((a, i) => writers.slice(i + 1).filter((b) => met(a, b))).length;
}
