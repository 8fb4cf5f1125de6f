/**
 * P57 for bulk load: observed cells that were not acknowledged, and derived ones, are notified, and
 * observers run for them. And what is refused, and how a batch that fails is reported.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from './base/index.ts';
import { decorate } from './bigtable/index.ts';
import { openBulkLoader } from './bulk-load.ts';
import { fsck } from './fsck.ts';
import { openPercolator, type Percolator } from './percolator.ts';
import { createMemoryBigtable, FaultyBigtable } from './testing/index.ts';
import { summaryOf } from './testing/planting.ts';
import { notifyTable } from './transaction/index.ts';

async function load(percolator: Percolator): Promise<void> {
  const loader = await openBulkLoader(percolator);
  // Created after the loader was opened, as a program may do.
  await percolator.createTable('t', { observedColumns: ['seen', 'next'] });
  const value = Buffer.from('1');
  const by = (column: string) => ({ acknowledged: [{ observer: 'o', column }] });
  await loader.add({ table: 't', row: 'a', cells: [{ column: 'seen', value }] });
  await loader.add({ table: 't', row: 'b', cells: [{ column: 'seen', value }], ...by('seen') });
  await loader.add({ table: 't', row: 'c', cells: [{ column: 'unseen', value }] });
  const derived = { column: 'next', value, derived: true };
  await loader.add({ table: 't', row: 'd', cells: [derived], ...by('next') });
  await loader.finish();
}

test('P57: observers run once for cells of a bulk load that were not acknowledged, and for derived ones', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  await load(percolator);
  assert.deepEqual((await Array.fromAsync(await fsck(percolator.store))).map(summaryOf), []);
  const saw: string[] = [];
  const observers = ['seen', 'next'].map((column) => ({
    name: 'o',
    table: 't',
    column,
    run: async (_: unknown, { row }: { readonly row: string }) => void saw.push(`${row}:${column}`),
  }));
  await using worker = percolator.startWorker(observers);
  await worker.idle();
  assert.deepEqual(saw.toSorted(), ['a:seen', 'd:next']);
});

test('P57: a worker that already runs sees every row of a bulk load', async () => {
  const memory = createMemoryBigtable();
  await using other = await openPercolator({ store: memory });
  await other.createTable('t', { observedColumns: ['seen'] });
  const saw = new Set<string>();
  const run = async (_: unknown, { row }: { readonly row: string }) => void saw.add(row);
  await using worker = other.startWorker([{ name: 'o', table: 't', column: 'seen', run }]);
  // On Bigtable and HBase, each table of a batch is a call of its own: here the notifications come
  // first.
  const store = decorate(memory, {
    mutateRows: async (rows) => {
      const { notifications = [], others = [] } = Object.groupBy(rows, ({ table }) =>
        table === notifyTable('t') ? 'notifications' : 'others',
      );
      await memory.mutateRows(notifications);
      await worker.idle();
      await memory.mutateRows(others);
    },
  });
  await using percolator = await openPercolator({ store });
  const loader = await openBulkLoader(percolator);
  const cells = [{ column: 'seen', value: Buffer.from('1') }];
  const rows = Array.from({ length: 1_500 }, (_, i) => `r${i}`);
  for (const row of rows) await loader.add({ table: 't', row, cells });
  await loader.finish();
  await worker.idle();
  assert.equal(saw.size, rows.length);
});

test('a column of acknowledgments is refused: its value would be lost', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  await percolator.createTable('t');
  const loader = await openBulkLoader(percolator);
  const cells = [{ column: 'ack_me', value: Buffer.from('1') }];
  const refused = { code: 'INVALID_ARGUMENT', message: /ack_me/ };
  await assert.rejects(loader.add({ table: 't', row: 'a', cells }), refused);
  await loader.finish();
});

test('what is not a row, a column or bytes is refused: the storage would take a text for bytes', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  await percolator.createTable('t');
  const loader = await openBulkLoader(percolator);
  const value = Buffer.from('1');
  for (const [cells, message] of [
    [undefined, /^a row of a bulk load must be an object with the texts table and row, and a list/],
    [
      [undefined],
      'a cell of a bulk load must be an object with a column and a value, not undefined',
    ],
    [[{ column: 5, value }], 'a column of a bulk load must be a text, not 5'],
    [
      [{ column: 'c', value: 'abc' }],
      "a value of a bulk load must be bytes in a Uint8Array, not 'abc'",
    ],
    [
      [{ column: 'c', value, derived: 'yes' }],
      "derived of a bulk load must be true or false, not 'yes'",
    ],
  ] as const) {
    const row = { table: 't', row: 'a', cells: cells as never };
    await assert.rejects(loader.add(row), { code: 'INVALID_ARGUMENT', message });
  }
  await loader.finish();
});

test('a bulk load reports a batch that fails while the next one gathers, and the process lives', async () => {
  const store = new FaultyBigtable(createMemoryBigtable());
  await using percolator = await openPercolator({ store });
  await percolator.createTable('t');
  const loader = await openBulkLoader(percolator);
  store.loseRequest(({ table }) => table === 't');
  const cells = [{ column: 'c', value: Buffer.from('1') }];
  for (let i = 0; i < 1_000; i++) await loader.add({ table: 't', row: `r${i}`, cells });
  await systemClock.yield(); // A rejection that is not awaited would end the process here.
  await systemClock.yield();
  await assert.rejects(loader.finish(), { code: 'STORE_IN_DOUBT' });
});

test('a bulk load reports a batch that fails, even if rows are added without waiting for each other', async () => {
  const store = new FaultyBigtable(createMemoryBigtable());
  await using percolator = await openPercolator({ store });
  await percolator.createTable('t');
  const loader = await openBulkLoader(percolator);
  let sent = 0;
  store.loseRequest(({ table }) => table === 't' && sent++ === 0);
  const cells = [{ column: 'c', value: Buffer.from('1') }];
  const rows = Array.from({ length: 1_002 }, (_, i) => ({ table: 't', row: `r${i}`, cells }));
  const added = await Promise.allSettled(rows.map((row) => loader.add(row)));
  const finished = await loader.finish().then(
    () => 'fulfilled',
    () => 'rejected',
  );
  assert.ok([...added.map(({ status }) => status), finished].includes('rejected'));
});
