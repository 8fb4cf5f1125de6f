/**
 * The judge of snapshot isolation compared with one too simple to be wrong, on thousands of random
 * histories in which one thing was spoilt.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '../../../engine/base/index.ts';
import { type HistoricTransaction, type History, judgeSnapshotIsolation } from './index.ts';
import { type Draft, idealHistory } from './testing/ideal-history.ts';

const SIZE = { transactions: 30, rows: 4, clients: 4, readsMax: 3, writesMax: 3 };

test('the judge of snapshot isolation acquits ideal histories', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const history = idealHistory(createRandom(seed), SIZE);
    assert.deepEqual(judgeSnapshotIsolation(history), [], `seed ${seed}`);
    assert.equal(isGuilty(history), false, `seed ${seed}`);
  }
});

test('the judge of snapshot isolation agrees with the simple judge on spoilt histories', () => {
  const count = { guilty: 0, innocent: 0 };
  for (let seed = 1; seed <= 3000; seed++) {
    const random = createRandom(seed);
    const history = structuredClone({ ...idealHistory(random.fork('history'), SIZE) }) as Draft;
    random.pick(CORRUPTIONS)(history, random);
    const guilty = isGuilty(history);
    const violations = judgeSnapshotIsolation(history);
    assert.equal(violations.length > 0, guilty, `seed ${seed}: ${JSON.stringify(violations)}`);
    count[guilty ? 'guilty' : 'innocent']++;
  }
  assert.ok(count.guilty > 1000, `${count.guilty} of 3000 are guilty`);
  assert.ok(count.innocent > 500, `${count.innocent} of 3000 are innocent`);
});

type Corruption = (history: Draft, random: Random) => unknown;

const CORRUPTIONS: readonly Corruption[] = [
  (history, random) => {
    const values = history.transactions.flatMap(({ writes }) => writes.map(({ value }) => value));
    const { reads } = random.pick(history.transactions);
    if (reads.length > 0) random.pick(reads).value = random.pick(values);
  },
  ({ records }, random) => (random.pick(records).commitTimestamp += random.integer(-9, 9)),
  ({ records }, random) => (random.pick(records).startTimestamp += random.integer(-9, 9)),
  ({ records }, random) => records.splice(random.integer(0, records.length - 1), 1),
  ({ records }, random) => records.push({ ...random.pick(records) }),
  ({ records }, random) => (random.pick(records).cell = random.pick(records).cell),
  ({ records }, random) =>
    (random.pick(records).operation = random.pick(['put', 'delete', 'touch'])),
  ({ rollbacks, records }, random) => rollbacks.push(random.pick(records)),
  ({ rollbacks }, random) => rollbacks.splice(random.integer(0, rollbacks.length), 1),
  ({ transactions }, random) =>
    (random.pick(transactions).outcome = random.pick(['committed', 'failed', 'unknown'])),
  ({ transactions }, random) =>
    (random.pick(transactions).commitTimestamp = random.pick(transactions).commitTimestamp),
  ({ transactions }, random) => (random.pick(transactions).startTimestamp += random.integer(-3, 3)),
  ({ transactions }, random) => (random.pick(transactions).beganAt += random.integer(-9, 9)),
  ({ transactions }, random) =>
    (random.pick(transactions).endedAt = random.pick(transactions).endedAt),
  ({ transactions }, random) => transactions.splice(random.integer(0, transactions.length - 1), 1),
  ({ transactions }, random) => random.pick(transactions).writes.pop(),
  ({ transactions }, random) => {
    const { startTimestamp, reads } = random.pick(transactions);
    const at = startTimestamp + random.integer(-9, 9);
    const past = { process: 'past', reads, startTimestamp: at, beganAt: 1e6, past: true };
    transactions.push({ ...past, outcome: 'committed', writes: [], locks: [] });
  },
  ({ transactions }, random) => random.pick(transactions).locks.push(`t/${random.integer(1, 4)}:c`),
  (history, random) => {
    // Moves the commit of a transaction, later or earlier, in all its cells: writers overlap, and
    // reads become wrong.
    const { startTimestamp } = random.pick(history.records);
    const shift = random.integer(-9, 9) + 0.5;
    const one = history.transactions.find((each) => each.startTimestamp === startTimestamp);
    if (one?.commitTimestamp !== undefined) one.commitTimestamp += shift;
    for (const each of history.records) {
      if (each.startTimestamp === startTimestamp) each.commitTimestamp += shift;
    }
  },
];

/** The definition of snapshot isolation, word by word, in quadratic time. */
function isGuilty({ transactions: all, records, rollbacks }: History): boolean {
  const transactions = all.filter(({ past }) => past !== true);
  const recordsOf = (start: number) => records.filter((one) => one.startTimestamp === start);
  const cellsOf = ({ writes, locks, run }: HistoricTransaction): Map<string, string> => {
    const cells = new Map<string, string>(locks.map((cell) => [cell, 'touch']));
    for (const { cell, value } of writes) cells.set(cell, value === undefined ? 'delete' : 'put');
    if (run?.weak !== false) return cells;
    return cells.set(run.cell.replace(':', `:ack_${run.observer}:`), 'put');
  };
  const timestamps = transactions.some(
    (one, i) =>
      transactions.some((other, j) => i !== j && one.startTimestamp === other.startTimestamp) ||
      records.some(({ commitTimestamp }) => commitTimestamp === one.startTimestamp),
  );
  const commitTimestamps = records.some(
    (one) =>
      one.commitTimestamp <= one.startTimestamp ||
      !transactions.some(({ startTimestamp }) => startTimestamp === one.startTimestamp) ||
      records.some(
        (other) =>
          other.commitTimestamp === one.commitTimestamp &&
          other.startTimestamp !== one.startTimestamp,
      ),
  );
  const torn = transactions.some((one) => {
    const found = recordsOf(one.startTimestamp);
    const [first] = found;
    if (first === undefined) return false;
    const cells = cellsOf(one);
    return (
      found.some(({ commitTimestamp }) => commitTimestamp !== first.commitTimestamp) ||
      found.some(({ cell, operation }) => cells.get(cell) !== operation) ||
      [...cells.keys()].some((cell) => !found.some((record) => record.cell === cell)) ||
      rollbacks.some(({ startTimestamp }) => startTimestamp === one.startTimestamp)
    );
  });
  const misreported = transactions.some((one) => {
    const { outcome, writes, locks, commitTimestamp } = one;
    const found = recordsOf(one.startTimestamp)[0]?.commitTimestamp;
    if (outcome === 'failed') return found !== undefined;
    if (outcome === 'unknown') return false;
    if (commitTimestamp !== undefined) return commitTimestamp !== found;
    return found === undefined && writes.length + locks.length > 0;
  });
  const overlap = records.some((one) =>
    records.some(
      (other) =>
        one.cell === other.cell &&
        (one.startTimestamp !== other.startTimestamp ||
          one.commitTimestamp !== other.commitTimestamp) &&
        one.startTimestamp <= other.commitTimestamp &&
        other.startTimestamp <= one.commitTimestamp,
    ),
  );
  const misread = all.some(({ startTimestamp, reads }) =>
    reads.some(({ cell, value }) => {
      const visible = records.filter(
        (one) =>
          one.cell === cell && one.operation !== 'touch' && one.commitTimestamp <= startTimestamp,
      );
      const newest = Math.max(...visible.map(({ commitTimestamp }) => commitTimestamp));
      const version = visible.find(({ commitTimestamp }) => commitTimestamp === newest);
      const writer = transactions.find((one) => one.startTimestamp === version?.startTimestamp);
      return writer?.writes.find((write) => write.cell === cell)?.value !== value;
    }),
  );
  const heardOf = ({ outcome, startTimestamp, commitTimestamp }: HistoricTransaction): number[] => {
    if (outcome !== 'committed') return [startTimestamp];
    const found = recordsOf(startTimestamp).map((one) => one.commitTimestamp);
    return [startTimestamp, commitTimestamp ?? startTimestamp, ...found];
  };
  const outOfTime = transactions.some((one) =>
    transactions.some(
      (other) =>
        other.endedAt !== undefined &&
        other.endedAt < one.beganAt &&
        heardOf(other).some((timestamp) => timestamp >= one.startTimestamp),
    ),
  );
  return timestamps || commitTimestamps || torn || misreported || overlap || misread || outOfTime;
}
