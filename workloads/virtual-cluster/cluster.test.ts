/** The cluster as a workload sees it: repeatable, true to the engine, and harmed by failures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  batchTimestamps,
  type Clock,
  createRandom,
  isRetryable,
  openLeasedAllocator,
  openPercolator,
  type Percolator,
} from '#engine';
import { hasCode } from '#engine/base';
import { createMemoryBigtable, VirtualClock } from '#engine/testing';
import type { Bigtable } from '../../engine/bigtable/index.ts';
import { VirtualCluster } from './cluster.ts';
import { ClientStore } from './client-store.ts';
import { PAPER, withoutCosts } from './testing.ts';

const ACCOUNTS = 8;
const SPLITS = ['2', '4', '6'];
const FAMILIES = ['cells', 'notify', 'weak', 'parked', 'parked-weak'];

/** Clients move money between accounts, at the same time. */
async function moveMoney(
  percolators: readonly Percolator[],
  { seed, transfers }: { readonly seed: number; readonly transfers: number },
): Promise<void> {
  const account = (i: number) => ({ table: 'accounts', row: String(i), column: 'balance' });
  const [first] = percolators;
  await first?.transact(async (transaction) => {
    for (let i = 0; i < ACCOUNTS; i++) transaction.set(account(i), '100');
  });
  await Promise.all(
    percolators.map(async (percolator, client) => {
      const random = createRandom(seed).fork(`client ${client}`);
      for (let i = 0; i < transfers; i++) {
        const from = random.integer(0, ACCOUNTS - 1);
        const to = (from + random.integer(1, ACCOUNTS - 1)) % ACCOUNTS;
        await untilDone(() =>
          percolator.transact(async (transaction) => {
            const balances = await transaction.getMany([account(from), account(to)]);
            transaction.set(account(from), String(Number(balances[0]) - 1));
            transaction.set(account(to), String(Number(balances[1]) + 1));
          }),
        );
      }
      await percolator.settled();
    }),
  );
}

/** Repeats a transfer until it commits, or its outcome is unknown: money is kept either way. */
async function untilDone(transact: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await transact();
    } catch (error) {
      if (hasCode(error, 'COMMIT_UNKNOWN')) return;
      if (!isRetryable(error)) throw error;
    }
  }
}

async function totalOf(percolator: Percolator): Promise<number> {
  await using snapshot = await percolator.snapshot();
  let total = 0;
  for await (const { values } of snapshot.scan({ table: 'accounts', columns: ['balance'] })) {
    total += Number(values.get('balance'));
  }
  return total;
}

/** Everything that a store holds of the accounts, as text. */
async function contentsOf(store: Bigtable): Promise<string> {
  const tables = ['accounts', 'accounts.notify'] as const;
  const contents = await Promise.all(
    tables.map(async (table) => {
      const families = table === 'accounts' ? FAMILIES.slice(0, 1) : FAMILIES.slice(1);
      const rows = await store.readRange(
        table,
        { limit: 1_000 },
        families.map((family) => ({ family })),
      );
      return rows.flatMap(({ key, cells }) =>
        cells.map(
          ({ qualifier, timestamp, value }) =>
            `${table}/${key}/${qualifier}@${timestamp}=${Buffer.from(value).toString('latin1')}`,
        ),
      );
    }),
  );
  return contents.flat().join('\n');
}

interface BankRun {
  readonly contents: string;
  readonly nowUs: number;
  readonly total: number;
}

/** @param disturb runs next to the transfers */
async function runBank(
  cluster: VirtualCluster,
  given: {
    readonly seed: number;
    readonly clients: number;
    readonly transfers: number;
    readonly disturb?: () => Promise<void>;
  },
): Promise<BankRun> {
  const machines = Array.from({ length: given.clients }, () => cluster.addMachine('client'));
  return cluster.run(async () => {
    const percolators: Percolator[] = [];
    for (const machine of machines) percolators.push(await cluster.openDatabase(machine));
    const [percolator] = percolators;
    const [machine] = machines;
    assert.ok(percolator !== undefined && machine !== undefined);
    await percolator.createTable('accounts', { observedColumns: ['balance'], splits: SPLITS });
    const window = cluster.window();
    await Promise.all([moveMoney(percolators, given), given.disturb?.()]);
    window.end(); // Asserts its laws.
    const total = await totalOf(percolator);
    const store = new ClientStore(cluster.storage, { machine, life: machine.life });
    const contents = await contentsOf(store);
    for (const one of percolators) await one.close();
    return { contents, nowUs: cluster.loop.nowUs, total };
  });
}

