/**
 * Rows assembled from chunks: every way in which a server may cut an answer, and every way in which
 * it must not. The cases are those of the acceptance tests that all official clients pass, as
 * claims.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RowAssembly } from './row-assembly.ts';

/** A chunk, with text in place of bytes, and the engine's timestamp in place of microseconds. */
interface Chunk {
  readonly key?: string;
  readonly family?: string;
  readonly qualifier?: string;
  readonly timestamp?: number;
  readonly labels?: readonly string[];
  readonly value?: string;
  readonly valueSize?: number;
  readonly commit?: boolean;
  readonly reset?: boolean;
}

const FIRST: Chunk = { key: 'RK', family: 'A', qualifier: 'C', timestamp: 99, value: 'one' };
const COMMIT: Chunk = { commit: true };
const RESET: Chunk = { reset: true };

describe('chunks that make rows', () => {
  const cases: Record<string, readonly [readonly Chunk[], readonly string[]]> = {
    'no chunks are no rows': [[], []],
    'one cell': [[{ ...FIRST, commit: true }], ['RK/A:C@99=one']],
    'an omitted timestamp is 0': [
      [{ key: 'RK', family: 'A', qualifier: 'C', value: 'v', commit: true }],
      ['RK/A:C@0=v'],
    ],
    'an omitted value is empty': [
      [{ key: 'RK', family: 'A', qualifier: 'C', commit: true }],
      ['RK/A:C@0='],
    ],
    'a bare commit is a cell too': [
      [FIRST, COMMIT],
      ['RK/A:C@99=one', 'RK/A:C@0='],
    ],
    'an omitted column is the last one': [
      [FIRST, { timestamp: 98, value: 'two', commit: true }],
      ['RK/A:C@99=one', 'RK/A:C@98=two'],
    ],
    'an omitted family is the last one': [
      [FIRST, { qualifier: 'D', timestamp: 98, value: 'two', commit: true }],
      ['RK/A:C@99=one', 'RK/A:D@98=two'],
    ],
    'a qualifier may be empty': [
      [FIRST, { qualifier: '', timestamp: 98, value: 'two', commit: true }],
      ['RK/A:C@99=one', 'RK/A:@98=two'],
    ],
    'a second family': [
      [FIRST, { family: 'B', qualifier: 'E', timestamp: 98, value: 'two', commit: true }],
      ['RK/A:C@99=one', 'RK/B:E@98=two'],
    ],
    'everything may be repeated, as the emulator does': [
      [FIRST, { ...FIRST, timestamp: 98, value: 'two', commit: true }],
      ['RK/A:C@99=one', 'RK/A:C@98=two'],
    ],
    'labels are ignored': [
      [
        { ...FIRST, labels: ['L'] },
        { timestamp: 98, labels: ['M'], value: 'two', commit: true },
      ],
      ['RK/A:C@99=one', 'RK/A:C@98=two'],
    ],
    'a value in two parts': [
      [
        { ...FIRST, value: 'o', valueSize: 3 },
        { value: 'ne', commit: true },
      ],
      ['RK/A:C@99=one'],
    ],
    'a value in four parts': [
      [
        { ...FIRST, value: 'f', valueSize: 4 },
        { value: 'o', valueSize: 4 },
        { value: 'u', valueSize: 4 },
        { value: 'r', commit: true },
      ],
      ['RK/A:C@99=four'],
    ],
    'a value in parts, then a bare commit': [
      [{ ...FIRST, value: 'o', valueSize: 3 }, { value: 'ne' }, COMMIT],
      ['RK/A:C@99=one', 'RK/A:C@0='],
    ],
    'two values in parts, in one column': [
      [
        { ...FIRST, value: 'o', valueSize: 3 },
        { value: 'ne' },
        { timestamp: 98, value: 't', valueSize: 3 },
        { value: 'wo', commit: true },
      ],
      ['RK/A:C@99=one', 'RK/A:C@98=two'],
    ],
    'two values in parts, in two families': [
      [
        { ...FIRST, value: 'o', valueSize: 3 },
        { value: 'ne' },
        { family: 'B', qualifier: 'E', timestamp: 98, value: 't', valueSize: 3 },
        { value: 'wo', commit: true },
      ],
      ['RK/A:C@99=one', 'RK/B:E@98=two'],
    ],
    'a whole value between values in parts': [
      [
        { ...FIRST, value: 'o', valueSize: 3 },
        { value: 'ne' },
        { timestamp: 98, value: 'two' },
        { qualifier: 'D', timestamp: 97, value: 'th', valueSize: 5 },
        { value: 'ree', commit: true },
      ],
      ['RK/A:C@99=one', 'RK/A:C@98=two', 'RK/A:D@97=three'],
    ],
    'two rows': [
      [
        { ...FIRST, commit: true },
        { ...FIRST, key: 'RL', commit: true },
      ],
      ['RK/A:C@99=one', 'RL/A:C@99=one'],
    ],
    'rows in the order of their bytes, which is not that of UTF-16': [
      [
        { ...FIRST, key: '\u{FFFF}', commit: true },
        { ...FIRST, key: '\u{10000}', commit: true },
      ],
      ['\u{FFFF}/A:C@99=one', '\u{10000}/A:C@99=one'],
    ],
    'a reset discards the row': [
      [FIRST, RESET, { ...FIRST, value: 'two', commit: true }],
      ['RK/A:C@99=two'],
    ],
    'a reset, and then nothing': [[FIRST, RESET], []],
    'a reset, and then another row': [
      [FIRST, RESET, { ...FIRST, key: 'RL', commit: true }],
      ['RL/A:C@99=one'],
    ],
    'a reset, and then another column': [
      [FIRST, RESET, { ...FIRST, qualifier: 'D', commit: true }],
      ['RK/A:D@99=one'],
    ],
    'a reset after two cells, one of them in parts': [
      [FIRST, { timestamp: 98, value: 't', valueSize: 3 }, RESET, { ...FIRST, commit: true }],
      ['RK/A:C@99=one'],
    ],
    'a reset in the middle of a value': [
      [{ ...FIRST, value: 'o', valueSize: 3 }, RESET, { ...FIRST, value: 'two', commit: true }],
      ['RK/A:C@99=two'],
    ],
    'two resets': [
      [FIRST, RESET, FIRST, RESET, { ...FIRST, value: 'three', commit: true }],
      ['RK/A:C@99=three'],
    ],
    'a reset of the second row leaves the first': [
      [
        { ...FIRST, commit: true },
        { ...FIRST, key: 'RL', value: 'x' },
        RESET,
        { ...FIRST, key: 'RL', value: 'two', commit: true },
      ],
      ['RK/A:C@99=one', 'RL/A:C@99=two'],
    ],
  };
  for (const [name, [chunks, expected]] of Object.entries(cases)) {
    test(name, () => {
      assert.deepEqual(assembled(chunks), expected);
      assert.deepEqual(assembled(chunks, { atOnce: true }), expected);
    });
  }
});

