/** What only the HBase store promises, as claims for a real HBase and for the simulated one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { systemClock } from '../../base/index.ts';
import { createMemoryBigtable } from '../../testing/index.ts';
import type { Bigtable, RowMutation } from '../bigtable.ts';
import { answer, operationOf, SCHEMA, TABLES, wholeTables } from '../random-operations.ts';
import { Connection, Deadlines } from './connection.ts';
import { openHBase } from './index.ts';
import { Kerberos } from './kerberos.ts';
import { messageOf } from './messages.ts';

const set = (row: string, timestamp = 1, bytes = 1000): RowMutation => ({
  table: 'own',
  row,
  mutations: [
    { kind: 'set', family: 'data', qualifier: 'q', timestamp, value: Buffer.alloc(bytes) },
  ],
});
const filters = [{ family: 'data' }];

export function claimHBase(
  open: () => Promise<Bigtable>,
  { servers }: { readonly servers: readonly string[] },
): void {
  claimReads(open);
  claimLimits(open);
  claimSentences(servers);
}

function claimReads(open: () => Promise<Bigtable>): void {
  test('reads more rows than fit in one call, through several regions', async () => {
    await using store = await open();
    await store.createTable('own', { families: ['data'], splits: ['r01000', 'r02000'] });
    const rows = Array.from({ length: 4500 }, (_, i) => `r${String(i).padStart(5, '0')}`);
    await store.mutateRows(rows.map((row) => set(row)));
    const read = await store.readRows('own', [...rows.toReversed(), 'absent'], filters);
    assert.deepEqual(
      read.map((row) => row?.key),
      [...rows.toReversed(), undefined],
    );
    for (const limit of [Infinity, 4500, 4499, 2000, 1000, 1001]) {
      const page = await store.readRange('own', { limit }, filters);
      assert.equal(page.length, Math.min(limit, 4500));
    }
    const before = await store.readRange('own', { end: `${rows[2000]}\0`, limit: 9999 }, filters);
    assert.equal(before.length, 2001);
    for (const limit of [Infinity, 4500, 4499, 2001, 1]) {
      const page = await store.readRange('own', { limit, reverse: true }, filters);
      assert.deepEqual(
        page.map(({ key }) => key),
        rows.toReversed().slice(0, limit),
      );
    }
    await store.dropTable('own');
  });

  test('reads from its start a table whose first region can have no row', async () => {
    await using store = await open();
    await store.createTable('own', { families: ['data'], splits: ['\0'] });
    await store.mutateRows([set('\0'), set('r')]);
    await using reading = await open(); // No server has proven to it yet that it owns its regions.
    assert.deepEqual(await reading.readRange('own', { end: '\0', limit: 9 }, filters), []);
    const read = await reading.readRange('own', { limit: 9 }, filters);
    assert.deepEqual(
      read.map((row) => row.key),
      ['\0', 'r'],
    );
    const backwards = await reading.readRange('own', { limit: 9, reverse: true }, filters);
    assert.deepEqual(backwards, read.toReversed());
    await store.dropTable('own');
  });

  test('finds a version that many newer ones hide, with filters of different ends', async () => {
    await using store = await open();
    await store.createTable('own', { families: ['data'] });
    await store.mutateRows(Array.from({ length: 200 }, (_, i) => set('r', i + 1, 1)));
    const column = { family: 'data', qualifier: 'q', versions: 1 };
    const both = [column, { ...column, to: 3 }, { ...column, from: 50, to: 60, versions: 2 }];
    const row = await store.readRow('own', 'r', both);
    assert.deepEqual(
      row?.cells.map(({ timestamp }) => timestamp),
      [200, 3, 60, 59],
    );
    const [scanned] = await store.readRange('own', { limit: 5 }, both);
    assert.deepEqual(scanned, row);
    await store.dropTable('own');
  });
}

function claimLimits(open: () => Promise<Bigtable>): void {
  test('refuses what HBase does not have, before anything is sent', async () => {
    await using store = await open();
    await store.createTable('own', { families: ['data'] });
    const erase = { kind: 'erase', family: 'data', qualifier: 'q', from: 2, to: 4 } as const;
    const refused = { code: 'INVALID_ARGUMENT' };
    await assert.rejects(store.mutateRows([{ ...set('r'), mutations: [erase] }]), refused);
    const check = { table: 'own', row: 'r', anyOf: filters, ifNotFound: set('r').mutations };
    await assert.rejects(store.checkAndMutateRow(check), refused);
    assert.deepEqual(await store.readRange('own', { limit: 1 }, filters), []);
    await store.dropTable('own');
  });

  test('finds the last one of hundreds of columns of a check', async () => {
    await using store = await open();
    await store.createTable('own', { families: ['data'] });
    await store.mutateRows([set('r')]);
    const others = Array.from({ length: 200 }, (_, i) => ({ family: 'data', qualifier: `${i}` }));
    const anyOf = [...others, { family: 'data', qualifier: 'q' }];
    const check = { table: 'own', row: 'r', anyOf, ifFound: set('r', 2).mutations };
    assert.equal(await store.checkAndMutateRow(check), true);
    const row = await store.readRow('own', 'r', filters);
    assert.equal(row?.cells.length, 2);
    await store.dropTable('own');
  });

  test('random operations get the same answers as from the memory store with tombstones', async () => {
    await using store = await open();
    const operations = fc.array(operationOf(store.manifest), { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(operations, async (steps) => {
        await using memory = createMemoryBigtable(store.manifest);
        for (const name of TABLES) {
          await store.dropTable(name);
          await store.createTable(name, SCHEMA);
          await memory.createTable(name, SCHEMA);
        }
        for (const next of [...steps, ...wholeTables()]) {
          assert.deepEqual(await answer(store, next), await answer(memory, next));
        }
      }),
      { numRuns: 8 },
    );
    for (const name of TABLES) await store.dropTable(name);
  });
}

function claimSentences(servers: readonly string[]): void {
  test('does not ask for Kerberos, and is refused by who demands it', async () => {
    const nothing = async (): Promise<string> => '';
    const context = { contextComplete: false, step: nothing, unwrap: nothing, wrap: nothing };
    const connection = new Connection(servers[0] ?? '', 'MasterService', {
      clock: systemClock,
      deadlines: new Deadlines(systemClock),
      tls: false,
      user: 'test',
      kerberos: new Kerberos('hbase/_HOST', async () => context),
    });
    const type = messageOf('GetTableDescriptorsRequest');
    const response = messageOf('GetTableDescriptorsResponse');
    const call = { type, value: {}, response };
    await assert.rejects(connection.call('GetTableDescriptors', call, 60_000), {
      code: 'STORE_REFUSED',
      message: /does not ask for Kerberos, and principal says that it must/,
    });
    connection.close();
  });

  test('reports a namespace that is missing, and an address without a server', async () => {
    const other = openHBase({ servers, namespace: 'nowhere' });
    await assert.rejects(other, { code: 'STORE_REFUSED', message: /nowhere/ });
    await assert.rejects(openHBase({ servers: ['127.0.0.1:1'] }), {
      code: 'STORE_UNAVAILABLE',
      message: /^no HBase answers at 127.0.0.1:1: .*ECONNREFUSED/,
    });
  });
}
