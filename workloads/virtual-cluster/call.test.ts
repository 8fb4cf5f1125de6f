/**
 * What happens to a call on its way: its server dies and it is sent again, or its server stands
 * still.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Calibration } from './calibration/calibration.ts';
import { VirtualCluster, type Machine } from './cluster.ts';
import { ClientStore } from './client-store.ts';
import type { CallCounts } from './storage.ts';
import { PAPER, withoutCosts } from './testing.ts';

/**
 * Deaths are noticed before the oracle reads its lease again, so all reads are those of the test.
 */
const CALIBRATION = { ...PAPER, failures: { ...PAPER.failures, detectionMs: 5 } };
const CELL = { family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.alloc(1_000) };

/** A cluster with one client and that client's store. */
function openCluster(
  calibration: Calibration,
  tabletServers: number,
): { readonly cluster: VirtualCluster; readonly store: ClientStore; readonly server: Machine } {
  const cluster = new VirtualCluster({ calibration, seed: 1, tabletServers });
  const machine = cluster.addMachine('client');
  const store = new ClientStore(cluster.storage, { machine, life: machine.life });
  const [server] = cluster.tabletServers;
  assert.ok(server !== undefined);
  return { cluster, store, server };
}

/**
 * `disturb` runs once the server has applied the only read of the row, before its answer is heard.
 */
async function readOnce(
  disturb: (cluster: VirtualCluster, server: Machine) => void,
): Promise<{ readonly counts: CallCounts; readonly latencyUs: number }> {
  const { cluster, store } = openCluster(CALIBRATION, 2);
  return cluster.run(async () => {
    await store.createTable('t', { families: ['f'] });
    await store.mutateRows([{ table: 't', row: 'r', mutations: [{ kind: 'set', ...CELL }] }]);
    await cluster.clock.sleep(100); // The oracle has opened its lease.
    const window = cluster.window();
    const sentUs = cluster.loop.nowUs;
    const tablet = cluster.tablets.find('t', 'r');
    assert.ok(tablet !== undefined);
    const answer = store.readRow('t', 'r', [{ family: 'f' }]);
    const { operations } = tablet;
    while (tablet.operations === operations) await cluster.clock.sleep(0.01);
    await cluster.clock.sleep(0.01);
    disturb(cluster, tablet.server);
    assert.equal((await answer)?.cells.length, 1);
    const latencyUs = cluster.loop.nowUs - sentUs;
    await store.close();
    return { counts: window.end().calls.read, latencyUs };
  });
}

test('the lost answer to a read is not part of the answer to its second try', async () => {
  const { counts } = await readOnce((cluster, server) => cluster.kill(server));
  assert.deepEqual([counts.sent, counts.lost, counts.answered], [2, 1, 1]);
  assert.deepEqual([counts.rows, counts.cells], [2, 2]);
});

test('a call is later by the time that its server stands still: by the longer of two pauses that begin together', async () => {
  const latencyUs = async (...pauses: readonly number[]): Promise<number> => {
    const read = await readOnce((cluster, server) => {
      for (const seconds of pauses) cluster.pause(server, seconds);
    });
    return read.latencyUs;
  };
  const undisturbedUs = await latencyUs();
  assert.equal(await latencyUs(0.01), undisturbedUs + 10_000);
  assert.equal(await latencyUs(0.01, 0.015), undisturbedUs + 15_000);
});

test('a call that comes during a pause waits once for the end of the pause, even if it then needs the disk', async () => {
  const free = withoutCosts(PAPER);
  const roundTrip = { medianUs: 1_000, p99Us: 1_000 };
  const calibration = {
    ...free,
    network: { ...free.network, roundTrip },
    cache: { ...free.cache, missDiskUs: 2_000 },
  };
  const { cluster, store, server } = openCluster(calibration, 1);
  await cluster.run(async () => {
    await store.createTable('t', { families: ['f'] });
    await store.mutateRows([{ table: 't', row: 'r', mutations: [{ kind: 'set', ...CELL }] }]);
    await cluster.clock.sleep(100); // The oracle has opened its lease.
    const readUs = async (): Promise<number> => {
      const sentUs = cluster.loop.nowUs;
      cluster.pause(server, 0.01);
      await store.readRow('t', 'r', [{ family: 'f' }]);
      return Math.round(cluster.loop.nowUs - sentUs);
    };
    // The pause, and the way back.
    assert.equal(await readUs(), 10_500);
    const tablet = cluster.tablets.find('t', 'r');
    assert.ok(tablet !== undefined);
    cluster.storage.chill(tablet);
    assert.equal(await readUs(), 10_500 + 2_000);
    await store.close();
  });
});

test('a write whose server pauses during the sync of its group is answered when the pause ends', async () => {
  const free = withoutCosts(PAPER);
  const wait = { medianUs: 1_000, p99Us: 1_000 };
  const calibration = { ...free, log: { ...free.log, wait, perGroupUs: 1 } };
  const { cluster, store, server } = openCluster(calibration, 1);
  await cluster.run(async () => {
    await store.createTable('t', { families: ['f'] });
    await cluster.clock.sleep(100); // The oracle has opened its lease.
    const sentUs = cluster.loop.nowUs;
    const mutations = [{ kind: 'set', ...CELL } as const];
    const written = store.mutateRows([{ table: 't', row: 'r', mutations }]);
    await cluster.clock.sleep(0.5);
    cluster.pause(server, 0.01);
    await written;
    assert.equal(cluster.loop.nowUs - sentUs, 10_500);
    await store.close();
  });
});

test('only a call whose mutations are all provisional is answered before the log is synced', async () => {
  const free = withoutCosts(PAPER);
  const wait = { medianUs: 1_000, p99Us: 1_000 };
  const log = { ...PAPER.log, wait, perGroupUs: 1, perUnsyncedGroupUs: 1 };
  const { cluster, store } = openCluster({ ...free, log }, 1);
  const mutation = (row: string, provisional: boolean) =>
    ({ table: 't', row, mutations: [{ kind: 'set', ...CELL }], provisional }) as const;
  const conditional = (row: string, provisional: boolean) =>
    ({
      table: 't',
      row,
      anyOf: [],
      ifNotFound: mutation(row, false).mutations,
      provisional,
    }) as const;
  await cluster.run(async () => {
    await store.createTable('t', { families: ['f'] });
    await cluster.clock.sleep(100); // The oracle has opened its lease.
    const latencyUs = async (call: () => Promise<unknown>): Promise<number> => {
      const sentUs = cluster.loop.nowUs;
      await call();
      return cluster.loop.nowUs - sentUs;
    };
    for (const provisional of [true, false]) {
      const expected = provisional ? 1 : 1_001;
      const blind = () => store.mutateRows([mutation('a', true), mutation('b', provisional)]);
      assert.equal(await latencyUs(blind), expected);
      const checked = () => store.checkAndMutateRow(conditional('c', provisional));
      assert.equal(await latencyUs(checked), expected);
    }
    await store.close();
  });
});