test('a run repeats bit for bit from its seed', async () => {
  const run = (seed: number): Promise<BankRun> =>
    runBank(new VirtualCluster({ calibration: PAPER, seed, tabletServers: 4 }), {
      seed: 1,
      clients: 3,
      transfers: 20,
    });
  const first = await run(1);
  assert.equal(first.total, 100 * ACCOUNTS);
  assert.deepEqual(await run(1), first);
  assert.notEqual((await run(2)).nowUs, first.nowUs);
});

test('without costs, the cluster leaves the data that a store without time has: of one client every cell, of three the total', async () => {
  for (const clients of [1, 3]) {
    const given = { seed: 5, clients, transfers: 15 };
    const cluster = new VirtualCluster({
      calibration: withoutCosts(PAPER),
      seed: 5,
      tabletServers: 3,
    });
    const timed = await runBank(cluster, given);
    assert.equal(cluster.loop.nowUs > 0, clients > 1); // Only backoff takes time.
    const untimed = await runUntimed(given);
    assert.equal(timed.total, untimed.total);
    if (clients === 1) assert.equal(timed.contents, untimed.contents);
  }
});

/** Runs the bank on the store in memory, without a cluster. */
async function runUntimed(given: {
  readonly seed: number;
  readonly clients: number;
  readonly transfers: number;
}): Promise<Omit<BankRun, 'nowUs'>> {
  const clock = new VirtualClock();
  const store = createMemoryBigtable();
  return clock.runUntil(untimedBank(store, clock, given));
}

async function untimedBank(
  store: Bigtable,
  clock: Clock,
  given: { readonly seed: number; readonly clients: number; readonly transfers: number },
): Promise<Omit<BankRun, 'nowUs'>> {
  const allocator = await openLeasedAllocator(store, clock, { owner: 'oracle' });
  const percolators: Percolator[] = [];
  for (let i = 1; i <= given.clients; i++) {
    const self = `client ${i}/1`;
    percolators.push(
      await openPercolator({
        store,
        clock,
        oracle: batchTimestamps(allocator),
        random: createRandom(given.seed).fork(self),
        liveness: { self, isDead: () => false },
      }),
    );
  }
  const [percolator] = percolators;
  assert.ok(percolator !== undefined);
  await percolator.createTable('accounts', { observedColumns: ['balance'], splits: SPLITS });
  await moveMoney(percolators, given);
  const result = { total: await totalOf(percolator), contents: await contentsOf(store) };
  for (const one of percolators) await one.close();
  await allocator.close();
  return result;
}

test('money is kept while tablet servers are killed and one stands still', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 3, tabletServers: 4 });
  const [server1, server2, server3] = cluster.tabletServers;
  assert.ok(server1 !== undefined && server2 !== undefined && server3 !== undefined);
  const { total } = await runBank(cluster, {
    seed: 3,
    clients: 4,
    transfers: 40,
    disturb: async () => {
      await cluster.clock.sleep(300);
      cluster.kill(server2);
      await cluster.clock.sleep(100);
      cluster.pause(server3, 2);
      await cluster.clock.sleep(10_000);
      assert.ok(cluster.tablets.of(server2).length > 0, 'the death is noticed only after 12 s');
      await cluster.clock.sleep(10_000);
      assert.equal(cluster.tablets.of(server2).length, 0);
      cluster.start(server2);
      cluster.spread();
      assert.ok(cluster.tablets.of(server2).length > 0);
      cluster.kill(server1);
    },
  });
  assert.equal(total, 100 * ACCOUNTS);
  const { counts } = cluster.storage;
  assert.ok(counts.read.lost + counts.conditionalMutate.lost > 0, 'the failures were noticed');
});

