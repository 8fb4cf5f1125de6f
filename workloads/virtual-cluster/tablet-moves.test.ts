/** How long tablets of dead servers are not served. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClientStore } from './client-store.ts';
import { type Machine, VirtualCluster } from './cluster.ts';
import { ColdBlocks } from './tablets.ts';
import { PAPER } from './testing.ts';

const LOG_BYTES = 1e8;
const REPLAY_MS = (1000 * LOG_BYTES) / PAPER.failures.logReplayBytesPerSecond;

/**
 * Two of three servers die at the same moment, each with two tablets, the first of which has a log.
 * `act` is called when the third server has been given all four.
 */
async function killTwo(
  act: (cluster: VirtualCluster, noticedMs: number) => void | Promise<void>,
): Promise<void> {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: 3 });
  const machine = cluster.addMachine('client');
  const store = new ClientStore(cluster.storage, { machine, life: machine.life });
  await cluster.run(async () => {
    await store.createTable('t', { families: ['f'], splits: ['b', 'c', 'd', 'e', 'f'] });
    const dying = cluster.tabletServers.slice(0, 2);
    const diedMs = cluster.clock.monotonicMs();
    for (const server of dying) {
      for (const tablet of cluster.tablets.of(server)) tablet.logBytes = 0;
      const first = cluster.tablets.of(server).find(({ table }) => table === 't');
      assert.ok(first !== undefined);
      first.logBytes = LOG_BYTES;
      cluster.kill(server);
    }
    const noticedMs = diedMs + PAPER.failures.detectionMs;
    await cluster.clock.sleep(noticedMs - diedMs + 1);
    await act(cluster, noticedMs);
    await store.close();
  });
}

test('one server replays the logs of two dead ones one after the other', async () => {
  await killTwo((cluster, noticedMs) => {
    const [, , survivor] = cluster.tabletServers;
    const served = cluster.tablets
      .all()
      .filter(({ table }) => table === 't')
      .map(({ server, availableUs }) => {
        assert.equal(server, survivor);
        return availableUs === 0 ? 0 : Math.round(availableUs / 1000 - noticedMs);
      });
    // Tablets without a log are served as soon as those before them are.
    assert.deepEqual(
      served,
      [1, 1, 2, 2, 0, 0].map((logs) => logs * REPLAY_MS),
    );
  });
});

test('a run in which no tablet server is alive when a death is noticed is refused', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: 2 });
  const story = async (): Promise<void> => {
    await cluster.clock.sleep(100); // The oracle has opened its lease.
    for (const server of cluster.tabletServers) cluster.kill(server);
    await cluster.clock.sleep(PAPER.failures.detectionMs + 1);
  };
  await assert.rejects(cluster.run(story), /alive when the death of another is noticed/);
});

test('a replay that its server did not finish is done again by the next server', async () => {
  await killTwo(async (cluster) => {
    cluster.tablets.split('t', 'aa');
    // Each part of the split tablet has half of a log, b has none, c has the other log.
    const logs = [0.5, 1, 1, 2, 2, 2, 2];
    assert.deepEqual(
      await servedByNext(cluster),
      logs.map((count) => count * REPLAY_MS),
    );
  });
});

test('a replay that its server finished is not done again when that server dies', async () => {
  await killTwo(async (cluster) => {
    await cluster.clock.sleep(3 * REPLAY_MS);
    assert.deepEqual(
      await servedByNext(cluster),
      Array.from({ length: 6 }, () => 0),
    );
  });
});

/**
 * Starts a dead server and kills the one that is alive. Returns, for each tablet, the milliseconds
 * from the notice of that second death until the tablet is served.
 */
async function servedByNext(cluster: VirtualCluster): Promise<readonly number[]> {
  const { clock, tablets, tabletServers } = cluster;
  const [next, , survivor] = tabletServers;
  assert.ok(next !== undefined && survivor !== undefined);
  cluster.start(next);
  cluster.kill(survivor);
  await clock.sleep(PAPER.failures.detectionMs);
  const noticedMs = clock.monotonicMs();
  const moved = tablets.all().filter(({ table }) => table === 't');
  assert.ok(moved.every(({ server }) => server === next));
  return moved.map(({ availableUs }) => Math.round(availableUs / 1000 - noticedMs));
}

test('both parts of a tablet that is split during the replay of its log wait for the end of the replay', async () => {
  await killTwo(({ tablets }) => {
    const left = tablets.find('t', 'a');
    assert.ok(left !== undefined && left.availableUs > 0);
    tablets.split('t', 'aa');
    assert.equal(tablets.find('t', 'aa')?.start, 'aa');
    assert.equal(tablets.find('t', 'aa')?.availableUs, left.availableUs);
  });
});

test('both parts of a tablet that is split while it is cold are cold, each with half of its blocks', async () => {
  await killTwo(({ tablets }) => {
    const left = tablets.find('t', 'a');
    assert.ok(left?.cold !== undefined);
    left.cold = new ColdBlocks(6 * 64 * 2 ** 10);
    left.cold.read('a');
    tablets.split('t', 'aa');
    const misses = ['a', 'aa'].map((first) => {
      const cold = tablets.find('t', first)?.cold;
      const rows = Array.from({ length: 100 }, (_, i) => `${first}${i}`);
      return rows.filter((row) => cold?.read(row)).length;
    });
    assert.deepEqual(
      misses.toSorted((a, b) => a - b),
      [2, 3],
      'one of the six blocks was read before',
    );
  });
});

/* Tablets that are split and moved by load. */

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

function workOf(cluster: VirtualCluster): ReadonlyMap<Machine, number> {
  const work = (server: Machine): number =>
    cluster.tablets.of(server).reduce((sum, { recent }) => sum + recent.workUs, 0);
  return new Map(cluster.tabletServers.map((server) => [server, work(server)]));
}

async function runHot(
  act: (cluster: VirtualCluster, store: ClientStore) => Promise<void>,
): Promise<void> {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: SERVERS });
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

test('a scan in reverse misses no row of a tablet that is split while the scan is on its way', async () => {
  await runHot(async (cluster, store) => {
    const scanning = store.readRange('t', { limit: 1_000, reverse: true }, FILTERS);
    for (const row of [ROWS[70], ROWS[30]]) cluster.tablets.split('t', row ?? '');
    const rows = await scanning;
    assert.deepEqual(
      rows.map(({ key }) => key),
      ROWS.toReversed(),
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
