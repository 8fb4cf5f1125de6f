/**
 * What an operator is told of a database is true: of its own oracles only, without writing, and
 * also while something changes or does not answer.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { PercolatorError, systemClock } from '../base/index.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import { type LeasedAllocator, openLeasedAllocator } from '../oracle/index.ts';
import type { TimestampSource } from '../oracle/oracle.ts';
import { serveOracle } from '../oracle/server.ts';
import { openPercolator } from '../percolator.ts';
import { createMemoryBigtable, temporaryFolder } from '../testing/index.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { readStatus, statusLines, storeStatus } from './status.ts';
import { waitFor } from './wait.ts';

const STORE = ['t', 'u'];

/** A folder with a database that is not in use. */
async function databaseFolder(): Promise<string> {
  const folder = path.join(temporaryFolder(), 'data');
  await using percolator = await openPercolator({ folder });
  for (const table of STORE) await percolator.createTable(table, { observedColumns: ['c'] });
  await percolator.transact(async (transaction) => {
    transaction.set({ table: 't', row: 'r', column: 'c' }, 'v');
  });
  return folder;
}

function configurationOf(config: object): Configuration {
  return readConfiguration({ config, options: {}, environment: {}, folder: '/' });
}

async function serve(t: TestContext, source: TimestampSource): Promise<string> {
  const server = await serveOracle(source);
  t.after(() => server.close());
  return server.address;
}

/** An oracle of this store, or of one in memory. */
async function oracleOn(t: TestContext, store = createMemoryBigtable()): Promise<LeasedAllocator> {
  const source = await openLeasedAllocator(store, systemClock);
  t.after(() => source.close());
  return source;
}

/** As an oracle that leads the database of `identity`, or stands by. */
function sourceOf(
  identity: string,
  { isLeading, newest }: { readonly isLeading: boolean; readonly newest: () => number },
): TimestampSource {
  const answer = async (): Promise<number> => {
    if (isLeading) return 0;
    throw new PercolatorError('STORE_UNAVAILABLE', 'another process does it');
  };
  return {
    identity,
    isLeading,
    epoch: 7,
    get newest() {
      return newest();
    },
    readHorizon: answer,
    allocate: () => assert.fail('status allocates nothing'),
    raiseHorizon: answer,
    announceDrop: answer,
    belongTo: async () => {},
  };
}

test('an oracle of another database neither leads nor stands by, and nothing is ready', async (t) => {
  const store = await databaseFolder();
  const oracles = [await serve(t, await oracleOn(t)), await serve(t, await oracleOn(t))];
  const configuration = configurationOf({ store, oracles });
  const status = await readStatus(configuration);
  assert.deepEqual(
    status.oracles.map(({ state, epoch }) => ({ state, epoch })),
    oracles.map(() => ({ state: 'another database', epoch: null })),
  );
  assert.equal(status.timestamps.perSecond, null);
  assert.match(statusLines(status).join('\n'), /is an oracle of the database \S+, not of this one/);
  assert.equal(await waitFor(configuration, 'ready', 0), 'no oracle leads');
});

test('the rate is read, and no timestamp allocated; a standby is told by what it says of itself', async (t) => {
  const store = await databaseFolder();
  const { database } = await readStatus(configurationOf({ store }));
  let newest = 1_000;
  const leader = sourceOf(database ?? '', { isLeading: true, newest: () => (newest += 500) });
  const standby = sourceOf(database ?? '', { isLeading: false, newest: () => 0 });
  const oracles = [await serve(t, standby), await serve(t, leader)];
  const status = await readStatus(configurationOf({ store, oracles }));
  assert.deepEqual(
    status.oracles.map(({ state, epoch }) => ({ state, epoch })),
    [
      { state: 'stands by', epoch: null },
      { state: 'leads', epoch: 7 },
    ],
  );
  const { perSecond } = status.timestamps;
  assert.ok(perSecond !== null && perSecond > 10 && perSecond <= 1_000, `${perSecond}`);
  assert.ok((status.horizon.age ?? 0) >= 1_500, `${status.horizon.age}`);
  assert.equal(await waitFor(configurationOf({ store, oracles }), 'ready', 0), undefined);
});

