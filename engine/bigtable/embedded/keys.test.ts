/** Encoded keys sort like their cells, and a key can be decoded to its cell. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { TIMESTAMP_MAX } from '../bigtable.ts';
import {
  cellKey,
  checkKeyLength,
  columnAt,
  columnKey,
  isOfColumn,
  joined,
  KEY_BYTES_MAX,
  prefixEnd,
  qualifierAt,
  rowKey,
  rowKeyOf,
  rowOf,
  rowStart,
  tablePrefix,
  timestampAt,
} from './keys.ts';

interface Address {
  readonly tableId: number;
  readonly row: string;
  readonly familyId: number;
  readonly qualifier: string;
  readonly timestamp: number;
}

/**
 * Few characters, which collide with the encoding's own bytes, so that prefixes and ties are
 * common.
 */
const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom('\0', '\u0001', 'a', 'ÿ', '\uFFFF', '\u{10FFFF}'),
    maxLength: 4,
  }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);

const address: fc.Arbitrary<Address> = fc.record({
  tableId: fc.constantFrom(1, 2, 255, 256, 2 ** 32 - 2),
  row: text.filter((row) => row !== ''),
  familyId: fc.constantFrom(0, 1, 2, 99),
  qualifier: text,
  timestamp: fc.oneof(
    fc.constantFrom(0, 1, 255, 2 ** 32 - 1, 2 ** 32, TIMESTAMP_MAX - 1, TIMESTAMP_MAX),
    fc.maxSafeNat(),
  ),
});

test('keys are ordered by table, row, family, qualifier, and newest first', () => {
  fc.assert(
    fc.property(address, address, (a, b) => {
      assert.equal(Math.sign(Buffer.compare(encode(a), encode(b))), Math.sign(compare(a, b)));
    }),
    { numRuns: 3000 },
  );
});

test('a key decodes to its row, column, qualifier and timestamp', () => {
  fc.assert(
    fc.property(address, ({ tableId, row, familyId, qualifier, timestamp }) => {
      const key = encode({ tableId, row, familyId, qualifier, timestamp });
      const start = rowKeyOf(key).length;
      assert.deepEqual(rowKeyOf(key), rowKey(tablePrefix(tableId), row));
      assert.equal(rowOf(rowKeyOf(key)), row);
      assert.equal(key[start], familyId);
      assert.equal(qualifierAt(key, start, key.length), qualifier);
      assert.equal(timestampAt(key, key.length), timestamp);
      assert.deepEqual(columnAt(key, start, key.length), columnKey(familyId, qualifier));
    }),
    { numRuns: 1000 },
  );
});

test('a cell is of its own column only', () => {
  fc.assert(
    fc.property(address, address, (a, b) => {
      const cell = cellKey(columnKey(a.familyId, a.qualifier), a.timestamp);
      const isSame = a.familyId === b.familyId && a.qualifier === b.qualifier;
      const column = columnKey(b.familyId, b.qualifier);
      assert.equal(isOfColumn(cell, 0, cell.length, column), isSame);
    }),
    { numRuns: 1000 },
  );
});

test('the first key at or after (column, t) is the newest version not above t', () => {
  fc.assert(
    fc.property(address, fc.maxSafeNat(), (cell, t) => {
      const atOrAfter = Buffer.compare(encode(cell), encode({ ...cell, timestamp: t })) >= 0;
      assert.equal(atOrAfter, cell.timestamp <= t);
    }),
  );
});

test('the keys from a prefix end on are those that neither begin with the prefix nor sort before it', () => {
  fc.assert(
    fc.property(address, address, (a, b) => {
      const key = encode(a);
      for (const prefix of prefixesOf(b)) {
        const begins = key.subarray(0, prefix.length).equals(prefix);
        const isAfter = !begins && Buffer.compare(key, prefix) > 0;
        assert.equal(Buffer.compare(key, prefixEnd(prefix)) >= 0, isAfter);
        assert.ok(prefixEnd(prefix).length <= prefix.length);
      }
    }),
    { numRuns: 1000 },
  );
});

test('a scan that starts at a row meets all of its cells, and none of an earlier row', () => {
  fc.assert(
    fc.property(address, address, (a, b) => {
      const cell = { ...a, tableId: b.tableId };
      const met = Buffer.compare(encode(cell), rowStart(tablePrefix(b.tableId), b.row)) >= 0;
      assert.equal(met, Buffer.compare(Buffer.from(cell.row), Buffer.from(b.row)) >= 0);
    }),
    { numRuns: 1000 },
  );
});

test('a key of exactly the maximum length is allowed, and not one byte more', () => {
  const zeros = '\0'.repeat(5); // Each is written as two bytes.
  for (const [row, qualifier] of [
    ['r', ''],
    ['r', 'q'],
    [`r${zeros}`, 'q'],
    ['r', `é中😀${zeros}`],
  ] as const) {
    const shortest = encode({ tableId: 1, row, familyId: 0, qualifier, timestamp: 0 }).length;
    const longest = row + 'x'.repeat(KEY_BYTES_MAX - shortest);
    checkKeyLength(longest, qualifier);
    const key = encode({ tableId: 1, row: longest, familyId: 0, qualifier, timestamp: 0 });
    assert.equal(key.length, KEY_BYTES_MAX);
    assert.throws(() => checkKeyLength(`${longest}x`, qualifier), { code: 'INVALID_ARGUMENT' });
  }
});

function encode({ tableId, row, familyId, qualifier, timestamp }: Address): Buffer {
  const cell = cellKey(columnKey(familyId, qualifier), timestamp);
  return joined(rowKey(tablePrefix(tableId), row), cell);
}

function prefixesOf(cell: Address): Buffer[] {
  const table = tablePrefix(cell.tableId);
  const row = rowKey(table, cell.row);
  const column = joined(row, columnKey(cell.familyId, cell.qualifier));
  return [table, row, joined(row, Buffer.of(cell.familyId)), column, encode(cell)];
}

/** The order of cells, defined without any encoding. */
function compare(a: Address, b: Address): number {
  return (
    a.tableId - b.tableId ||
    Buffer.compare(Buffer.from(a.row), Buffer.from(b.row)) ||
    a.familyId - b.familyId ||
    Buffer.compare(Buffer.from(a.qualifier), Buffer.from(b.qualifier)) ||
    b.timestamp - a.timestamp
  );
}
