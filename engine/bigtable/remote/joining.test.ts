/** Which conditional mutations of a row share a call, and what each is answered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../../base/index.ts';
import type { ConditionalRowMutation } from '../bigtable.ts';
import { answersByRow, type Sender } from './mutations.ts';

type Conditionals = readonly ConditionalRowMutation[];

/** As a second phase does it: if the lock is there, a record for it. */
function needing(column: string, row = 'r'): ConditionalRowMutation {
  const lock = { family: 'cells', qualifier: `${column}:lock`, from: 7, to: 7 };
  const record = { family: 'cells', qualifier: `${column}:write`, timestamp: 9 };
  const ifFound = [
    { kind: 'set', ...record, value: Buffer.alloc(20) },
    { kind: 'erase', ...lock },
  ] as const;
  return { table: 't', row, anyOf: [lock], ifFound };
}

const several = (count: number): Conditionals =>
  Array.from({ length: count }, (_, i) => needing(`c${i}`));

/** A row that has the cells of `columns`, and what was sent: the number of cells of each call. */
function rowWith(columns: readonly string[], more: Partial<Sender> = {}) {
  const cells = new Set(columns.map((column) => `${column}:lock`));
  const sent: number[] = [];
  const flight = { now: 0, most: 0 };
  const has = ({ anyOf: [cell] }: ConditionalRowMutation): boolean =>
    cells.has(cell?.qualifier ?? '');
  const call = async (some: Conditionals): Promise<boolean> => {
    sent.push(some.length);
    flight.most = Math.max(flight.most, ++flight.now);
    await Promise.resolve();
    flight.now--;
    const found = some.every(has);
    if (found) for (const one of some) cells.delete(one.anyOf[0]?.qualifier ?? '');
    return found;
  };
  const sender: Sender = {
    one: (one) => call([one]),
    all: call,
    present: async (some) => some.map(has),
    ...more,
  };
  return { sender, sent, flight };
}

const columnsOf = (count: number): readonly string[] => several(count).map((_, i) => `c${i}`);

test('the cells of a row are few calls, and only some are in flight at the same time', async () => {
  const { sender, sent, flight } = rowWith(columnsOf(1_000));
  const answers = await answersByRow(several(1_000), sender);
  assert.ok(answers.every((answer) => answer === true));
  assert.equal(
    sent.reduce((sum, cells) => sum + cells, 0),
    1_000,
  );
  assert.ok(sent.length <= 25, `${sent.length} calls`);
  assert.equal(flight.most, 4);
});

test('rows do not wait for one another', async () => {
  const { sender, sent, flight } = rowWith(['c']);
  const rows = Array.from({ length: 100 }, (_, i) => needing('c', `r${i}`));
  await answersByRow(rows, sender);
  assert.deepEqual([sent.length, flight.most], [100, 100]);
});

test('of a call that finds some cells gone, only those are answered with false', async () => {
  const { sender, sent } = rowWith(columnsOf(40).filter((_, i) => i % 3 !== 0));
  const answers = await answersByRow(several(40), sender);
  assert.deepEqual(
    answers,
    several(40).map((_, i) => i % 3 !== 0),
  );
  assert.deepEqual(sent, [40, 26]);
});

test('if a read finds every cell that the call has missed, each is asked for alone', async () => {
  const { sender, sent } = rowWith(['c0', 'c1'], {
    all: async () => false,
    present: async (some) => some.map(() => true),
  });
  assert.deepEqual(await answersByRow(several(3), sender), [true, true, false]);
  assert.deepEqual(sent, [1, 1, 1]);
});

test('a call without an answer leaves its cells in doubt, and is not sent again', async () => {
  const lost = new PercolatorError('STORE_IN_DOUBT', 'no answer in 10000 ms');
  const calls: number[] = [];
  const all = (some: Conditionals): Promise<boolean> => {
    calls.push(some.length);
    return Promise.reject(lost);
  };
  const answers = await answersByRow(several(1_000), rowWith([], { all }).sender);
  assert.equal(calls.length, 4, 'those that were in flight');
  const codes = answers.map((answer) => (answer as PercolatorError).code);
  assert.equal(codes.filter((code) => code === 'STORE_IN_DOUBT').length, 200);
  assert.equal(codes.filter((code) => code === 'STORE_UNAVAILABLE').length, 800);
  const { message } = answers.find((answer) => answer !== lost) as Error;
  assert.equal(message, 'not sent, after another call for the row: no answer in 10000 ms');
});

test('a call that is refused says nothing of each cell, so each is asked for alone', async () => {
  const refusal = new PercolatorError('INVALID_ARGUMENT', 'a bad one');
  const { sender, sent } = rowWith(['c0'], { all: () => Promise.reject(refusal) });
  assert.deepEqual(await answersByRow(several(2), sender), [true, false]);
  assert.deepEqual(sent, [1, 1]);
  const isFull = new PercolatorError('STORE_REFUSED', 'no');
  const refused = rowWith(['c0'], { all: () => Promise.reject(isFull) });
  assert.deepEqual(await answersByRow(several(2), refused.sender), [isFull, isFull]);
});

test('what does not need exactly one cell of its own is sent alone', async () => {
  const [one, two] = several(2);
  assert.ok(one !== undefined && two !== undefined);
  const [lock] = two.anyOf;
  const set = one.ifFound?.slice(0, 1) ?? [];
  const others: Conditionals = [
    { ...one, ifFound: undefined, ifNotFound: set },
    { ...one, ifNotFound: set },
    { ...one, anyOf: [...one.anyOf, ...two.anyOf] },
    { ...one, anyOf: [{ family: 'cells', suffix: ':lock', from: 7, to: 7 }] },
    { ...one, anyOf: [{ ...lock, family: 'cells', from: 6, to: 7 }] },
    one, // The same cell again.
    { ...needing('c3'), ifFound: two.ifFound }, // Erases what `two` needs.
  ];
  const { sender, sent } = rowWith([]);
  await answersByRow([one, two, ...others], sender);
  assert.deepEqual(
    sent.toSorted((a, b) => a - b),
    [1, 1, 1, 1, 1, 1, 1, 2],
  );
  assert.deepEqual(await answersByRow([], sender), []);
});
