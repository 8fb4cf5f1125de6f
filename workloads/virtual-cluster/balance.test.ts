/** Tablets that are split and moved by load. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cluster, type Machine } from './cluster.ts';
import { ClientStore } from './client-store.ts';
import { PAPER } from './testing.ts';

const SERVERS = 4;
const HOT = 'row 42';
const ROWS = Array.from({ length: 100 }, (_, i) => `row ${String(i).padStart(2, '0')}`);
const CELL = { family: 'f', qualifier: 'q', timestamp: 1 };
const FILTERS = [{ family: 'f' }];

/** Reads every row, and the hot one four times as often as all others together. */
async function readAll(store: ClientStore): Promise<void> {
  for (let round = 0; round < 3; round++) {
    for (const row of ROWS) {
      await store.readRow('t', row, FILTERS);
      for (let i = 0; i < 4; i++) await store.readRow('t', HOT, FILTERS);
    }
  }
}

function workOf(cluster: Cluster): ReadonlyMap<Machine, number> {
  const work = (server: Machine): number =>
    cluster.tablets.of(server).reduce((sum, { recent }) => sum + recent.workUs, 0);
  return new Map(cluster.tabletServers.map((server) => [server, work(server)]));
}

async function runHot(act: (cluster: Cluster, store: ClientStore) => Promise<void>): Promise<void> {
  const cluster = new Cluster({ calibration: PAPER, seed: 1, tabletServers: SERVERS });
  const machine = cluster.addMachine('client');
  const store = new ClientStore(cluster.storage, { machine, life: machine.life });
  await cluster.run(async () => {
    await store.createTable('t', { families: ['f'] });
    const mutations = [{ kind: 'set' as const, ...CELL, value: Buffer.from('v') }];
    await store.mutateRows(ROWS.map((row) => ({ table: 't', row, mutations })));
    await act(cluster, store);
    await store.close();
  });
}

test('a hot row gets a tablet and a server of its own, and the other servers share the other rows', async () => {
  await runHot(async (cluster, store) => {
    await readAll(store);
    cluster.balance();
    const hot = cluster.tablets.find('t', HOT);
    assert.ok(hot !== undefined);
    assert.equal(hot.start, HOT);
    assert.equal(cluster.tablets.endOf(hot), `${HOT}\0`);

    await readAll(store);
    const work = workOf(cluster);
    const total = [...work.values()].reduce((sum, one) => sum + one, 0);
    for (const [server, us] of work) {
      // The hot row has four fifths of the reads, all of them at one server.
      const share = server === hot.server ? 0.8 : 0.2 / (SERVERS - 1);
      assert.ok(Math.abs(us / total - share) < 0.03, `${server.name}: ${us / total}`);
    }
  });
});

test('no row is lost between tablets, and nothing moves without work', async () => {
  await runHot(async (cluster, store) => {
    const places = (): unknown =>
      cluster.tablets.all().map(({ start, server }) => [start, server.name]);
    await readAll(store);
    cluster.balance();
    assert.ok(cluster.tablets.all().every(({ recent }) => recent.workUs === 0));
    const before = places();
    cluster.balance();
    assert.deepEqual(places(), before);
    const rows = await store.readRange('t', { limit: 1_000 }, FILTERS);
    assert.deepEqual(
      rows.map(({ key }) => key),
      ROWS,
    );
  });
});

test('dead servers get no tablet', async () => {
  await runHot(async (cluster, store) => {
    const idle = cluster.tabletServers.find((server) => cluster.tablets.of(server).length === 0);
    assert.ok(idle !== undefined);
    await readAll(store);
    cluster.kill(idle);
    cluster.balance();
    assert.equal(cluster.tablets.of(idle).length, 0);
    assert.ok(cluster.tablets.all().length > 1);
  });
});
