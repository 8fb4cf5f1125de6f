/** Awkward names: no two cells share one, but some would if a separator joined row and column. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awkwardNames, type RunNames, PLAIN } from './names.ts';

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed + 1);
const ROWS = ['a', 'b', 'c', 'd', 'e', 'l', 'm'];
const COLUMNS = ['c', 'd', 'seen', 'also', 'copy', 'count', 'done', 'list'];
const CELLS = ['s', 't', 'u'].flatMap((table) =>
  ROWS.flatMap((row) => COLUMNS.map((column) => `${table}/${row}:${column}`)),
);

test('plain names are the names of the plan', () => {
  for (const cell of CELLS) assert.equal(PLAIN.historic(cell), cell);
});

test('awkward names are well-formed, and no two cells share one', () => {
  for (const seed of SEEDS) {
    const names = awkwardNames(seed);
    assert.equal(new Set(CELLS.map((cell) => names.historic(cell))).size, CELLS.length, `${seed}`);
    for (const cell of CELLS) assert.ok(names.historic(cell).isWellFormed());
  }
});

test('joined with a separator, some cells and some acknowledgments have equal names', () => {
  const collides = (names: RunNames, separator: string): boolean => {
    const joined = ['t/a:c', 't/b:d'].map((cell) => {
      const { row, column } = names.address(cell);
      return `${row}${separator}${column}`;
    });
    return joined[0] === joined[1];
  };
  for (const separator of ['\0', ':', '/']) {
    assert.ok(SEEDS.some((seed) => collides(awkwardNames(seed), separator)));
  }
  assert.ok(
    SEEDS.some((seed) => {
      const names = awkwardNames(seed);
      const one = `${names.observer('copier')}:${names.column('seen')}`;
      return one === `${names.observer('watcher')}:${names.column('also')}`;
    }),
  );
});
