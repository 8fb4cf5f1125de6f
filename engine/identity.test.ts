/**
 * Claims of a database about its identity: it opens only with its own oracle (P73), and every call
 * says so when the store has lost it (P74).
 */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import {
  connectOracle,
  openAllocator,
  openPercolator,
  type Percolator,
  serveOracle,
  type TimestampOracle,
  batchTimestamps,
} from './index.ts';
import { identify } from './oracle/index.ts';
import { type Bigtable, decorate } from './bigtable/index.ts';
import { cell, createMemoryBigtable } from './testing/index.ts';

const x = cell('x');
const LOST = { code: 'WRONG_DATABASE', message: /^the store is no longer that of the database / };

describe('P73: a database opens only with its own oracle', () => {
  const oracles = {
    'in this process': async (_: TestContext, store: Bigtable) =>
      batchTimestamps(await openAllocator(store)),
    'of a service': async (t: TestContext, store: Bigtable) => {
      const server = await serveOracle(await openAllocator(store));
      t.after(() => server.close());
      const client = connectOracle({ addresses: [server.address], timeoutMs: 3_600_000 });
      t.after(() => client.close());
      return client;
    },
  };
  for (const [where, oracleOf] of Object.entries(oracles)) {
    test(`an oracle ${where}`, async (t) => {
      const [store, other] = [createMemoryBigtable(), createMemoryBigtable()];
      const [right, wrong] = [await oracleOf(t, store), await oracleOf(t, other)];
      const names = [await identify(store), await identify(other)].map(({ name }) => name);
      await assert.rejects(openPercolator({ store, oracle: wrong }), {
        code: 'WRONG_DATABASE',
        message: new RegExp(`it belongs to the database ${names[1]}, not to the .* ${names[0]}:`),
      });
      const percolator = await openPercolator({ store, oracle: right });
      await percolator.createTable('t');
      await assert.rejects(openPercolator({ store: other, oracle: right }), {
        code: 'WRONG_DATABASE',
      });
    });
  }
});

describe('P74: when the store came back empty, or has another database, every call says so', () => {
  for (const what of ['came back empty', 'has another database'] as const) {
    for (const oracle of ['its own', 'of another process'] as const) {
      test(`the store ${what}; the oracle is ${oracle}`, async () => {
        const place = createSwappedStore();
        const percolator = await openUsed(place.store, oracle === 'its own' ? undefined : place);
        const snapshot = await percolator.snapshot();
        const worker = percolator.startWorker([observer()]);
        const collector = percolator.startCollector({ restMs: 5, messageLifetimeMs: 1 });
        await worker.idle();
        place.replace();
        if (what === 'has another database') await openUsed(place.store);
        await assertLost(percolator);
        await assert.rejects(worker.idle(), LOST);
        if (what === 'came back empty') await assert.rejects(snapshot.get(x), LOST);
        await assert.rejects(collector.ended, LOST);
        await worker.stop().catch(() => {});
      });
    }
  }

  test('and goes on when the store is back', async () => {
    const place = createSwappedStore();
    const percolator = await openUsed(place.store);
    const back = place.replace();
    await assertLost(percolator);
    back();
    await percolator.createTable('u');
    await percolator.transact(async (transaction) => transaction.set(x, '2'));
  });
});

async function assertLost(percolator: Percolator): Promise<void> {
  const transaction = { primary: x, startTimestamp: 1 };
  const calls: Record<string, () => Promise<unknown>> = {
    get: () => percolator.transact((reader) => reader.get(x)),
    set: () => percolator.transact(async (writer) => writer.set(x, '2')),
    createTable: () => percolator.createTable('t', { observedColumns: ['c'] }),
    createAnother: () => percolator.createTable('u'),
    dropTable: () => percolator.dropTable('t'),
    storedName: () => percolator.storedName('t'),
    outcomeOf: () => percolator.outcomeOf(transaction),
    listParked: () => percolator.listParked('t'),
    replayParked: () => percolator.replayParked({ ...x, weak: false, failures: 1, error: '' }),
    collectGarbage: () => percolator.collectGarbage(),
  };
  for (const [name, call] of Object.entries(calls)) await assert.rejects(call(), LOST, name);
}

async function openUsed(store: Bigtable, oracle?: SwappedStore): Promise<Percolator> {
  const given = oracle && (await oracle.openOracle());
  const percolator = await openPercolator({ store, oracle: given });
  await percolator.createTable('t', { observedColumns: ['c'] });
  await percolator.transact(async (transaction) => transaction.set(x, '1'));
  await percolator.settled();
  return percolator;
}

function observer(): Parameters<Percolator['startWorker']>[0][number] {
  return { name: 'o', table: 't', column: 'c', run: async () => {} };
}

interface SwappedStore {
  readonly store: Bigtable;
  /** Puts an empty store there. @returns a function that brings the old one back */
  replace(): () => void;
  openOracle(): Promise<TimestampOracle>;
}

/** An address at which different stores may be, one after the other. */
function createSwappedStore(): SwappedStore {
  const first = createMemoryBigtable();
  let now = first;
  const store = decorate(first, {
    readRow: (...given) => now.readRow(...given),
    readRows: (...given) => now.readRows(...given),
    readRange: (...given) => now.readRange(...given),
    checkAndMutateRow: (conditional) => now.checkAndMutateRow(conditional),
    checkAndMutateRows: (conditionals) => now.checkAndMutateRows(conditionals),
    mutateRows: (rows) => now.mutateRows(rows),
    sampleRowKeys: (table) => now.sampleRowKeys(table),
    createTable: (table, schema) => now.createTable(table, schema),
    listTables: () => now.listTables(),
    dropTable: (table) => now.dropTable(table),
  });
  return {
    store,
    replace: () => {
      now = createMemoryBigtable();
      return () => {
        now = first;
      };
    },
    openOracle: async () => batchTimestamps(await openAllocator(store)),
  };
}
