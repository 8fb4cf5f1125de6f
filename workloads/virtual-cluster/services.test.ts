/** What callers of the two services notice when a service stands still, dies and starts again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Calibration } from './calibration/calibration.ts';
import { VirtualCluster, type Machine } from './cluster.ts';
import { PAPER, withoutCosts } from './testing.ts';

const RANGE = { table: 't', from: 'a', to: 'b' };
const FREE = withoutCosts(PAPER);
/** Each call to a service takes 5 ms, and nothing else takes any time. */
const SLOW: Calibration = {
  ...FREE,
  oracle: { ...FREE.oracle, perCallUs: 5_000 },
  lockService: { ...FREE.lockService, perCallUs: 5_000 },
};

/** A story on a cluster with two clients, whose oracle has its lease. */
async function tell(
  calibration: Calibration,
  story: (cluster: VirtualCluster, clients: readonly [Machine, Machine]) => Promise<void>,
): Promise<void> {
  const cluster = new VirtualCluster({ calibration, seed: 1, tabletServers: 1 });
  const clients = [cluster.addMachine('client'), cluster.addMachine('client')] as const;
  await cluster.run(async () => {
    await cluster.clock.sleep(100);
    await story(cluster, clients);
  });
}

const SERVICES: Readonly<
  Record<
    string,
    (cluster: VirtualCluster, client: Machine) => { service: Machine; answer: unknown }
  >
> = {
  'the oracle': ({ oracle, oracleMachine }, machine) => {
    const answer = oracle.clientOf({ machine, life: machine.life }).next();
    return { service: oracleMachine, answer };
  },
  'the lock service': (cluster, machine) => {
    const answer = cluster.rangeLocks(machine).tryLock(RANGE);
    return { service: cluster.lockMachine, answer };
  },
};

for (const [name, ask] of Object.entries(SERVICES)) {
  test(`an answer of ${name} is later by the time that ${name} stands still, even if two pauses overlap`, async () => {
    await tell(SLOW, async (cluster, [client]) => {
      const { clock } = cluster;
      const sentMs = clock.monotonicMs();
      const { service, answer } = ask(cluster, client);
      await clock.sleep(1);
      cluster.pause(service, 0.01);
      await clock.sleep(8);
      cluster.pause(service, 0.01);
      await answer;
      assert.equal(clock.monotonicMs() - sentMs, 5 + 18);
    });
  });
}

test('an oracle that was started again answers with later timestamps, although its last life held the lease', async () => {
  await tell(PAPER, async (cluster, [machine]) => {
    const client = cluster.oracle.clientOf({ machine, life: machine.life });
    const before = await client.next();
    cluster.kill(cluster.oracleMachine);
    await cluster.clock.sleep(500);
    cluster.start(cluster.oracleMachine);
    assert.ok((await client.next()) > before);
  });
});

test('to start a service that is alive changes nothing', async () => {
  await tell(PAPER, async (cluster, [machine, other]) => {
    const client = cluster.oracle.clientOf({ machine, life: machine.life });
    const before = await client.next();
    assert.ok(await cluster.rangeLocks(machine).tryLock(RANGE));
    cluster.start(cluster.oracleMachine);
    cluster.start(cluster.lockMachine);
    assert.ok((await client.next()) > before);
    assert.equal(await cluster.rangeLocks(other).tryLock(RANGE), undefined);
  });
});

test('scanners work without locks for a second after the lock service has not answered', async () => {
  await tell(FREE, async (cluster, [one, other]) => {
    const { clock, lockMachine } = cluster;
    const [ofOne, ofOther] = [cluster.rangeLocks(one), cluster.rangeLocks(other)];
    assert.ok(await ofOne.tryLock(RANGE));
    assert.equal(await ofOther.tryLock(RANGE), undefined);
    cluster.kill(lockMachine);
    for (const waitedMs of [200, 0]) {
      const askedMs = clock.monotonicMs();
      assert.ok(await ofOther.tryLock(RANGE));
      assert.equal(clock.monotonicMs() - askedMs, waitedMs);
    }
    cluster.start(lockMachine);
    assert.ok(await ofOne.tryLock(RANGE));
    await clock.sleep(1_001);
    assert.equal(await ofOther.tryLock(RANGE), undefined);
  });
});
