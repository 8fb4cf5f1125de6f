/**
 * The filters that are sent, applied to rows by a plain reading of Bigtable's documentation: they
 * pass what the contract says, at a cost that the emulator can bear.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '../../base/index.ts';
import { type Cell, type CellFilter, TIMESTAMP_MAX } from '../bigtable.ts';
import { cellsOfFilters } from '../reading.ts';
import { type RowFilter, treeForAll, treeForChecking, treeForReading } from './filter-tree.ts';

const COLUMN: readonly CellFilter[] = ['lock', 'write', 'data'].map((kind) => ({
  family: 'cells',
  qualifier: `c:${kind}`,
  to: 7,
}));

test('P20: every read is an Interleave, without which the emulator may leave cells out', () => {
  const many = Array.from({ length: 2_000 }, (_, i) => ({ family: 'cells', qualifier: `q${i}` }));
  for (const inRanges of [false, true]) {
    for (const filters of [COLUMN, COLUMN.slice(0, 1), [{ family: 'cells' }], many]) {
      const branches = treeForReading(filters, inRanges)?.interleave?.filters;
      assert.ok(branches != null && branches.length >= 2, `${filters.length} filters`);
    }
  }
  assert.equal(treeForReading([]), undefined);
});

/** What a filter has cost: bytes of patterns, each compiled for every cell that it is shown. */
interface Cost {
  compiled: number;
}

function apply(filter: RowFilter, cells: readonly Cell[], cost: Cost): readonly Cell[] {
  const { chain, interleave, columnRangeFilter: range, timestampRangeFilter: time } = filter;
  if (chain?.filters != null) {
    return chain.filters.reduce((left, next) => apply(next, left, cost), cells);
  }
  if (interleave?.filters != null) {
    const passed = interleave.filters.map((one) => apply(one, cells, cost));
    return cells.flatMap((cell) => passed.flatMap((some) => (some.includes(cell) ? [cell] : [])));
  }
  if (filter.blockAllFilter === true) return [];
  if (filter.familyNameRegexFilter != null) {
    const pattern = new RegExp(`^(?:${filter.familyNameRegexFilter})$`);
    return cells.filter(({ family }) => pattern.test(family));
  }
  if (filter.columnQualifierRegexFilter != null) return named(filter, cells, cost);
  if (range != null) {
    const { familyName, startQualifierClosed: first, endQualifierClosed: last } = range;
    return cells.filter(({ family, qualifier }) => {
      const name = Buffer.from(qualifier);
      const isAfter = name.compare(first as Buffer) >= 0;
      return family === familyName && isAfter && name.compare(last as Buffer) <= 0;
    });
  }
  if (time != null) {
    const { startTimestampMicros: from = 0, endTimestampMicros: end } = time;
    return cells.filter(({ timestamp }) => {
      const micros = 1000 * timestamp;
      return micros >= Number(from) && (end == null || micros < Number(end));
    });
  }
  if (filter.cellsPerRowOffsetFilter != null) return cells.slice(filter.cellsPerRowOffsetFilter);
  const versions = filter.cellsPerColumnLimitFilter;
  assert.ok(versions != null, `a filter that this test knows: ${JSON.stringify(filter)}`);
  const seen = new Map<string, number>();
  return cells.filter(({ family, qualifier }) => {
    const count = (seen.get(`${family}:${qualifier}`) ?? 0) + 1;
    seen.set(`${family}:${qualifier}`, count);
    return count <= versions;
  });
}

function named(filter: RowFilter, cells: readonly Cell[], cost: Cost): readonly Cell[] {
  const source = Buffer.from(filter.columnQualifierRegexFilter as Uint8Array).toString('latin1');
  cost.compiled += source.length * cells.length;
  const pattern = new RegExp(`^(?:${source})$`);
  return cells.filter(({ qualifier }) => pattern.test(Buffer.from(qualifier).toString('latin1')));
}

const random = createRandom(54);
const pick = <T>(choices: readonly T[]): T => random.pick(choices);
const NAMES = [
  '',
  'a',
  'aa',
  'a:b',
  'b',
  'z.z',
  'a\n',
  'é',
  '\u{1f600}',
  '\uffee',
  'x'.repeat(300),
];
const KINDS = ['lock', 'write', 'rollback', 'data'];
const randomQualifier = (): string => `${pick(NAMES)}:${pick(KINDS)}`;

function randomFilter(): CellFilter {
  const family = pick(['cells', 'notify']);
  const from = pick([undefined, 0, 3]);
  const to = pick([undefined, 2, 3, 5]);
  const like = { family, from, to, versions: pick([undefined, 1, 2]) };
  if (random.integer(0, 7) === 0) return { ...like, suffix: `:${pick(KINDS)}` };
  return { ...like, qualifier: randomQualifier() };
}

