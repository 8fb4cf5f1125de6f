/**
 * The brokerage in virtual time: a load that its servers cannot serve, a law at rest, and a
 * collector.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import { ClientStore } from '../client-store.ts';
import { VirtualCluster } from '../cluster.ts';
import { Storage } from '../storage.ts';
import { PAPER } from '../testing.ts';
import { scaleOf, simulateBrokerage, spreadRows } from './brokerage.ts';

const { calibration } = loadCalibration('paper-2010');
const plan = {
  calibration,
  seed: 1,
  tabletServers: 2,
  clients: 1,
  tradeResultsPerSecond: 20,
  scale: scaleOf(100),
  warmUp: 1,
  seconds: 6,
  isChecked: true,
};

test('a load above the capacity is not kept up with, which is no mistake of the engine', async () => {
  const { storage } = calibration;
  const fixed = { ...storage.read.fixed, serverUs: 60 * storage.read.fixed.serverUs };
  const slow = { ...calibration, storage: { ...storage, read: { ...storage.read, fixed } } };
  const { saturation, wrong, transactions } = await simulateBrokerage({
    ...plan,
    calibration: slow,
  });
  assert.ok(saturation !== null);
  assert.deepEqual(wrong, []);
  assert.ok(transactions > 0);
});

test("a brokerage at rest asserts Little's law", async ({ mock }) => {
  // Calls would be in flight for no time, but have latencies.
  mock.method(Storage.prototype, 'countInFlight', function (this: Storage, by: 1 | 0 | -1) {
    this.inFlight += by;
  });
  await assert.rejects(
    simulateBrokerage({ ...plan, warmUp: 0.2, seconds: 0.5 }),
    /Little's law holds/,
  );
});

test('a collector visits rows while the brokerage runs, and all checks pass', async () => {
  const collector = { messageLifetimeMs: 100, rowsPerStep: 64, pauseMs: 5 };
  const [without, collected] = await Promise.all([
    simulateBrokerage(plan),
    simulateBrokerage({ ...plan, collector }),
  ]);
  const rowsOf = ({ usage }: typeof without): number => usage.calls.scan.rows;
  assert.deepEqual([without.wrong, collected.wrong], [[], []]);
  assert.ok(rowsOf(collected) > rowsOf(without) + 1_000, `${rowsOf(collected)} rows`);
});

/* Tables that were loaded in one piece, after they were spread over the servers. */

const SERVERS = 4;
const SET = {
  kind: 'set',
  family: 'f',
  qualifier: 'q',
  timestamp: 1,
  value: Buffer.from('v'),
} as const;

test('each server has an equal part of a large table, small ones stay whole, and logs are empty', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: SERVERS });
  const machine = cluster.addMachine('client');
  const store = new ClientStore(cluster.storage, { machine, life: machine.life });
  const keys = (count: number) => Array.from({ length: count }, (_, i) => `r${100 + i}`);
  await cluster.run(async () => {
    for (const [table, rows] of [
      ['large', keys(400)],
      ['small', keys(15)],
      ['tiny', keys(1)],
    ] as const) {
      await store.createTable(table, { families: ['f'] });
      await store.mutateRows(rows.map((row) => ({ table, row, mutations: [SET] })));
    }
    spreadRows(cluster);
    const of = (name: string) => cluster.tablets.all().filter(({ table }) => table === name);
    assert.deepEqual(
      of('large').map(({ start }) => start),
      ['', 'r200', 'r300', 'r400'],
    );
    assert.equal(new Set(of('large').map(({ server }) => server)).size, SERVERS);
    assert.deepEqual(
      ['small', 'tiny'].map((name) => of(name).length),
      [1, 1],
    );
    assert.notEqual(of('small')[0]?.server, of('tiny')[0]?.server);
    for (const name of ['large', 'small', 'tiny']) {
      for (const { logBytes } of of(name)) assert.equal(logBytes, 0);
    }
    assert.equal((await store.readRange('large', { limit: 999 }, [{ family: 'f' }])).length, 400);
    await store.close();
  });
});
