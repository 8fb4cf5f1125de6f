/**
 * The fast table compared with the obvious one: random operations, equal answers. And what only the
 * fast table has: rows of the background, and values without the messages that they came in.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '#engine/base';
import type { Cell, CellFilter, Mutation } from '../../engine/bigtable/index.ts';
import { MemoryTable } from '../../engine/testing/memory-table.ts';
import { TableData } from './table-data.ts';

const FAMILIES = ['lock', 'write'];
const ROWS = ['a', 'b', '\u{ffff}', '\u{10000}', ...Array.from({ length: 90 }, (_, i) => `r${i}`)];
const QUALIFIERS = ['c', 'd', 'c:lock'];

for (let seed = 1; seed <= 10; seed++) {
  test(`both tables give equal answers in run ${seed}`, () => {
    const random = createRandom(seed);
    const simple = new MemoryTable({ families: FAMILIES });
    const fast = new TableData({ families: FAMILIES });
    for (let i = 0; i < 600; i++) {
      const row = random.pick(seed % 2 === 0 ? ROWS : ROWS.slice(0, 4));
      const filters = some(random, () => randomFilter(random));
      const conditional = {
        row,
        table: 't',
        anyOf: filters,
        ifFound: some(random, () => randomMutation(random)),
        ifNotFound: some(random, () => randomMutation(random)),
      };
      assert.equal(fast.checkAndMutateRow(conditional), simple.checkAndMutateRow(conditional));
      assert.deepEqual(plain(fast.readRow(row, filters)), plain(simple.readRow(row, filters)));
      if (random.fraction() < 0.7) continue;
      const range = { start: random.pick(ROWS), end: random.pick(ROWS), limit: 5 };
      assert.deepEqual(
        fast.readRange(range, filters).map(plain),
        simple.readRange(range, filters).map(plain),
      );
    }
  });
}

test('a row of the background takes no memory until it is written, and then keeps its cells', () => {
  const table = new TableData({ families: ['f'] });
  const cell = (timestamp: number, value: string): Cell => ({
    family: 'f',
    qualifier: 'q',
    timestamp,
    value: Buffer.from(value),
  });
  table.background = (row) => (row.startsWith('b') ? [cell(1, row)] : undefined);
  const filters = [{ family: 'f' }];
  const read = (row: string): unknown => plain(table.readRow(row, filters));
  assert.deepEqual(read('b1'), { key: 'b1', cells: [{ ...cell(1, ''), value: 'b1' }] });
  assert.equal(read('a'), undefined);
  assert.equal(table.rows, 0);
  table.mutateRow('b1', [{ kind: 'set', ...cell(2, 'new') }]);
  assert.equal(table.rows, 1);
  assert.deepEqual(read('b1'), {
    key: 'b1',
    cells: [
      { ...cell(2, ''), value: 'new' },
      { ...cell(1, ''), value: 'b1' },
    ],
  });
});

test('a row of the background whose cells were all erased stays empty', () => {
  const table = new TableData({ families: ['f'] });
  const place = { family: 'f', qualifier: 'q' };
  table.background = () => [{ ...place, timestamp: 1, value: Buffer.from('old') }];
  table.mutateRow('b1', [{ kind: 'erase', ...place, from: 0, to: 9 }]);
  assert.equal(table.readRow('b1', [{ family: 'f' }]), undefined);
  assert.deepEqual(table.readRange({ limit: 9 }, [{ family: 'f' }]), []);
  const set = { kind: 'set', ...place, timestamp: 2, value: Buffer.from('new') } as const;
  const found = table.checkAndMutateRow({ table: 't', row: 'b1', anyOf: [place], ifFound: [set] });
  assert.equal(found, false);
});

function some<T>(random: Random, make: () => T): readonly T[] {
  return Array.from({ length: random.integer(0, 3) }, make);
}

function randomFilter(random: Random): CellFilter {
  const from = random.integer(0, 8);
  const qualifier = random.pick([...QUALIFIERS, undefined]);
  return {
    family: random.pick(FAMILIES),
    qualifier,
    suffix: qualifier === undefined ? random.pick([undefined, ':lock']) : undefined,
    from: random.pick([undefined, from]),
    to: random.pick([undefined, from + random.integer(0, 4)]),
    versions: random.pick([undefined, 1, 2]),
  };
}

function randomMutation(random: Random): Mutation {
  const at = { family: random.pick(FAMILIES), qualifier: random.pick(QUALIFIERS) };
  const from = random.integer(0, 8);
  if (random.fraction() < 0.5) return { kind: 'erase', ...at, from, to: from + 3 };
  const value = Buffer.from(String(random.integer(0, 99)));
  return { kind: 'set', ...at, timestamp: from, value };
}

function plain(row: ReturnType<TableData['readRow']>): unknown {
  return (
    row && {
      ...row,
      cells: row.cells.map((cell) => ({ ...cell, value: Buffer.from(cell.value).toString() })),
    }
  );
}

test('a short value that stays does not keep in memory the message that it came with', () => {
  const table = new TableData({ families: FAMILIES });
  const message = Buffer.from('12345');
  const set = { kind: 'set', family: 'write', qualifier: 'c', timestamp: 1 } as const;
  table.mutateRow('a', [{ ...set, value: message.subarray(1, 3) }]);
  const [kept] = table.readRow('a', [{ family: 'write' }])?.cells ?? [];
  assert.equal(Buffer.from(kept?.value ?? []).toString(), '23');
  assert.notEqual(kept?.value.buffer, message.buffer);
});