describe('chunks that are refused', () => {
  const cases: Record<string, readonly Chunk[]> = {
    'a row that is never complete': [FIRST],
    'a commit of nothing': [COMMIT],
    'a cell before there is a key': [{ timestamp: 99, value: 'one', commit: true }],
    'a key without a column': [{ key: 'RK', value: 'one', commit: true }],
    'a family without a qualifier': [{ key: 'RK', family: 'A', value: 'one', commit: true }],
    'a qualifier without a family': [{ key: 'RK', qualifier: 'C', value: 'one', commit: true }],
    'another family, its qualifier left out': [FIRST, { family: 'B', value: 'x', commit: true }],
    'a row that begins before the last one is complete': [
      FIRST,
      { ...FIRST, key: 'RL', commit: true },
    ],
    'a last row that is not complete': [
      { ...FIRST, commit: true },
      { ...FIRST, key: 'RL' },
    ],
    'a second row without a key': [
      { ...FIRST, commit: true },
      { family: 'A', qualifier: 'C', value: 'x', commit: true },
    ],
    'a second row that takes its column from the first': [
      { ...FIRST, commit: true },
      { key: 'RL', value: 'x', commit: true },
    ],
    'a row that comes twice': [
      { ...FIRST, commit: true },
      { ...FIRST, commit: true },
    ],
    'a row that comes after a later one': [
      { ...FIRST, key: 'RL', commit: true },
      { ...FIRST, commit: true },
    ],
    'a reset of nothing': [RESET],
    'a reset with a key': [FIRST, { ...RESET, key: 'RK' }],
    'a reset with a family': [FIRST, { ...RESET, family: 'A' }],
    'a reset with a qualifier': [FIRST, { ...RESET, qualifier: 'C' }],
    'a reset with a value': [FIRST, { ...RESET, value: 'x' }],
    'a reset with a timestamp': [FIRST, { ...RESET, timestamp: 1 }],
    'a reset with a part of a value': [FIRST, { ...RESET, valueSize: 3 }],
    'a row after a reset that takes its key from before': [
      FIRST,
      RESET,
      { family: 'A', qualifier: 'C', value: 'x', commit: true },
    ],
    'a row after a reset that takes its column from before': [
      FIRST,
      RESET,
      { key: 'RK', value: 'x', commit: true },
    ],
    'a commit in the middle of a value': [{ ...FIRST, value: 'o', valueSize: 3, commit: true }],
    'another key in the middle of a value': [
      { ...FIRST, value: 'o', valueSize: 3 },
      { key: 'RL', value: 'ne', commit: true },
    ],
    'another family in the middle of a value': [
      { ...FIRST, value: 'o', valueSize: 3 },
      { family: 'B', value: 'ne', commit: true },
    ],
    'another qualifier in the middle of a value': [
      { ...FIRST, value: 'o', valueSize: 3 },
      { qualifier: 'D', value: 'ne', commit: true },
    ],
    'another timestamp in the middle of a value': [
      { ...FIRST, value: 'o', valueSize: 3 },
      { timestamp: 98, value: 'ne', commit: true },
    ],
    'an end in the middle of a value': [{ ...FIRST, value: 'o', valueSize: 3 }],
  };
  for (const [name, chunks] of Object.entries(cases)) {
    test(name, () => {
      const refusal = { code: 'STORE_UNAVAILABLE', message: /makes no sense/ };
      assert.throws(() => assembled(chunks), refusal);
    });
  }
});

