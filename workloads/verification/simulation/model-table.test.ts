/** The simulator's fast table compared with the obvious one: random operations, equal answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '../../../engine/base/index.ts';
import type { CellFilter, Mutation } from '../../../engine/bigtable/index.ts';
import { MemoryTable } from '../../../engine/testing/memory-table.ts';
import { ModelTable } from './model-table.ts';

const FAMILIES = ['lock', 'write'];
const ROWS = ['a', 'b', '\u{ffff}', '\u{10000}'];
const QUALIFIERS = ['a:c', 'b:c', 'd'];

for (let seed = 1; seed <= 20; seed++) {
  test(`both tables give equal answers in run ${seed}`, () => {
    const random = createRandom(seed);
    const tombstones = seed % 2 === 0;
    const simple = new MemoryTable({ families: FAMILIES }, { tombstones });
    const fast = new ModelTable([], undefined, tombstones);
    for (let i = 0; i < 300; i++) {
      const row = random.pick(ROWS);
      const filters = some(random, () => randomFilter(random));
      const conditional = {
        row,
        table: 't',
        anyOf: filters,
        ifFound: some(random, () => randomMutation(random, tombstones)),
        ifNotFound: some(random, () => randomMutation(random, tombstones)),
      };
      assert.equal(fast.checkAndMutateRow(conditional), simple.checkAndMutateRow(conditional));
      assert.deepEqual(plain(fast.readRow(row, filters)), plain(simple.readRow(row, filters)));
      const range = { start: random.pick(ROWS), end: random.pick(ROWS), limit: 2 };
      assert.deepEqual(
        fast.readRange(range, filters).map(plain),
        simple.readRange(range, filters).map(plain),
      );
    }
  });
}

function some<T>(random: Random, make: () => T): readonly T[] {
  return Array.from({ length: random.integer(0, 3) }, make);
}

function randomFilter(random: Random): CellFilter {
  const from = random.integer(0, 8);
  const qualifier = random.pick([...QUALIFIERS, undefined, undefined]);
  return {
    family: random.pick(FAMILIES),
    qualifier,
    suffix: qualifier === undefined ? random.pick([undefined, '', ':c', 'b:c']) : undefined,
    from: random.pick([undefined, from]),
    to: random.pick([undefined, from + random.integer(0, 4)]),
    versions: random.pick([undefined, 1, 2]),
  };
}

function randomMutation(random: Random, tombstones: boolean): Mutation {
  const at = { family: random.pick(FAMILIES), qualifier: random.pick(QUALIFIERS) };
  const from = random.integer(0, 8);
  if (random.fraction() < 0.6) {
    const value = Buffer.from(String(random.integer(0, 99)));
    return { kind: 'set', ...at, timestamp: from, value };
  }
  if (tombstones) return { kind: 'erase', ...at, from: random.pick([0, from]), to: from };
  return { kind: 'erase', ...at, from, to: from + random.integer(0, 3) };
}

function plain(row: ReturnType<ModelTable['readRow']>): unknown {
  return (
    row && {
      ...row,
      cells: row.cells.map((cell) => ({ ...cell, value: Buffer.from(cell.value).toString() })),
    }
  );
}
