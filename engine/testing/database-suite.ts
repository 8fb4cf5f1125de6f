/**
 * A whole database on a storage: transactions, batching and reading ahead, scans, observers,
 * garbage collection, the audit, changes and backups. Each storage's test file calls
 * `databaseSuite` with a function that opens the storage; the tests use its tables `bank`,
 * `scanned`, `pages`, `often`, `log` and `moved`.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { backup, restore, type RestoreReport } from '../backup/index.ts';
import { isRetryable } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { fsck } from '../fsck.ts';
import type { Observer } from '../observer/index.ts';
import { openPercolator, type Percolator } from '../percolator.ts';
import { type CellAddress, everywhere, type Transaction } from '../transaction/index.ts';
import { createMemoryBigtable } from './memory-bigtable.ts';
import { temporaryFolder } from './temporary-folder.ts';

const ACCOUNTS = 16;
const START_BALANCE = 100;

export function databaseSuite(name: string, open: () => Promise<Bigtable>): void {
  describe(`a database on ${name}`, () => {
    claimTransfers(open);
    claimScans(open);
    claimObservers(open);
    claimSharedLocks(open);
    claimCollecting(open);
    claimChanges(open);
    claimBackups(open);
  });
}

function claimTransfers(open: () => Promise<Bigtable>): void {
  for (const [how, options] of [
    ['plainly', {}],
    ['with batching, and reading ahead', { batching: { delayMs: 1 }, prefetch: 'learn' }],
  ] as const) {
    test(`keeps the total of accounts while two databases on it run transfers ${how}`, async () => {
      await using storeA = await open();
      await using storeB = await open();
      await using one = await openPercolator({ store: storeA, ...options });
      await using other = await openPercolator({ store: storeB, ...options });
      await one.createTable('bank');
      await one.transact(async (transaction) => {
        for (let i = 0; i < ACCOUNTS; i++) {
          transaction.set(account(i), String(START_BALANCE));
          transaction.set(account(i, 'owner'), `owner ${i}`);
        }
      });
      const transfers = Array.from({ length: 48 }, (_, i) =>
        transfer(i % 2 === 0 ? one : other, i % ACCOUNTS, (i * 5 + 3) % ACCOUNTS),
      );
      await Promise.all(transfers);
      assert.equal(await total(one), ACCOUNTS * START_BALANCE);
      assert.equal(await total(other), ACCOUNTS * START_BALANCE);
      await one.settled();
      await other.settled();
      assert.deepEqual(await findings(storeA), []);
      if (!('batching' in options)) return;
      for (const { batchingCounters, counters } of [one, other]) {
        const { reads, conditionals } = batchingCounters;
        for (const lane of storeA.manifest.conditionalBatch ? [reads, conditionals] : [reads]) {
          const { operations, rpcs } = lane;
          assert.ok(rpcs > 0 && rpcs < operations, `${operations} operations in ${rpcs} calls`);
        }
        assert.ok(counters.prefetchedUsed > 0, 'what was read ahead was used');
      }
    });
  }
}

function claimScans(open: () => Promise<Bigtable>): void {
  test('scans from either end of a range, with own writes, whatever the pages and the tablets', async () => {
    await using store = await open();
    await using percolator = await openPercolator({ store });
    await percolator.createTable('scanned', { splits: ['row-04', 'row-08'] });
    const rows = Array.from({ length: 12 }, (_, i) => `row-${String(i).padStart(2, '0')}`);
    const set = (transaction: Transaction, some: readonly string[], value: string): void => {
      for (const row of some) transaction.set({ table: 'scanned', row, column: 'c' }, value);
    };
    await percolator.transact(async (transaction) => set(transaction, rows, 'old'));
    const transaction = await percolator.begin();
    set(transaction, ['row-03', 'row-08a', 'row-99'], 'own');
    transaction.delete({ table: 'scanned', row: 'row-11', column: 'c' });
    const expected = [...rows.slice(0, -1), 'row-08a', 'row-99'].toSorted();
    for (const batchRows of [1, 3, 128]) {
      for (const range of [{}, { start: 'row-03', end: 'row-09' }, { prefix: 'row-0' }]) {
        const asked = { table: 'scanned', batchRows, ...range };
        const forward = await Array.fromAsync(transaction.scan(asked));
        const reverse = await Array.fromAsync(transaction.scan({ ...asked, reverse: true }));
        assert.deepEqual(reverse.toReversed(), forward);
        if (Object.keys(range).length > 0) continue;
        assert.deepEqual(
          forward.map(({ row }) => row),
          expected,
        );
      }
    }
    const [last] = await Array.fromAsync(
      transaction.scan({ table: 'scanned', prefix: 'row-0', limit: 1, reverse: true }),
    );
    assert.equal(last?.row, 'row-09');
    transaction.discard();
  });
}

function claimObservers(open: () => Promise<Bigtable>): void {
  test('runs an observer for every change, and each of its runs commits once', async () => {
    await using store = await open();
    await using percolator = await openPercolator({ store });
    await percolator.createTable('pages', { observedColumns: ['text'] });
    const run: Observer['run'] = async (transaction, cell) => {
      const length = String(await transaction.get(cell)).length;
      transaction.set({ ...cell, column: 'length' }, String(length));
      const counter = { table: 'pages', row: 'total', column: 'runs' };
      transaction.set(counter, String(Number((await transaction.get(counter)) ?? 0) + 1));
    };
    await using worker = percolator.startWorker([
      { name: 'measure', table: 'pages', column: 'text', run },
    ]);
    for (let i = 0; i < 20; i++) {
      await percolator.transact(async (transaction) => {
        transaction.set({ table: 'pages', row: `page-${i}`, column: 'text' }, 'x'.repeat(i));
      });
    }
    await worker.idle();
    await using snapshot = await percolator.snapshot();
    for (let i = 0; i < 20; i++) {
      const length = await snapshot.get({ table: 'pages', row: `page-${i}`, column: 'length' });
      assert.equal(String(length), String(i));
    }
    const runs = await snapshot.get({ table: 'pages', row: 'total', column: 'runs' });
    assert.equal(String(runs), '20');
  });
}

function claimSharedLocks(open: () => Promise<Bigtable>): void {
  test('lets transactions share a lock, and no writer overlap them', async () => {
    await using store = await open();
    await using percolator = await openPercolator({ store });
    const definition = { sharedColumns: ['limit'] };
    await percolator.createTable('orders', definition);
    await percolator.createTable('orders', definition); // Harmless.
    await assert.rejects(percolator.createTable('orders'), { code: 'TABLE_MISMATCH' });
    const limit = { table: 'orders', row: 'bob', column: 'limit' };
    const [writer, ...sharing] = await Promise.all(
      Array.from({ length: 4 }, () => percolator.begin()),
    );
    writer?.set(limit, '0');
    await Promise.all(
      sharing.map(async (transaction, i) => {
        await transaction.lock(limit, { shared: true });
        transaction.set({ ...limit, column: `order ${i}` }, 'book');
      }),
    );
    await Promise.all(sharing.map((transaction) => transaction.commit()));
    await assert.rejects(async () => writer?.commit(), { code: 'WRITE_CONFLICT' });
    await percolator.transact(async (transaction) => transaction.set(limit, '1'));
    await percolator.settled();
    await using snapshot = await percolator.snapshot();
    const row = await snapshot.getRow({ table: 'orders', row: 'bob' });
    assert.deepEqual([...row.keys()].toSorted(), ['limit', 'order 0', 'order 1', 'order 2']);
    assert.deepEqual(await findings(store), []);
  });
}

function claimCollecting(open: () => Promise<Bigtable>): void {
  test('collects old versions, keeps what is current, and passes the audit', async () => {
    await using store = await open();
    await using percolator = await openPercolator({ store });
    await percolator.createTable('often');
    const cell = { table: 'often', row: 'r', column: 'c' };
    for (let i = 0; i < 30; i++) {
      await percolator.transact(async (transaction) => transaction.set(cell, String(i)));
    }
    await percolator.settled();
    assert.ok((await versions(store)) >= 30);
    const { messageLifetimeMs = 50 } = store.manifest;
    await percolator.collectGarbage({ messageLifetimeMs });
    assert.ok((await versions(store)) <= 2);
    await using snapshot = await percolator.snapshot();
    assert.equal(String(await snapshot.get(cell)), '29');
    assert.deepEqual(await findings(store), []);
  });
}

function claimChanges(open: () => Promise<Bigtable>): void {
  test('reports each change once, in the order of the commits, while two databases write', async () => {
    await using storeA = await open();
    await using storeB = await open();
    await using one = await openPercolator({ store: storeA });
    await using other = await openPercolator({ store: storeB });
    await one.createTable('log');
    const events = one.changes('log', { follow: true, before: true, bytesMax: 2_000 });
    await events.next(); // From now on.
    const committed = await Promise.all(
      Array.from({ length: 30 }, (_, i) => writeTwo(i % 2 === 0 ? one : other, i)),
    );
    const expected = committed.toSorted((a, b) => a.at - b.at).flatMap(({ cells }) => cells);
    const seen: string[] = [];
    let resolved = 0;
    for await (const event of events) {
      if (event.kind === 'change') seen.push(`${event.row}=${textOf(event.value)}`);
      else if ((resolved = event.timestamp) > Math.max(...committed.map(({ at }) => at))) break;
    }
    assert.deepEqual(seen, expected);
    assert.ok(resolved > 0);
  });
}

async function writeTwo(
  percolator: Percolator,
  i: number,
): Promise<{ readonly at: number; readonly cells: readonly string[] }> {
  for (;;) {
    const transaction = await percolator.begin();
    try {
      const rows = [`row ${i % 7}`, `single ${String(i).padStart(2, '0')}`];
      for (const row of rows) transaction.set({ table: 'log', row, column: 'c' }, String(i));
      return { at: await transaction.commit(), cells: rows.map((row) => `${row}=${i}`) };
    } catch (error) {
      transaction.discard();
      if (!isRetryable(error)) throw error;
    }
  }
}

function claimBackups(open: () => Promise<Bigtable>): void {
  test('is restored from a backup, and into a backup goes what its snapshot sees', async () => {
    const folder = temporaryFolder();
    await using store = await open();
    await using percolator = await openPercolator({ store });
    await using memory = await openPercolator({ store: createMemoryBigtable() });
    await memory.createTable('moved', { observedColumns: ['seen'], splits: ['row 5'] });
    for (let i = 0; i < 10; i++) {
      await memory.transact(async (transaction) => {
        for (let j = 0; j < 20; j++) {
          transaction.set({ table: 'moved', row: `row ${i} ${j}`, column: 'seen' }, `${i} ${j}`);
        }
      });
    }
    const { at } = await moved(memory, percolator, join(folder, 'there.backup'));
    const content = await contentOf(memory, at);
    assert.deepEqual(await contentOf(percolator), content);
    assert.equal(content.length, 200);
    await percolator.transact(async (transaction) => {
      transaction.delete({ table: 'moved', row: 'row 3 3', column: 'seen' });
      transaction.set({ table: 'moved', row: 'row 3 4', column: 'other' }, 'new');
    });
    await using back = await openPercolator({ store: createMemoryBigtable() });
    await moved(percolator, back, join(folder, 'back.backup'));
    assert.deepEqual(await contentOf(back), await contentOf(percolator));
    await percolator.dropTable('moved');
  });
}

async function moved(from: Percolator, into: Percolator, file: string): Promise<RestoreReport> {
  await backup(from, { to: file });
  return restore(into, { from: file });
}

async function contentOf(percolator: Percolator, at?: number): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { row, column, value } of percolator.cells('moved', { at })) {
    found.push(`${row}:${column}=${textOf(value)}`);
  }
  return found;
}

function textOf(value: Uint8Array | undefined): string {
  return value === undefined ? 'deleted' : Buffer.from(value).toString();
}

function account(i: number, column = 'balance'): CellAddress {
  return { table: 'bank', row: `account-${i}`, column };
}

async function transfer(percolator: Percolator, from: number, to: number): Promise<void> {
  await percolator.transact(async (transaction) => {
    if (from === to) return;
    assert.equal(String(await transaction.get(account(from, 'owner'))), `owner ${from}`);
    const balance = await balanceOf(transaction, from);
    const other = await balanceOf(transaction, to);
    transaction.set(account(from), String(balance - 1));
    transaction.set(account(to), String(other + 1));
  });
}

async function balanceOf(transaction: Pick<Transaction, 'get'>, i: number): Promise<number> {
  return Number(await transaction.get(account(i)));
}

async function total(percolator: Percolator): Promise<number> {
  await using snapshot = await percolator.snapshot();
  let sum = 0;
  for (let i = 0; i < ACCOUNTS; i++) sum += await balanceOf(snapshot, i);
  return sum;
}

async function findings(store: Bigtable): Promise<readonly string[]> {
  const found: string[] = [];
  const audit = await fsck(store);
  for await (const { code, severity } of audit) {
    if (severity === 'error') found.push(code);
  }
  return found;
}

async function versions(store: Bigtable): Promise<number> {
  const row = await store.readRow('often', 'r', [everywhere('write')]);
  return row?.cells.length ?? 0;
}