test('rows of a read in reverse come in the reverse order of their bytes, and in no other', () => {
  const rowOf = (key: string): Chunk => ({ ...FIRST, key, commit: true });
  const chunksOf = (...keys: string[]): Chunk[] => keys.map(rowOf);
  const reversed = { isReversed: true };
  assert.deepEqual(assembled(chunksOf('\u{10000}', '\u{FFFF}'), reversed), [
    '\u{10000}/A:C@99=one',
    '\u{FFFF}/A:C@99=one',
  ]);
  const refusal = { code: 'STORE_UNAVAILABLE', message: /a row came that is not before the last/ };
  assert.throws(() => assembled(chunksOf('RK', 'RL'), reversed), refusal);
  assert.throws(() => assembled(chunksOf('RK', 'RK'), reversed), refusal);
});

test('a timestamp beyond what a number holds in microseconds is exact', () => {
  const rows = assembled([{ ...FIRST, timestamp: Number.MAX_SAFE_INTEGER, commit: true }]);
  assert.deepEqual(rows, [`RK/A:C@${Number.MAX_SAFE_INTEGER}=one`]);
});

function assembled(
  chunks: readonly Chunk[],
  { atOnce = false, isReversed = false } = {},
): readonly string[] {
  const assembly = new RowAssembly({ isReversed });
  const parts = chunks.map(toProto);
  if (atOnce) assembly.add(parts);
  else for (const part of parts) assembly.add([part]);
  return assembly
    .finish()
    .flatMap(({ key, cells }) =>
      cells.map(
        ({ family, qualifier, timestamp, value }) =>
          `${key}/${family}:${qualifier}@${timestamp}=${Buffer.from(value).toString()}`,
      ),
    );
}

/** The chunk as decoded by protobufjs: omitted fields are null, or the default of their type. */
function toProto(chunk: Chunk): Parameters<RowAssembly['add']>[0][number] {
  const { key = '', family, qualifier, timestamp = 0, value = '', valueSize = 0 } = chunk;
  const micros = BigInt(timestamp) * 1000n;
  const halves = { low: Number(BigInt.asIntN(32, micros)), high: Number(micros >> 32n) };
  return {
    rowKey: Buffer.from(key),
    familyName: family === undefined ? null : { value: family },
    qualifier: qualifier === undefined ? null : { value: Buffer.from(qualifier) },
    timestampMicros: halves as never,
    labels: [...(chunk.labels ?? [])],
    value: Buffer.from(value),
    valueSize,
    commitRow: chunk.commit ?? null,
    resetRow: chunk.reset ?? null,
  };
}
