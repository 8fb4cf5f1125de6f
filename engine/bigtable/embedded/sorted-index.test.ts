/** The searches of sorted-index.ts, against each other, over several leaves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NONE, type Position, SortedIndex } from './sorted-index.ts';

const KEYS = 3_000;
const entry = { file: 1, offset: 0, length: 10, footprint: 10 };

/** Even numbers are keys; odd ones lie between them. */
function keyOf(number: number): Buffer {
  return Buffer.from(`a row/${String(number).padStart(6, '0')}`);
}

test('a search from a position on ends where the search in the whole index ends, or there', () => {
  const index = new SortedIndex();
  for (let i = 0; i < KEYS; i++) index.set(keyOf(2 * i), entry);
  const positions: Position[] = [];
  for (let at = index.ceiling(keyOf(0)); at !== NONE; at = index.next(at)) positions.push(at);
  assert.equal(positions.length, KEYS);
  for (let from = 0; from < KEYS; from += 13) {
    for (const wanted of [0, 1, from, 2 * from + 1, 2 * from + 16, 2 * from + 19, 2 * KEYS]) {
      const floor = Math.min(KEYS - 1, Math.floor(wanted / 2));
      const found = index.floorFrom(positions[from] as Position, keyOf(wanted));
      assert.equal(positions.indexOf(found), Math.max(from, floor), `${wanted} from ${from}`);
    }
  }
});
