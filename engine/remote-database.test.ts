/**
 * A whole database on the official emulator, over the remote store, where nothing is ordered and
 * every conditional mutation is a call of its own.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findEmulator } from './bigtable/remote/emulator.ts';
import { createClients } from './bigtable/remote/data-calls.ts';
import { type Bigtable, type Emulator, openPercolator, openStore, startEmulator } from './index.ts';
import { databaseSuite } from './testing/database-suite.ts';

const isThere = (await findEmulator(process.env)) !== undefined;

describe('on the remote store', { skip: isThere ? false : 'no emulator found' }, () => {
  let emulator: Emulator;
  before(async () => {
    emulator = await startEmulator({ environment: process.env });
  });
  after(() => emulator.stop());

  const open = (): Promise<Bigtable> => openStore({ kind: 'emulator', address: emulator.address });

  databaseSuite('the official emulator', open);

  test('a table with a GC rule of Bigtable is refused', async () => {
    await using store = await open();
    await using percolator = await openPercolator({ store });
    await percolator.createTable('ruled');
    await addRule(emulator.address, 'ruled');
    // The first store remembers the families of the table, which this one sees for the first time.
    await using again = await open();
    await using second = await openPercolator({ store: again });
    await assert.rejects(second.createTable('ruled'), {
      code: 'TABLE_MISMATCH',
      message: /GC rule/,
    });
    await percolator.dropTable('ruled');
  });
});

/** What an uninformed operator might do. */
async function addRule(plainAddress: string, table: string): Promise<void> {
  const clients = await createClients(plainAddress);
  await clients.tables.modifyColumnFamilies({
    name: `projects/percolator-bench/instances/emulator/tables/${table}`,
    modifications: [{ id: 'cells', update: { gcRule: { maxNumVersions: 1 } } }],
  });
  await clients.close();
}
