/**
 * The claims of scans and of whole rows, through the public interface: each row once, in order,
 * with the transaction's own writes; bounds, prefixes, limits, keys alone, reverse order; and a
 * caller who gives up.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  decorate,
  openPercolator,
  type Percolator,
  type ScannedRow,
  type ScanRange,
  type Transaction,
} from './index.ts';
import { cell, createMemoryBigtable, FaultyBigtable, put } from './testing/index.ts';
import { afterPrefix } from './transaction/scan-range.ts';
import { everywhere, isOf } from './transaction/index.ts';

async function open(store = createMemoryBigtable()): Promise<Percolator> {
  const percolator = await openPercolator({ store });
  await percolator.createTable('t', { observedColumns: ['seen'] });
  return percolator;
}

test('a scan sees each row of the range once, with locks in the way, whatever the batch size', async () => {
  const client = new FaultyBigtable(createMemoryBigtable());
  const percolator = await open(client);
  const rows = Array.from({ length: 300 }, (_, i) => `row ${String(i).padStart(3, '0')}`);
  await percolator.transact(async (transaction) => {
    for (const row of rows) put(transaction, { [row]: row, [`${row}:other`]: 'x' });
  });
  await percolator.settled();
  client.loseRequest(
    ({ operation, mutations }) =>
      operation === 'checkAndMutateRows' && mutations.some((one) => isOf('write', one)),
  ); // The second phase.
  const range = { start: 'row 010', end: 'row 290' };
  for (const batchRows of [1, 7, 128, 1_000, undefined]) {
    const columns = batchRows === 7 || batchRows === 1_000 ? undefined : ['c'];
    const changed = `changed before ${batchRows}`;
    await percolator.transact(async (transaction) => {
      for (const row of rows.filter((_, i) => i % 7 === 0)) put(transaction, { [row]: changed });
    });
    await percolator.settled();
    const locks = await client.readRange('t', { ...range, limit: 1 }, [everywhere('lock')]);
    assert.equal(locks.length, 1, 'a lock is in the way');
    const reader = await percolator.snapshot();
    const reverse = batchRows === 7 || batchRows === 128; // With all columns, and with one.
    const asked = { ...range, table: 't', columns, batchRows, reverse };
    const seen = await Array.fromAsync(reader.scan(asked));
    if (reverse) seen.reverse();
    assert.deepEqual(
      seen.map(({ row, values }) => [row, String(values.get('c'))]),
      rows.slice(10, 290).map((row, i) => [row, (i + 10) % 7 === 0 ? changed : row]),
    );
  }
});

const KEYS = [
  'a',
  'b',
  'b\0',
  'bc',
  'c',
  'ab',
  '\uD7FF',
  '\u{ffff}',
  '\u{10000}',
  '\u{10ffff}',
  'z',
];
const row = fc.constantFrom(...KEYS);
const writes = fc.array(
  fc.record({
    row,
    column: fc.constantFrom('c', 'd'),
    value: fc.option(fc.string({ maxLength: 2 }), { nil: undefined }),
  }),
  { maxLength: 12 },
);
const optional = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(some, { nil: undefined });
const ranges = fc.record({
  start: optional(row),
  end: optional(row),
  prefix: optional(fc.constantFrom('', ...KEYS)),
  columns: optional(fc.uniqueArray(fc.constantFrom('c', 'd', 'e'), { minLength: 1 })),
  limit: optional(fc.integer({ min: 1, max: 5 })),
  reverse: optional(fc.boolean()),
  keysOnly: optional(fc.boolean()),
  batchRows: optional(fc.integer({ min: 1, max: 4 })),
});

type Model = Map<string, Map<string, string>>;

test('a scan with own writes equals the obvious: a sorted map with the writes applied', async () => {
  await fc.assert(
    fc.asyncProperty(writes, writes, ranges, async (committed, own, asked) => {
      const percolator = await open();
      const model: Model = new Map();
      await percolator.transact(async (transaction) => apply(transaction, committed, model));
      const transaction = await percolator.begin();
      apply(transaction, own, model);
      const range = { table: 't', ...asked };
      const scanned = await Array.fromAsync(transaction.scan(range));
      assert.deepEqual(scanned.map(plain), expectedRows(model, range));
      for (const key of KEYS) {
        const values = await transaction.getRow({ table: 't', row: key, columns: asked.columns });
        const one = { table: 't', columns: asked.columns, start: key, end: `${key}\0` };
        const expected = expectedRows(model, one)[0] ?? [key, []];
        assert.deepEqual(plain({ row: key, values }), expected);
      }
    }),
    { numRuns: 300 },
  );
});

function apply(
  transaction: Parameters<typeof put>[0],
  list: readonly { row: string; column: string; value: string | undefined }[],
  model: Model,
): void {
  for (const one of list) {
    put(transaction, { [`${one.row}:${one.column}`]: one.value });
    const values = model.get(one.row) ?? new Map<string, string>();
    if (one.value === undefined) values.delete(one.column);
    else values.set(one.column, one.value);
    model.set(one.row, values);
  }
}

function plain({ row: key, values }: ScannedRow): readonly [string, readonly string[]] {
  return [key, [...values].map(([c, v]) => `${c}=${String(v)}`).toSorted()];
}

function expectedRows(
  model: Model,
  { start, end, prefix = '', columns, limit, reverse = false, keysOnly = false }: ScanRange,
): (readonly [string, readonly string[]])[] {
  const order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return [...model]
    .toSorted(([a], [b]) => (reverse ? order(b, a) : order(a, b)))
    .filter(([key]) => start === undefined || order(key, start) >= 0)
    .filter(([key]) => end === undefined || order(key, end) < 0)
    .filter(([key]) => key.startsWith(prefix))
    .map(
      ([key, values]) => [key, [...values].filter(([c]) => columns?.includes(c) ?? true)] as const,
    )
    .filter(([, values]) => values.length > 0)
    .map(
      ([key, values]) =>
        [key, keysOnly ? [] : values.map(([c, v]) => `${c}=${v}`).toSorted()] as const,
    )
    .slice(0, limit);
}

test('the first key after a prefix is above each key with it, and no key is between', () => {
  const last = '\u{10ffff}';
  assert.deepEqual(['', 'a', 'ab', `a${last}`, `${last}${last}`, '\uD7FF'].map(afterPrefix), [
    undefined,
    'b',
    'ac',
    'b',
    undefined,
    '\uE000',
  ]);
});

test('a scan of all columns leaves out what observers have acknowledged, and waits for none of it', async () => {
  const percolator = await open();
  await percolator.transact(async (transaction) => put(transaction, { 'r:seen': '1', 'r:c': '2' }));
  const run = async (): Promise<void> => {};
  const worker = percolator.startWorker([{ name: 'o', table: 't', column: 'seen', run }]);
  await worker.idle();
  await worker.stop();
  const reader = await percolator.snapshot();
  const scanned = await Array.fromAsync(reader.scan({ table: 't' }));
  assert.deepEqual(scanned.map(plain), [['r', ['c=2', 'seen=1']]]);
});

test('a limit is the most rows that the store is asked for at first', async () => {
  const store = new FaultyBigtable(createMemoryBigtable());
  const percolator = await open(store);
  await percolator.transact(async (transaction) => put(transaction, { a: '1', b: '1', c: '1' }));
  await percolator.settled();
  const before = store.trace.length;
  const reader = await percolator.snapshot();
  const scanned = await Array.fromAsync(reader.scan({ table: 't', limit: 2 }));
  assert.deepEqual(
    scanned.map(({ row: key }) => key),
    ['a', 'b'],
  );
  const reads = store.trace.slice(before).filter((one) => one.kind === 'read' && one.table === 't');
  assert.equal(reads.length, 1);
});

test('a scan for one row passes over many deleted ones in few reads', async () => {
  const store = new FaultyBigtable(createMemoryBigtable());
  const percolator = await open(store);
  const deleted = Array.from({ length: 500 }, (_, i) => `deleted ${String(i).padStart(3, '0')}`);
  await percolator.transact(async (transaction) => {
    for (const key of deleted) put(transaction, { [key]: undefined });
    put(transaction, { living: '1' });
  });
  await percolator.settled();
  const before = store.trace.length;
  const reader = await percolator.snapshot();
  const scanned = await Array.fromAsync(reader.scan({ table: 't', limit: 1 }));
  assert.deepEqual(scanned.map(plain), [['living', ['c=1']]]);
  const reads = store.trace.slice(before).filter((one) => one.kind === 'read' && one.table === 't');
  assert.ok(reads.length < 20, `${reads.length} reads`);
});

test('the last row of a table or of a prefix is one read of one row', async () => {
  const store = new FaultyBigtable(createMemoryBigtable());
  const percolator = await open(store);
  await percolator.transact(async (transaction) => put(transaction, { a1: '1', a2: '2', b1: '3' }));
  await percolator.settled();
  const reader = await percolator.snapshot();
  const before = store.trace.length;
  const last = async (prefix?: string): Promise<readonly string[]> => {
    const range = { table: 't', prefix, limit: 1, reverse: true };
    return (await Array.fromAsync(reader.scan(range))).map(({ row: key }) => key);
  };
  assert.deepEqual([await last(), await last('a'), await last('c')], [['b1'], ['a2'], []]);
  const reads = store.trace.slice(before).filter((one) => one.kind === 'read' && one.table === 't');
  assert.equal(reads.length, 3);
});

test('keys alone are scanned without a value: none is read', async () => {
  const percolator = await open();
  await percolator.transact(async (transaction) => put(transaction, { a: 'x'.repeat(1_000) }));
  await percolator.settled();
  const cells: string[] = [];
  const { store } = percolator;
  const counted = await openPercolator({
    store: decorate(store, {
      readRange: async (table, range, filters) => {
        const rows = await store.readRange(table, range, filters);
        cells.push(...rows.flatMap((one) => one.cells.map(({ qualifier }) => qualifier)));
        return rows;
      },
    }),
  });
  const reader = await counted.snapshot();
  cells.length = 0;
  const scanned = await Array.fromAsync(reader.scan({ table: 't', keysOnly: true }));
  assert.deepEqual(scanned.map(plain), [['a', []]]);
  assert.deepEqual(cells, ['c:write']);
});

test('a scan that is aborted throws the reason of the signal, also while it waits for the store', async () => {
  const store = createMemoryBigtable();
  const asked = Promise.withResolvers<void>();
  const never = decorate(store, {
    readRange: (table, ...rest) => {
      if (table !== 't') return store.readRange(table, ...rest);
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const percolator = await open(never);
  const stop = new AbortController();
  const reader = await percolator.snapshot();
  const scan = Array.fromAsync(reader.scan({ table: 't', signal: stop.signal }));
  await asked.promise;
  const reason = new Error('the user went away');
  stop.abort(reason);
  await assert.rejects(scan, reason);
  const late = Array.fromAsync(reader.scan({ table: 't', signal: stop.signal }));
  await assert.rejects(late, reason);
});

test('a scan that is aborted yields no row more of those that it has read, or that were written', async () => {
  const percolator = await open();
  await percolator.transact(async (transaction) => put(transaction, { a: '1', b: '1', c: '1' }));
  const reason = new Error('the user went away');
  const seenUntilAborted = async (
    transaction: Transaction,
    reverse = false,
  ): Promise<readonly string[]> => {
    const stop = new AbortController();
    const seen: string[] = [];
    const scan = async (): Promise<void> => {
      for await (const found of transaction.scan({
        table: 't',
        reverse,
        signal: stop.signal,
      })) {
        seen.push(found.row);
        stop.abort(reason);
      }
    };
    await assert.rejects(scan(), reason);
    return seen;
  };
  const transaction = await percolator.begin();
  assert.deepEqual(await seenUntilAborted(transaction), ['a']);
  assert.deepEqual(await seenUntilAborted(transaction, true), ['c']);
  put(transaction, { x: '2', y: '2' });
  for (const key of ['a', 'b', 'c']) transaction.delete(cell(key));
  assert.deepEqual(await seenUntilAborted(transaction), ['x']);
  assert.deepEqual(await seenUntilAborted(transaction, true), ['y']);
});
