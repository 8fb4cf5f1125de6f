/**
 * A whole database on the official emulator: transactions, observers, garbage collection and the
 * audit over the remote store, where nothing is ordered and every conditional mutation is a call of
 * its own.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findEmulator } from './bigtable/remote/find-emulator.ts';
import { createClients } from './bigtable/remote/client.ts';
import {
  type Bigtable,
  type Emulator,
  fsck,
  type Observer,
  openPercolator,
  openStore,
  type Percolator,
  startEmulator,
  systemClock,
  type Transaction,
} from './index.ts';
import { everywhere } from './transaction/index.ts';

const isThere = (await findEmulator(process.env)) !== undefined;
const ACCOUNTS = 16;
const START_BALANCE = 100;

describe(
  'a database on the official emulator',
  { skip: isThere ? false : 'no emulator found' },
  () => {
    let emulator: Emulator;
    before(async () => {
      emulator = await startEmulator({ environment: process.env });
    });
    after(() => emulator.stop());

    const open = (): Promise<Bigtable> =>
      openStore({ kind: 'emulator', address: emulator.address });

    test('keeps the total of accounts while two databases on it run transfers', async () => {
      await using storeA = await open();
      await using storeB = await open();
      await using one = await openPercolator({ store: storeA });
      await using other = await openPercolator({ store: storeB });
      await one.createTable('bank');
      await one.transact(async (transaction) => {
        for (let i = 0; i < ACCOUNTS; i++) transaction.set(account(i), String(START_BALANCE));
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
    });

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
      await percolator.collectGarbage({ messageLifetimeMs: 50 });
      assert.ok((await versions(store)) <= 2);
      await using snapshot = await percolator.snapshot();
      assert.equal(String(await snapshot.get(cell)), '29');
      assert.deepEqual(await findings(store), []);
    });

    test('is refused on a table with a GC rule of Bigtable', async () => {
      await using store = await open();
      await using percolator = await openPercolator({ store });
      await percolator.createTable('ruled');
      await addRule(emulator.address, 'ruled');
      await using again = await open();
      await using second = await openPercolator({ store: again });
      await assert.rejects(second.createTable('ruled'), {
        code: 'TABLE_MISMATCH',
        message: /GC rule/,
      });
      await percolator.dropTable('ruled');
    });
  },
);

function account(i: number): { table: string; row: string; column: string } {
  return { table: 'bank', row: `account-${i}`, column: 'balance' };
}

async function transfer(percolator: Percolator, from: number, to: number): Promise<void> {
  await percolator.transact(async (transaction) => {
    if (from === to) return;
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

/** What an uninformed operator might do. */
async function addRule(plainAddress: string, table: string): Promise<void> {
  const clients = await createClients({ clock: systemClock, plainAddress });
  await clients.tables.modifyColumnFamilies({
    name: `projects/percolator-bench/instances/emulator/tables/${table}`,
    modifications: [{ id: 'cells', update: { gcRule: { maxNumVersions: 1 } } }],
  });
  await clients.close();
}
