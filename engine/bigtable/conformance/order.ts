/**
 * Rows and qualifiers are ordered by their UTF-8 bytes, which is neither JavaScript's order nor a
 * dictionary's.
 */
import assert from 'node:assert/strict';
import { claim, set, type Open } from './claim.ts';

/**
 * Keys in their order, among them those that a storage may get wrong: zero bytes (an encoding may
 * end a key with one), prefixes, bytes that are negative if they are signed, and U+10000, which
 * JavaScript compares by its surrogates (D800 ...) and so sorts before U+E000.
 */
const IN_ORDER: readonly string[] = [
  '\0',
  '\0\0',
  '\0\u0001',
  '\0a',
  '\u0001',
  '\u0001\u0001',
  'A',
  'a',
  'a\0',
  'a\0\0',
  'a\0\u0001',
  'a\0b',
  'a\u0001',
  'aa',
  'a\u{10FFFF}',
  'b',
  '\u007F',
  '\u0080',
  'é',
  'é\0',
  'ÿ',
  '\u07FF',
  '\u0800',
  '中',
  '\uD7FF',
  '\uE000',
  '\uFFFD',
  '\uFFFF',
  '\u{10000}',
  '😀',
  '\u{10FFFF}',
  '\u{10FFFF}\0',
];

export function claimOrder(open: Open): void {
  claim('rows come in the order of their UTF-8 bytes', open, async ({ mutate, keys }) => {
    for (const row of scrambled()) await mutate(row, set('data', 'q', 1));
    assert.deepEqual(await keys(), IN_ORDER);
  });

  claim(
    'a range from any key to the third key after it, or to the end, holds exactly the rows in between',
    open,
    async (t) => {
      for (const row of scrambled()) await t.mutate(row, set('data', 'q', 1));
      for (let i = 0; i < IN_ORDER.length; i++) {
        const range = { start: IN_ORDER[i], end: IN_ORDER[i + 3], limit: 1000 };
        const rows = await t.store.readRange(t.table, range, [{ family: 'data' }]);
        assert.deepEqual(
          rows.map((row) => row.key),
          IN_ORDER.slice(i, i + 3),
        );
      }
    },
  );

  claim('qualifiers come in the order of their UTF-8 bytes', open, async (t) => {
    for (const qualifier of scrambled()) await t.mutate('r', set('data', qualifier, 1));
    const row = await t.store.readRow(t.table, 'r', [{ family: 'data' }]);
    assert.deepEqual(
      row?.cells.map((cell) => cell.qualifier),
      IN_ORDER,
    );
  });

  claim('rows and columns of similar names are not confused', open, async ({ mutate, cells }) => {
    const similar = ['a', 'a\0', 'a\0\u0001', 'a\0\u00FF', 'aa'];
    for (const row of similar) {
      for (const qualifier of similar) {
        await mutate(row, set('data', qualifier, 1, JSON.stringify([row, qualifier])));
      }
    }
    for (const row of similar) {
      for (const qualifier of similar) {
        assert.deepEqual(await cells(row, { family: 'data', qualifier }), [
          `data:${qualifier}@1=${JSON.stringify([row, qualifier])}`,
        ]);
      }
    }
  });
}

/** Every 7th key, again and again, until all are there: neither the right order nor its reverse. */
function scrambled(): string[] {
  return IN_ORDER.map((_, i) => IN_ORDER[(i * 7) % IN_ORDER.length] ?? '');
}
