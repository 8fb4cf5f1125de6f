/** The queue of a worker does what an obvious one does, and shares places and room (P82). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, entropySeed } from '../base/index.ts';
import { Queue, type WaitingCell } from './queue.ts';
import { columnKey } from './worker-options.ts';

const COLUMNS = ['a', 'b', 'c'];

test('the queue equals an obvious one, with any order of cells, runs and ends', () => {
  const seed = entropySeed();
  const random = createRandom(seed);
  for (let round = 0; round < 200; round++) {
    const options = { concurrency: random.integer(1, 5), room: random.integer(3, 30) };
    const queue = newQueue(options);
    const waiting: WaitingCell[] = [];
    const running: WaitingCell[] = [];
    const begun: string[] = [];
    const of = (list: readonly WaitingCell[], column: string): readonly WaitingCell[] =>
      list.filter(({ cell }) => cell.column === column);
    for (let step = 0; step < 100; step++) {
      const what = random.fraction();
      if (what < 0.5) {
        const one = named(`${step}`, random.pick(COLUMNS));
        const { column } = one.cell;
        const hasRoom = of(waiting, column).length < Math.ceil(options.room / COLUMNS.length);
        assert.equal(queue.add(one), hasRoom, `seed ${seed}`);
        if (hasRoom) waiting.push(one);
      } else if (what < 0.8) {
        const order = COLUMNS.filter((column) => of(waiting, column).length > 0).toSorted(
          (x, y) =>
            of(running, x).length - of(running, y).length ||
            begun.lastIndexOf(x) - begun.lastIndexOf(y),
        );
        const [column = ''] = order;
        const hasPlace = running.length < options.concurrency || of(running, column).length === 0;
        const [next] = hasPlace ? of(waiting, column) : [];
        assert.equal(queue.begin()?.name, next?.name, `seed ${seed}`);
        if (next === undefined) continue;
        waiting.splice(waiting.indexOf(next), 1);
        running.push(next);
        begun.push(column);
      } else if (running.length > 0) {
        const [one] = running.splice(random.integer(0, running.length - 1), 1);
        if (one !== undefined) queue.ended(one.cell);
      }
      assert.equal(queue.size, waiting.length, `seed ${seed}`);
      assert.deepEqual(
        queue.crowded(2),
        COLUMNS.filter((column) => of(waiting, column).length > 2).map((c) => columnKey('t', c)),
      );
    }
    assert.ok(
      waiting.every(({ name }) => queue.has(name)),
      `seed ${seed}`,
    );
    queue.clear();
    assert.equal(queue.size, 0);
    assert.equal(queue.begin(), undefined);
  }
});

test('a cell of a column that has no observer has no room', () => {
  const queue = newQueue({ concurrency: 1 });
  assert.equal(queue.add(named('1', 'unknown')), false);
  assert.equal(queue.size, 0);
});

function newQueue(options: { readonly concurrency: number; readonly room?: number }): Queue {
  return new Queue(
    COLUMNS.map((column) => columnKey('t', column)),
    options,
  );
}

function named(name: string, column: string): WaitingCell {
  return { name, cell: { table: 't', row: name, column, weak: false, timestamp: 1 } };
}
