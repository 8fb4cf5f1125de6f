/** Compares reads cut out of a wider one with the same reads alone. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createMemoryBigtable } from '../../testing/index.ts';
import type { Bigtable, CellFilter, Mutation } from '../bigtable.ts';
import { cutBack, shapeOf, widest } from './kinds.ts';

const TABLE = 't';
const FAMILIES = ['a', 'b'];
const QUALIFIERS = ['x', 'y'];
const TIMESTAMP_MAX = 8;

const timestamp = fc.integer({ min: 0, max: TIMESTAMP_MAX });
const cell = fc.record({
  family: fc.constantFrom(...FAMILIES),
  qualifier: fc.constantFrom(...QUALIFIERS),
  timestamp,
});
const filter = fc.record({
  family: fc.constantFrom(...FAMILIES),
  qualifier: fc.constantFrom(undefined, ...QUALIFIERS),
  from: fc.constantFrom(undefined, 0, 3),
  to: fc.option(timestamp, { nil: undefined }),
  versions: fc.constantFrom(undefined, 1, 2),
});
const filters = fc.array(filter, { minLength: 1, maxLength: 3 });

describe('a read that is cut out of a wider one', () => {
  test('equals the read alone, or says that it cannot know', async () => {
    let cut = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(cell, { maxLength: 20 }),
        filters,
        fc.array(timestamp, { minLength: 3, maxLength: 3 }),
        async (cells, own, newest) => {
          const other = own.map((one, i) => ({
            ...one,
            to: one.to === undefined ? undefined : newest[i],
          }));
          if (shapeOf(own) !== shapeOf(other)) return;
          await using store = await storeOf(cells);
          const asked = widest([own, other]);
          const wide = await store.readRow(TABLE, 'r', asked);
          for (const wanted of [own, other]) {
            const part = cutBack(wide, wanted, asked);
            if (part === null) continue;
            if (part !== wide) cut++;
            assert.deepEqual(part, await store.readRow(TABLE, 'r', wanted));
          }
        },
      ),
      { numRuns: 3_000, seed: 1 }, // Chance decides how many are cut: with this seed, 207.
    );
    assert.ok(cut > 100, `only ${cut} of them were cut at all`);
  });

  test('cannot be known where a version that is too new may hide an older one', () => {
    const versions = (to: number): CellFilter[] => [
      { family: 'a', qualifier: 'x', to, versions: 1 },
    ];
    const value = new Uint8Array();
    const wide = { key: 'r', cells: [{ family: 'a', qualifier: 'x', timestamp: 5, value }] };
    assert.equal(cutBack(wide, versions(4), versions(6)), null);
    assert.equal(cutBack(wide, versions(5), versions(6))?.cells.length, 1);
  });
});

describe('two reads have one shape', () => {
  const read: CellFilter = { family: 'a', qualifier: 'x', to: 4, versions: 1 };
  const sameShape = (...other: CellFilter[]): boolean => shapeOf([read]) === shapeOf(other);

  test('if they differ in their newest timestamp only', () => {
    assert.ok(sameShape({ ...read, to: 9 }));
    assert.ok(!sameShape({ ...read, to: undefined }));
    assert.ok(!sameShape({ ...read, from: 2 }));
    assert.ok(!sameShape({ ...read, versions: 2 }));
    assert.ok(!sameShape({ ...read, qualifier: 'y' }));
    assert.ok(!sameShape({ ...read, family: 'b' }));
    assert.ok(!sameShape(read, read));
    const ending = (suffix: string): CellFilter[] => [{ family: 'a', suffix, to: 4, versions: 1 }];
    assert.notEqual(shapeOf(ending('x')), shapeOf(ending('y')));
  });

  test('only if a limit bounds how many unwanted versions the wider one brings', () => {
    const all = { family: 'a', qualifier: 'x' };
    assert.notEqual(shapeOf([{ ...all, to: 4 }]), shapeOf([{ ...all, to: 9 }]));
    assert.equal(shapeOf([{ ...all, to: 4 }]), shapeOf([{ ...all, to: 4 }]));
  });

  test('only if a cell passes at most one filter, so that the answer can be split', () => {
    const whole = { family: 'a', versions: 1 };
    const both = (to: number): CellFilter[] => [
      { ...read, to },
      { ...whole, to },
    ];
    assert.notEqual(shapeOf(both(4)), shapeOf(both(9)));
  });
});

async function storeOf(
  cells: readonly { family: string; qualifier: string; timestamp: number }[],
): Promise<Bigtable> {
  const store = createMemoryBigtable();
  await store.createTable(TABLE, { families: FAMILIES });
  const mutations = cells.map((one): Mutation => ({
    kind: 'set',
    ...one,
    value: Buffer.from([one.timestamp]),
  }));
  await store.mutateRows([{ table: TABLE, row: 'r', mutations }]);
  return store;
}