test('an oracle hears of its database later: until then it is not one of another', async (t) => {
  const store = await databaseFolder();
  const { database } = await readStatus(configurationOf({ store }));
  let identity: string | undefined;
  const source: TimestampSource = {
    ...sourceOf('', { isLeading: true, newest: () => 0 }),
    newest: undefined,
    get identity() {
      return identity;
    },
  };
  const oracles = [await serve(t, source)];
  for (const told of [undefined, database ?? undefined, 'of another store']) {
    identity = told;
    const status = await readStatus(configurationOf({ store, oracles }));
    const isOther = told === 'of another store';
    assert.equal(status.oracles[0]?.state, isOther ? 'another database' : 'leads');
  }
});

test('an oracle that does not know its newest timestamp makes neither a rate nor an age', async (t) => {
  const store = await databaseFolder();
  const { database } = await readStatus(configurationOf({ store }));
  const source = sourceOf(database ?? '', { isLeading: true, newest: () => 0 });
  const status = await readStatus(configurationOf({ store, oracles: [await serve(t, source)] }));
  assert.equal(status.oracles[0]?.state, 'leads');
  assert.equal(status.timestamps.perSecond, null);
  assert.equal(status.horizon.age, null);
});

test('an oracle knows the newest timestamp that it has handed out', async (t) => {
  const source = await oracleOn(t);
  const { first } = await source.allocate(100);
  assert.equal(source.newest, first + 99);
  assert.equal(source.handedOut, 100);
});

test('a server of another kind is no oracle', async (t) => {
  const store = await databaseFolder();
  const { serveLocks } = await import('../lock-service/server.ts');
  const server = await serveLocks();
  t.after(() => server.close());
  const oracle = await serve(t, await oracleOn(t));
  const given = { store, oracles: [server.address], lockServices: [oracle, server.address] };
  const status = await readStatus(configurationOf(given));
  assert.equal(status.oracles[0]?.state, 'does not answer');
  assert.match(status.oracles[0]?.why ?? '', /serves percolator\.locks\.v1\.LockService/);
  assert.deepEqual(
    status.lockServices.map(({ answers }) => answers),
    [false, true],
  );
});

/** The tables of which reads fail have been dropped since their definitions were read. */
function dropping(store: Bigtable, isDropped: (table: string) => boolean): Bigtable {
  return decorate(store, {
    readRange: async (table, ...given) => {
      if (isDropped(table)) throw new PercolatorError('TABLE_NOT_FOUND', `no table ${table}`);
      return store.readRange(table, ...given);
    },
  });
}

test('a table that is dropped between two reads is left out', async () => {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store });
  for (const table of STORE) await percolator.createTable(table, { observedColumns: ['c'] });
  const stored = await percolator.storedName('t');
  const notified = await storeStatus(dropping(store, (table) => table.startsWith(stored)));
  assert.deepEqual(
    notified.tables.map(({ table }) => table),
    ['u'],
  );
  const locked = await storeStatus(dropping(store, (table) => table === stored));
  assert.equal(locked.oldestLock, null);
});

test('a store that is away for a moment ends no wait, and one that never answers ends it in time', async (t) => {
  const away = configurationOf({ store: 'hbase://127.0.0.1:1' });
  assert.match((await waitFor(away, 'idle', 0)) ?? '', /^no HBase answers at 127\.0\.0\.1:1/);
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => {
    sockets.add(socket);
    socket.resume().on('error', () => {});
  });
  silent.listen({ port: 0, host: '127.0.0.1' });
  await once(silent, 'listening');
  t.after(() => {
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = silent.address() as AddressInfo;
  const configuration = configurationOf({ store: `emulator://127.0.0.1:${port}` });
  assert.equal(await waitFor(configuration, 'ready', 0), 'the store has not answered');
});

test('a mistake in the configuration ends a wait at once', async () => {
  const folder = temporaryFolder();
  const tls = { authority: 'none.pem', certificate: 'none.pem', key: 'none.pem' };
  const given = { store: await databaseFolder(), tls };
  const waiting = waitFor(configurationOf(given), 'ready', 600);
  await assert.rejects(waiting, { code: 'INVALID_ARGUMENT', message: /none\.pem does not exist/ });
  const missing = configurationOf({ store: path.join(folder, 'none') });
  assert.match((await waitFor(missing, 'ready', 0)) ?? '', /none does not exist/);
  await assert.rejects(waitFor(missing, 'idle', 600), { code: 'INVALID_ARGUMENT' });
});
