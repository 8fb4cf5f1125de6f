/** What a window says of a known load, and that its laws are asserted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualCluster } from './cluster.ts';
import { PAPER } from './testing.ts';

const CORES = 4;

function calm(): VirtualCluster {
  const { cluster } = PAPER;
  const calibration = { ...PAPER, cluster: { ...cluster, workerCores: CORES } };
  return new VirtualCluster({ calibration, seed: 1, tabletServers: 2 });
}

test('a window has the share of time in which cores worked: all of a kind, and the busiest machine', async () => {
  const cluster = calm();
  const [busy, idle] = [cluster.addMachine('client'), cluster.addMachine('client')];
  await cluster.run(async () => {
    await cluster.work(busy, 5_000); // Before the window.
    await cluster.clock.sleep(100);
    const window = cluster.window();
    const works = [cluster.work(busy, 10_000), cluster.work(busy, 30_000), cluster.work(idle, 0)];
    await cluster.clock.sleep(20);
    const usage = window.end();
    const clients = usage.kinds.find(({ kind }) => kind === 'client');
    assert.ok(clients !== undefined);
    assert.equal(usage.seconds, 0.02);
    assert.equal(clients.machines, 2);
    // In 20 ms, four cores did 30 of the 40 ms of work; the last 10 are still to come.
    assert.equal(clients.coresMax, 30_000 / (CORES * 20_000));
    assert.equal(clients.cores, clients.coresMax / 2);
    assert.equal(clients.coreWaitMeanUs, 0);
    await Promise.all(works);
  });
});

const TAMPERED: Readonly<Record<string, (cluster: VirtualCluster) => void>> = {
  'each call is answered, lost or in flight': ({ storage }) => void storage.counts.read.sent++,
  'machines do the work of the calls': ({ storage }) => {
    storage.counts.scan.serverUs += 1e6;
  },
  'nothing works for more than all the time': ({ lockMachine, loop }) => {
    lockMachine.disks.busyUs += lockMachine.disks.servers * loop.nowUs + 10;
  },
  "Little's law holds": ({ storage }) => {
    storage.inFlightUs += 1e6;
  },
};

for (const [law, tamper] of Object.entries(TAMPERED)) {
  test(`a window asserts that ${law}`, async () => {
    const cluster = calm();
    await cluster.run(async () => {
      await cluster.clock.sleep(500);
      cluster.window().end();
      tamper(cluster);
      assert.throws(() => cluster.window().end(), new RegExp(law));
    });
  });
}
