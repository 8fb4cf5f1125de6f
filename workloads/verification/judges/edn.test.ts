/** The claims of the EDN writer, checked by an independent reader. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEDNString } from 'edn-data';
import { type ListTransaction, toEdn } from './index.ts';

type EdnOperation = Record<string, unknown>;

function linesOf(transactions: readonly ListTransaction[]): readonly EdnOperation[] {
  const lines = toEdn(transactions).split('\n');
  assert.equal(lines.pop(), '');
  const options = { mapAs: 'object', keywordAs: 'string' } as const;
  return lines.map((line) => parseEDNString(line, options) as EdnOperation);
}

const APPEND = { kind: 'append', key: 'x', elements: [3, 4] } as const;
const READ = { kind: 'read', key: 't/1:"list"\n', elements: [1, 'two'] } as const;

function transaction(
  beganAt: number,
  endedAt: number | undefined,
  outcome: ListTransaction['outcome'] = 'ok',
): ListTransaction {
  return { name: '', process: 'A', outcome, beganAt, endedAt, operations: [READ, APPEND] };
}

test('a line is a map as Elle wants it, to the letter', () => {
  const operations = [{ kind: 'read', key: 'x', elements: [1] }, APPEND] as const;
  assert.equal(
    toEdn([{ ...transaction(1.5, 2), operations }]),
    '{:index 0, :type :invoke, :process 0, :time 1500000, :f :txn, :value [[:r "x" nil] [:append "x" 3] [:append "x" 4]]}\n' +
      '{:index 1, :type :ok, :process 0, :time 2000000, :f :txn, :value [[:r "x" [1]] [:append "x" 3] [:append "x" 4]]}\n',
  );
});

test('keys and elements survive, strings and numbers, and so does an empty list', () => {
  const empty = { kind: 'read', key: 'y', elements: [] } as const;
  const [, ok] = linesOf([{ ...transaction(1, 2), operations: [READ, APPEND, empty] }]);
  const expected = [
    ['r', READ.key, [1, 'two']],
    ['append', 'x', 3],
    ['append', 'x', 4],
    ['r', 'y', []],
  ];
  assert.deepEqual(ok?.['value'], expected);
});

test('only committed transactions say what they read', () => {
  for (const outcome of ['ok', 'fail', 'info'] as const) {
    const [invoke, end] = linesOf([transaction(1, 2, outcome)]);
    const unknown = ['r', READ.key, null];
    assert.ok(invoke !== undefined);
    assert.deepEqual((invoke['value'] as unknown[])[0], unknown);
    assert.equal(end?.['type'], outcome);
    const known = outcome === 'ok' ? ['r', READ.key, [1, 'two']] : unknown;
    assert.deepEqual((end['value'] as unknown[])[0], known);
  }
});

test('operations are numbered in the order of time; at one moment, beginnings come before ends', () => {
  const lines = linesOf([transaction(5, 6), transaction(1, 5), transaction(2, 3)]);
  const order = lines.map(({ type, time }) => `${String(type)} ${Number(time) / 1e6}`);
  assert.deepEqual(order, ['invoke 1', 'invoke 2', 'ok 3', 'invoke 5', 'ok 5', 'ok 6']);
  assert.deepEqual(
    lines.map(({ index }) => index),
    [0, 1, 2, 3, 4, 5],
  );
});

test('a process does one thing at a time, and nothing after a lost answer', () => {
  const lines = linesOf([
    transaction(1, 4),
    transaction(2, 3),
    transaction(5, 5.5, 'info'),
    transaction(6, 7),
    transaction(8, 9, 'fail'),
    transaction(10, 11),
  ]);
  assert.equal(lines.length, 12);
  const busy = new Map<unknown, string>();
  for (const { process, type } of lines) {
    if (type === 'invoke') assert.ok(!busy.has(process), `process ${String(process)} is busy`);
    else assert.ok(busy.has(process), `process ${String(process)} does nothing`);
    if (type === 'invoke' || type === 'info') busy.set(process, type);
    else busy.delete(process);
  }
  assert.deepEqual([...busy.values()], ['info']);
  // No more than two transactions overlap at any time, the one with the lost answer included.
  assert.equal(new Set(lines.map(({ process }) => process)).size, 2);
  assert.equal(lines.at(-1)?.['type'], 'info'); // It may have committed last.
});