/** As the contract orders them: by family, qualifier, newest first. */
function randomCells(): readonly Cell[] {
  const cells = new Map<string, Cell>();
  for (let i = random.integer(0, 59); i > 0; i--) {
    const [family, qualifier] = [pick(['cells', 'notify']), randomQualifier()];
    const cell = { family, qualifier, timestamp: random.integer(0, 6), value: Buffer.from(`${i}`) };
    cells.set(JSON.stringify([family, qualifier, cell.timestamp]), cell);
  }
  return [...cells.values()].toSorted(
    (a, b) =>
      Buffer.from(a.family).compare(Buffer.from(b.family)) ||
      Buffer.from(a.qualifier).compare(Buffer.from(b.qualifier)) ||
      b.timestamp - a.timestamp,
  );
}

const isWanted = (cell: Cell, filters: readonly CellFilter[]): boolean =>
  filters.some(
    ({ family, qualifier = cell.qualifier, suffix = '', from = 0, to = TIMESTAMP_MAX }) =>
      cell.family === family &&
      cell.qualifier === qualifier &&
      cell.qualifier.endsWith(suffix) &&
      cell.timestamp >= from &&
      cell.timestamp <= to,
  );

describe('on random rows', () => {
  test('a check passes some cell exactly if one of its filters does', () => {
    const answers = { found: 0, not: 0 };
    for (let i = 0; i < 3_000; i++) {
      const cells = randomCells().filter(() => random.integer(0, 3) === 0);
      const filters = Array.from({ length: random.integer(0, 11) }, randomFilter);
      const passed = apply(treeForChecking(filters), cells, { compiled: 0 }).length > 0;
      const wanted = cells.some((cell) => isWanted(cell, filters));
      assert.equal(passed, wanted, JSON.stringify({ filters, cells }));
      answers[wanted ? 'found' : 'not']++;
    }
    assert.ok(answers.found > 500 && answers.not > 500, JSON.stringify(answers));
  });

  test('a check for all passes some cell exactly if each cell is there', () => {
    const answers = { found: 0, not: 0 };
    for (let i = 0; i < 3_000; i++) {
      const [family, from] = [pick(['cells', 'notify']), random.integer(0, 6)];
      const names = new Set(Array.from({ length: random.integer(2, 12) }, randomQualifier));
      if (names.size < 2) continue;
      const wanted = [...names].map((qualifier) => ({ family, qualifier, from, to: from }));
      const left = wanted.filter(() => random.integer(0, 9) > 0);
      const some = left.map((cell) => ({ ...cell, timestamp: from, value: Buffer.from('') }));
      const others = randomCells().filter((cell) => !isWanted(cell, wanted));
      const passed = apply(treeForAll(wanted), [...others, ...some], { compiled: 0 });
      assert.equal(passed.length, left.length === wanted.length ? 1 : 0, JSON.stringify(wanted));
      answers[passed.length > 0 ? 'found' : 'not']++;
    }
    assert.ok(answers.found > 500 && answers.not > 500, JSON.stringify(answers));
  });

  for (const inRanges of [false, true]) {
    test(`a read ${inRanges ? 'in ranges ' : ''}passes all that its filters choose`, () => {
      for (let i = 0; i < 3_000; i++) {
        const cells = randomCells();
        const filters = Array.from({ length: random.integer(0, 11) }, randomFilter);
        const tree = treeForReading(filters, inRanges);
        const passed = tree === undefined ? [] : apply(tree, cells, { compiled: 0 });
        assert.deepEqual(
          cellsOfFilters(passed, filters),
          cellsOfFilters(cells, filters),
          JSON.stringify({ filters, cells }),
        );
      }
    });
  }
});

describe('the patterns that the emulator compiles for a row of many cells', () => {
  const nameOf = (i: number): string => `k${String(i).padStart(5, '0')}`;
  const rowOf = (columns: number): readonly Cell[] =>
    Array.from({ length: columns }, (_, i) =>
      ['data', 'write'].flatMap((kind) =>
        [2, 1].map((timestamp) => ({
          family: 'cells',
          qualifier: `${nameOf(i)}:${kind}`,
          timestamp,
          value: Buffer.from(''),
        })),
      ),
    ).flat();
  const filtersOf = (first: number, count: number): readonly CellFilter[] =>
    Array.from({ length: count }, (_, i) => ({ family: 'cells', name: nameOf(first + i) })).flatMap(
      ({ family, name }) => [
        { family, qualifier: `${name}:write`, from: 9 },
        { family, qualifier: `${name}:lock` },
        { family, qualifier: `${name}:rollback`, from: 9, to: 9 },
      ],
    );

  test('cost a check the same in a row with ten times the cells', () => {
    const costs = [500, 5_000].map((columns) => {
      const cost = { compiled: 0 };
      const tree = treeForChecking(filtersOf(100, 80));
      assert.deepEqual(apply(tree, rowOf(columns), cost), []);
      return cost.compiled;
    });
    assert.equal(costs[1], costs[0]);
    assert.ok((costs[0] ?? 0) < 80 * 4 * 40, `${costs[0]} bytes for 320 cells`);
  });

  test('cost a read of many columns nothing', () => {
    const cost = { compiled: 0 };
    const tree = treeForReading(filtersOf(100, 80), true);
    apply(tree ?? {}, rowOf(500), cost);
    assert.equal(cost.compiled, 0);
  });
});
