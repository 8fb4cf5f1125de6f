/**
 * Reading a range from its last row to its first: the same rows as forwards, in the opposite order,
 * wherever tablets and pages end, and while other rows come and go.
 */
import assert from 'node:assert/strict';
import { createRandom, type Random } from '../../base/index.ts';
import type { Bigtable, CellFilter, RangeRead, Row, RowRange } from '../bigtable.ts';
import { restOf } from '../reading.ts';
import { claim, describeCells, erase, type Open, SCHEMA, set } from './claim.ts';

/** A table with tablets of its own, where the store keeps splits. */
const SPLIT = 'conformance-split';
const DATA: readonly CellFilter[] = [{ family: 'data' }];

export function claimReverse(open: Open): void {
  claim('a range in reverse includes its start and excludes its end', open, async (t) => {
    await fill(t.store, t.table, numbered(10));
    const keys = (range: RowRange): Promise<string[]> => keysOf(t.store, t.table, range);
    assert.deepEqual(await keys({ start: 'r2', end: 'r4' }), ['r3', 'r2']);
    assert.deepEqual(await keys({ start: 'r2\0', end: 'r4\0' }), ['r4', 'r3']);
    assert.deepEqual(await keys({ end: 'r2' }), ['r1', 'r0']);
    assert.deepEqual(await keys({ start: 'r8' }), ['r9', 'r8']);
    assert.deepEqual(await keys({}), numbered(10).toReversed());
    assert.deepEqual(await keys({ start: 'r1', end: 'r1\0' }), ['r1']);
  });

  claim('an empty range in reverse has no rows, nor has an empty table', open, async (t) => {
    const keys = (range: RowRange): Promise<string[]> => keysOf(t.store, t.table, range);
    assert.deepEqual(await keys({}), []);
    await fill(t.store, t.table, numbered(3));
    for (const range of [
      { start: 'r1', end: 'r1' },
      { start: 'r2', end: 'r1' },
      { start: 'r1\0', end: 'r2' },
      { start: 'r3' },
      { end: 'r0' },
      { end: '' },
    ]) {
      assert.deepEqual(await keys(range), [], JSON.stringify(range));
    }
  });

  claim('a limit in reverse is of the last rows that have a passing cell', open, async (t) => {
    await fill(t.store, t.table, numbered(10));
    for (const row of ['r3', 'r5', 'r7']) await t.mutate(row, set('lock', 'q', 1));
    const locked = async (range: Omit<RangeRead, 'reverse'>): Promise<readonly string[]> => {
      const filters = [{ family: 'lock' }];
      const rows = await t.store.readRange(t.table, { ...range, reverse: true }, filters);
      return rows.map(({ key }) => key);
    };
    assert.deepEqual(await locked({ limit: 2 }), ['r7', 'r5']);
    assert.deepEqual(await locked({ end: 'r7', limit: 9 }), ['r5', 'r3']);
    assert.deepEqual(await keysOf(t.store, t.table, {}, 1), ['r9']);
    assert.deepEqual(await keysOf(t.store, t.table, { end: 'r4' }, 2), ['r3', 'r2']);
  });

  claim('a range of one table in reverse shows no row of its neighbours', open, async (t) => {
    await fill(t.store, t.table, numbered(2));
    for (const name of ['conformance-', 'conformance0']) {
      await t.store.createTable(name, { families: ['data'] });
      await fill(t.store, name, ['other']);
      assert.deepEqual(await keysOf(t.store, t.table, {}), ['r1', 'r0']);
      await t.store.dropTable(name);
    }
  });

  claimTablets(open);
}

/* Across tablets. */

function claimTablets(open: Open): void {
  claim('pages in reverse, each up to the last row of the one before, make the table', open, (t) =>
    withTablets(t.store, async () => {
      await fill(t.store, SPLIT, ROWS);
      for (const limit of [1, 2, 3, ROWS.length, ROWS.length + 1]) {
        assert.deepEqual(await pagesOf(t.store, { limit, reverse: true }), ROWS.toReversed());
      }
    }),
  );

  claim('any range in reverse has the rows of the range, in reverse', open, (t) =>
    withTablets(t.store, async () => {
      const random = createRandom(61);
      for (let timestamp = 2; timestamp < 14; timestamp++) {
        await changeSome(t.store, random, timestamp);
        for (let i = 0; i < 8; i++) await compareSome(t.store, random);
      }
    }),
  );

  claim('a scan in reverse finds each row that stays, once, while others come and go', open, (t) =>
    withTablets(t.store, async () => {
      const staying = ROWS.filter((_, i) => i % 2 === 0);
      await fill(t.store, SPLIT, staying);
      const stop = new AbortController();
      const changing = comeAndGo(t.store, stop.signal);
      const scans = Array.from({ length: 20 }, (_, i) =>
        pagesOf(t.store, { limit: 1 + (i % 4), reverse: true }),
      );
      const found = await Promise.all(scans).finally(() => stop.abort());
      await changing;
      for (const keys of found) {
        const seen = keys.filter((key) => staying.includes(key));
        assert.deepEqual(seen, staying.toReversed());
        const places = keys.map((key) => ROWS.indexOf(key));
        assert.deepEqual(
          places,
          places.toSorted((a, b) => b - a),
          'rows that come and go are in their places',
        );
      }
    }),
  );
}