test('a tablet server whose death was not noticed yet cannot be started', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: 2 });
  const [server] = cluster.tabletServers;
  assert.ok(server !== undefined);
  await cluster.run(async () => {
    await cluster.clock.sleep(100); // The oracle has opened its lease.
    cluster.start(server); // It is alive.
    cluster.kill(server);
    await cluster.clock.sleep(PAPER.failures.detectionMs - 1);
    assert.throws(() => cluster.start(server), /its death was noticed/);
    await cluster.clock.sleep(1);
    cluster.start(server);
    assert.equal(cluster.tablets.of(server).length, 0);
  });
});

test('a dead client never acts again, and others resolve its locks', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 4, tabletServers: 2 });
  const [victim, other] = [cluster.addMachine('client'), cluster.addMachine('client')];
  const cell = { table: 'accounts', row: '1', column: 'balance' };
  await cluster.run(async () => {
    const percolator = await cluster.openDatabase(victim);
    await percolator.createTable('accounts');
    const rival = await cluster.openDatabase(other);
    let ended = false;
    const { rows } = cluster.storage.counts.conditionalMutate;
    const write = percolator.transact(async (transaction) => {
      transaction.set(cell, 'of the dead');
      transaction.set({ ...cell, row: '2' }, 'of the dead');
    });
    void write.finally(() => {
      ended = true;
    });
    // Its prewrites have been applied, and no answer has come back.
    while (cluster.storage.counts.conditionalMutate.rows < rows + 2) await cluster.clock.sleep(1);
    cluster.kill(victim);
    await rival.transact(async (transaction) => {
      assert.equal(await transaction.get(cell), undefined);
      transaction.set(cell, 'of the living');
    });
    assert.equal(rival.counters.rolledBack > 0, true);
    assert.equal(ended, false);
    await rival.close();
  });
});

test('what the oracle was serving when it died is served by its next life', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: 1 });
  const { oracle, oracleMachine, clock } = cluster;
  const machine = cluster.addMachine('client');
  await cluster.run(async () => {
    const answer = oracle.clientOf({ machine, life: machine.life }).next();
    // The request has come, and waits until the oracle has opened its lease.
    while (oracle.counts.serverUs === 0) await clock.sleep(0.01);
    cluster.kill(oracleMachine);
    await clock.sleep(2_000);
    cluster.start(oracleMachine);
    const late = clock.sleep(60_000).then(() => 'no answer');
    assert.equal(typeof (await Promise.race([answer, late])), 'number');
    assert.equal(oracle.counts.calls, 1 + 2); // Sent, and repeated after one and two seconds.
  });
});

test('after the death of its server, the first read of each block of a tablet needs the disk', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 1, tabletServers: 2 });
  const machine = cluster.addMachine('client');
  const store = new ClientStore(cluster.storage, { machine, life: 1 });
  const rows = Array.from({ length: 300 }, (_, i) => String(i));
  const read = async (): Promise<number> => {
    const before = cluster.storage.counts.read.misses;
    await store.readRows('t', [...rows, 'a row without cells'], [{ family: 'f' }]);
    return cluster.storage.counts.read.misses - before;
  };
  await cluster.run(async () => {
    await store.createTable('t', { families: ['f'] });
    const value = Buffer.alloc(1_024);
    const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value } as const;
    await store.mutateRows(rows.map((row) => ({ table: 't', row, mutations: [set] })));
    assert.equal(await read(), 0);
    const victim = cluster.tablets.find('t', '')?.server;
    assert.ok(victim !== undefined);
    cluster.kill(victim);
    // 300 rows of a kilobyte are in five blocks of 64 KB.
    assert.equal(await read(), 5);
    assert.equal(await read(), 0);
  });
});

test('a story that waits for what never happens in the cluster is refused', async () => {
  const cluster = new VirtualCluster({
    calibration: withoutCosts(PAPER),
    seed: 1,
    tabletServers: 1,
  });
  cluster.kill(cluster.oracleMachine);
  await assert.rejects(
    cluster.run(() => new Promise(() => {})),
    /waits for something that happens in the cluster/,
  );
});
