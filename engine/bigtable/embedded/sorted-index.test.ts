/** The searches of sorted-index.ts, over several leaves, against an array of the keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../base/index.ts';
import { Leaf } from './leaf.ts';
import { NONE, type Position, SortedIndex } from './sorted-index.ts';

const entry = { file: 1, offset: 0, length: 10, footprint: 10, newest: 1 };

/** Keys of all kinds: some have 76 bytes in common, some are the beginning of another one. */
function keyOf(number: number): Buffer {
  const beginnings = ['', 'a', 'a\0', 'b/', 'a long beginning that many keys have, '.repeat(2)];
  const text = `${beginnings[number % beginnings.length]}${number.toString(4)}`;
  return Buffer.from(number % 7 === 0 ? `${text}\0` : text, 'latin1');
}

function sorted(keys: Iterable<string>): Buffer[] {
  return [...keys].map((key) => Buffer.from(key, 'latin1')).toSorted((a, b) => a.compare(b));
}

function keyAt(index: SortedIndex, at: Position): string | undefined {
  return at === NONE ? undefined : index.key(at).toString('latin1');
}

/** Compares each search for `wanted`, which may be absent, with the expected keys. */
function assertFinds(index: SortedIndex, expected: readonly Buffer[], wanted: Buffer): void {
  const floor = expected.findLast((key) => key.compare(wanted) <= 0);
  const ceiling = expected.find((key) => key.compare(wanted) >= 0);
  assert.equal(keyAt(index, index.floor(wanted)), floor?.toString('latin1'));
  assert.equal(keyAt(index, index.ceiling(wanted)), ceiling?.toString('latin1'));
  const before = expected.findLast((key) => key.compare(wanted) < 0);
  assert.equal(keyAt(index, index.before(wanted)), before?.toString('latin1'));
  assert.equal(index.get(wanted) !== undefined, floor?.equals(wanted) ?? false);
}

/** The index as a hint keeps it. */
function copyOf(index: SortedIndex): SortedIndex {
  const copy = new SortedIndex();
  for (let leaf = index.leafAfter(undefined); leaf !== undefined;) {
    copy.addLeaf(new Leaf(Buffer.from(leaf.write())));
    leaf = index.leafAfter(leaf.key(leaf.count - 1));
  }
  return copy;
}

for (const { seed, longer } of [
  { seed: 1, longer: 0 },
  { seed: 2, longer: 0 },
  // Ten keys fill a leaf, and ten leaves a block of first keys.
  { seed: 3, longer: 1_500 },
  { seed: 4, longer: 1_500 },
]) {
  test(`every key is found after any changes; seed ${seed}, ${longer} bytes longer`, () => {
    const longKey = (number: number): Buffer =>
      Buffer.concat([keyOf(number), Buffer.alloc(longer)]);
    const random = createRandom(seed);
    const index = new SortedIndex();
    const present = new Set<string>();
    for (let round = 0; round < 6; round++) {
      // Grows to ten leaves or more, shrinks until they are joined, and grows again.
      const removed = round % 2 === 0 ? 0.2 : 0.9;
      for (let i = 0; i < 3_000; i++) {
        const changed = longKey(random.integer(0, 3_999));
        if (random.fraction() < removed) {
          index.delete(changed);
          present.delete(changed.toString('latin1'));
        } else {
          index.set(changed, entry);
          present.add(changed.toString('latin1'));
        }
      }
      const expected = sorted(present);
      assert.equal(index.keys, expected.length);
      for (const found of [index, copyOf(index)]) {
        for (let i = 0; i < 50; i++) {
          assertFinds(found, expected, longKey(random.integer(0, 7_999)));
        }
        assertFinds(found, expected, Buffer.alloc(0));
        assertFinds(found, expected, Buffer.of(255));
      }
    }
    index.deleteAll(Buffer.from('a long'));
    const rest = sorted([...present].filter((key) => !key.startsWith('a long')));
    for (let i = 0; i < 500; i++) assertFinds(index, rest, longKey(i));
    assert.equal(index.keys, rest.length);
    assert.equal(index.footprint, rest.length * entry.footprint);
  });
}

for (const seed of [1, 2, 3, 4, 5]) {
  test(`P71: a copy made leaf by leaf while keys come and go has every key that stays; seed ${seed}`, () => {
    const random = createRandom(seed).fork('copy');
    const index = new SortedIndex();
    // Every tenth key stays; with ten keys to a leaf, the leaves merge and split all the time.
    const keys = Array.from({ length: 2_000 }, (_, i) =>
      Buffer.concat([keyOf(i), Buffer.alloc(1_500)]),
    );
    for (const key of keys) index.set(key, entry);
    const copy = new SortedIndex();
    for (let leaf = index.leafAfter(undefined); leaf !== undefined;) {
      const last = leaf.key(leaf.count - 1);
      copy.addLeaf(new Leaf(Buffer.from(leaf.write())));
      const removed = random.pick([0.2, 0.95]);
      for (let i = 0; i < 200; i++) {
        const number = random.integer(0, keys.length - 1);
        const key = keys[number] as Buffer;
        if (number % 10 === 0 || random.fraction() >= removed) index.set(key, entry);
        else index.delete(key);
      }
      leaf = index.leafAfter(last);
    }
    const missing = keys.filter((key, i) => i % 10 === 0 && copy.get(key) === undefined);
    assert.equal(missing.length, 0);
  });
}

test('the keys of a dropped table are removed by whole leaves, between those of others', (t) => {
  const index = new SortedIndex();
  const numbers = Array.from({ length: 50_000 }, (_, i) => String(i).padStart(9, '0'));
  for (const table of ['a', 'b', 'c']) {
    for (const number of table === 'b' ? numbers : numbers.slice(0, 500)) {
      index.set(Buffer.from(`${table} ${number}`), entry);
    }
  }
  const remove = t.mock.method(Leaf.prototype, 'remove');
  index.deleteAll(Buffer.from('b'));
  assert.ok(remove.mock.callCount() < 2_000, `${remove.mock.callCount()} keys one by one`);
  const rest = sorted(
    ['a', 'c'].flatMap((table) => numbers.slice(0, 500).map((one) => `${table} ${one}`)),
  );
  assert.equal(index.keys, rest.length);
  assert.equal(index.footprint, rest.length * entry.footprint);
  for (const wanted of ['a 000000499', 'b', 'b 000000001', 'c', 'c 000000000']) {
    assertFinds(index, rest, Buffer.from(wanted));
  }
});

test('a search from a position on finds what the search of the whole index finds, or that position if it is later', () => {
  const index = new SortedIndex();
  const keys = sorted(
    new Set(Array.from({ length: 3_000 }, (_, i) => keyOf(i).toString('latin1'))),
  );
  for (const key of keys) index.set(key, entry);
  const positions: Position[] = [];
  for (let at = index.ceiling(Buffer.alloc(0)); at !== NONE; at = index.next(at)) {
    positions.push(at);
  }
  assert.equal(positions.length, keys.length);
  for (let from = 0; from < keys.length; from += 13) {
    for (const to of [0, from, from + 1, from + 7, from + 8, from + 9, keys.length - 1]) {
      const wanted = Math.min(to, keys.length - 1);
      const found = index.floorFrom(positions[from] as Position, keys[wanted] as Buffer);
      assert.equal(positions.indexOf(found), Math.max(from, wanted), `${wanted} from ${from}`);
    }
  }
});