/** In key order: beginnings of other keys, keys around splits, characters of 1 to 4 bytes. */
const ROWS = ['\0', 'a', 'a\0', 'a\0a', 'aa', 'b', 'b\0', 'bb', 'c', 'é', '\uFFFF', '\u{10000}'];
const SPLITS = ['a\0', 'b', 'bc', '\uFFFF'];

/** In a table that is dropped when the test ends. */
async function withTablets(store: Bigtable, run: () => Promise<void>): Promise<void> {
  await store.createTable(SPLIT, { ...SCHEMA, splits: SPLITS });
  try {
    await run();
  } finally {
    await store.dropTable(SPLIT);
  }
}

/** @param timestamp later each time: a store with tombstones hides what is set below an erase */
async function changeSome(store: Bigtable, random: Random, timestamp: number): Promise<void> {
  const changed = ROWS.filter(() => random.fraction() < 0.5);
  const mutations = changed.map((row) => ({
    table: SPLIT,
    row,
    mutations: [
      random.fraction() < 0.5
        ? set(random.pick(SCHEMA.families), random.pick(['p', 'q']), timestamp)
        : erase(random.pick(SCHEMA.families), random.pick(['p', 'q']), 0, timestamp - 1),
    ],
  }));
  await store.mutateRows(mutations);
}

async function compareSome(store: Bigtable, random: Random): Promise<void> {
  const bound = (): string | undefined => random.pick([undefined, ...ROWS, ...SPLITS, 'd']);
  const range = { start: bound(), end: bound() };
  const limit = random.integer(1, ROWS.length);
  const filters = SCHEMA.families
    .filter(() => random.fraction() < 0.6)
    .map((family) => ({ family, versions: 1 }));
  const forwards = await store.readRange(SPLIT, { ...range, limit: Infinity }, filters);
  const reverse = await store.readRange(SPLIT, { ...range, limit, reverse: true }, filters);
  const expected = forwards.toReversed().slice(0, limit);
  assert.deepEqual(reverse.map(plain), expected.map(plain), JSON.stringify({ range, limit }));
}

function plain(row: Row): unknown {
  return [row.key, describeCells(row)];
}

async function comeAndGo(store: Bigtable, signal: AbortSignal): Promise<void> {
  const coming = ROWS.filter((_, i) => i % 2 === 1);
  for (let timestamp = 2; !signal.aborted; timestamp++) {
    await fill(store, SPLIT, coming, timestamp);
    const gone = [erase('data', 'q', timestamp, timestamp)];
    await store.mutateRows(coming.map((row) => ({ table: SPLIT, row, mutations: gone })));
  }
}

function numbered(rows: number): string[] {
  return Array.from({ length: rows }, (_, i) => `r${i}`);
}

async function fill(
  store: Bigtable,
  table: string,
  rows: readonly string[],
  timestamp = 1,
): Promise<void> {
  const mutations = [set('data', 'q', timestamp)];
  await store.mutateRows(rows.map((row) => ({ table, row, mutations })));
}

async function keysOf(
  store: Bigtable,
  table: string,
  range: RowRange,
  limit = 1000,
): Promise<string[]> {
  const rows = await store.readRange(table, { ...range, limit, reverse: true }, DATA);
  return rows.map(({ key }) => key);
}

async function pagesOf(store: Bigtable, range: RangeRead): Promise<readonly string[]> {
  const keys: string[] = [];
  for (let left: RangeRead | undefined = range; left !== undefined;) {
    const page: readonly Row[] = await store.readRange(SPLIT, left, DATA);
    keys.push(...page.map(({ key }) => key));
    left = restOf(left, page);
  }
  return keys;
}
