/** Requests that wait to share an RPC leave their queue in order, however many there are. */
import assert from 'node:assert/strict';
import { cpuUsage } from 'node:process';
import { test } from 'node:test';
import { Queue } from './scheduler.ts';

/** Large enough that V8 moves the whole array when its first element is removed. */
const MANY = 200_000;

function add(queue: Queue<number>, request: number, { sinceMs = 0, goesFirst = false } = {}): void {
  queue.add({ request, rows: 1, sinceMs, resolve: () => {}, reject: () => {} }, goesFirst);
}

function taken(queue: Queue<number>, rowsMax: number): readonly number[] {
  return queue.take(rowsMax).map(({ request }) => request);
}

test('many requests leave in the order in which they came, and soon', () => {
  const queue = new Queue<number>();
  for (let i = 0; i < MANY; i++) add(queue, i);
  const before = cpuUsage();
  const all: number[] = [];
  while (queue.length > 0) all.push(...taken(queue, 256));
  assert.ok(cpuUsage(before).user < 2e6, 'two seconds of the processor');
  assert.deepEqual(
    all,
    Array.from({ length: MANY }, (_, i) => i),
  );
  assert.equal(queue.rows, 0);
});

test('a normal request that has waited longest goes first, then those with priority', () => {
  const queue = new Queue<number>();
  for (const request of [1, 2, 3]) add(queue, request);
  for (const request of [4, 5]) add(queue, request, { sinceMs: 1, goesFirst: true });
  assert.deepEqual(taken(queue, 2), [1, 4]);
  assert.deepEqual([queue.length, queue.rows], [3, 3]);
  assert.deepEqual(taken(queue, 9), [2, 5, 3]);
  assert.deepEqual(taken(queue, 9), []);
});
