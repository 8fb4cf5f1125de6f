/**
 * The fast table compared with the obvious one: random operations, equal answers. What the contract
 * says of filters that pass nothing, of cells that pass two filters, and of rows without mutations:
 * the conformance suite checks this for every storage, but a table alone is not a storage. And what
 * only the fast table has: rows of the background, and values without the messages that they came
 * in.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, type Random } from '#engine/base';
import {
  type Cell,
  type CellFilter,
  type Mutation,
  TIMESTAMP_MAX,
} from '../../../engine/bigtable/index.ts';
import { MemoryTable } from '../../../engine/testing/memory-table.ts';
import { TableData } from './table.ts';

const FAMILIES = ['lock', 'write'];
const ROWS = ['a', 'b', '\u{ffff}', '\u{10000}', ...Array.from({ length: 90 }, (_, i) => `r${i}`)];
const QUALIFIERS = ['a:c', 'b:c', 'd', 'c', 'c:lock'];
const COLUMN: CellFilter = { family: 'write', qualifier: 'q' };
const INVERTED: readonly CellFilter[] = [
  { ...COLUMN, from: 2, to: 1 },
  { family: 'write', from: TIMESTAMP_MAX, to: 0 },
];

for (let seed = 1; seed <= 24; seed++) {
  test(`both tables give equal answers in run ${seed}`, () => {
    const random = createRandom(seed);
    const tombstones = seed % 4 === 0;
    const simple = new MemoryTable({ families: FAMILIES }, { tombstones });
    const fast = new TableData({ families: FAMILIES }, { tombstones });
    for (let i = 0; i < 500; i++) {
      const row = random.pick(seed % 3 === 0 ? ROWS : ROWS.slice(0, 4));
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
      const range = { start: random.pick(ROWS), end: random.pick(ROWS), limit: 5 };
      for (const reverse of [false, true]) {
        assert.deepEqual(
          fast.readRange({ ...range, reverse }, filters).map(plain),
          simple.readRange({ ...range, reverse }, filters).map(plain),
        );
      }
    }
  });
}

function twoVersions(): TableData {
  const made = new TableData({ families: FAMILIES });
  const set = { kind: 'set', family: 'write', qualifier: 'q', value: Buffer.from('v') } as const;
  made.mutateRow('r', [
    { ...set, timestamp: 1 },
    { ...set, timestamp: 2 },
  ]);
  return made;
}

test('no filters, and filters with an empty range, pass nothing', () => {
  for (const filters of [[], ...INVERTED.map((filter) => [filter]), INVERTED]) {
    assert.equal(twoVersions().readRow('r', filters), undefined);
    assert.deepEqual(twoVersions().readRange({ limit: 9 }, filters), []);
    const conditional = { table: 't', row: 'r', anyOf: filters, ifNotFound: [] };
    assert.equal(twoVersions().checkAndMutateRow(conditional), false);
  }
});

test('a cell that passes two filters comes twice, in the order of the filters', () => {
  const row = twoVersions().readRow('r', [{ ...COLUMN, to: 1 }, { family: 'write' }]);
  assert.deepEqual(
    row?.cells.map(({ timestamp }) => timestamp),
    [1, 2, 1],
  );
});

test('a row without mutations stays as it is', () => {
  const made = twoVersions();
  made.mutateRow('r', []);
  made.mutateRow('s', []);
  assert.deepEqual(
    made.readRange({ limit: 9 }, [{ family: 'write' }]).map(({ key }) => key),
    ['r'],
  );
});

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

test('a short value that stays does not keep in memory the message that it came with', () => {
  const table = new TableData({ families: FAMILIES });
  const message = Buffer.from('12345');
  const set = { kind: 'set', family: 'write', qualifier: 'c', timestamp: 1 } as const;
  table.mutateRow('a', [{ ...set, value: message.subarray(1, 3) }]);
  const [kept] = table.readRow('a', [{ family: 'write' }])?.cells ?? [];
  assert.equal(Buffer.from(kept?.value ?? []).toString(), '23');
  assert.notEqual(kept?.value.buffer, message.buffer);
});

function some<T>(random: Random, make: () => T): readonly T[] {
  return Array.from({ length: random.integer(0, 3) }, make);
}

function randomFilter(random: Random): CellFilter {
  const from = random.integer(0, 8);
  const qualifier = random.pick([...QUALIFIERS, undefined, undefined]);
  const suffixes = [undefined, '', ':c', 'b:c', ':lock'];
  return {
    family: random.pick(FAMILIES),
    qualifier,
    suffix: qualifier === undefined ? random.pick(suffixes) : undefined,
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

function plain(row: ReturnType<TableData['readRow']>): unknown {
  return (
    row && {
      ...row,
      cells: row.cells.map((cell) => ({ ...cell, value: Buffer.from(cell.value).toString() })),
    }
  );
}
