/** The judges look at what the recorder has recorded, and find mistakes that were planted there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Observer, openBulkLoader, type Percolator, type Snapshot } from '#engine';
import { TIMESTAMP_MAX } from '../../engine/bigtable/index.ts';
import { DATA, placeOf, WRITE } from '../../engine/transaction/index.ts';
import { VirtualCluster } from './cluster.ts';
import { HistoryRecorder } from './history.ts';
import { PAPER } from './testing.ts';

const copier: Observer = {
  name: 'copier',
  table: 't',
  column: 'seen',
  run: async (transaction, { table, row }) => {
    const value = await transaction.get({ table, row, column: 'seen' });
    transaction.set({ table, row, column: 'copy' }, value ?? '');
  },
};
/** Writes of each client, to ten rows in turn. */
const WRITES = 30;
/** More timestamps than 240 machines with 64 runs in flight each ask for at a time. */
const OTHERS = 50_000;

/** Two clients write rows, and a worker copies each; the cluster is at rest afterwards. */
async function record(
  share: number,
): Promise<{ readonly cluster: VirtualCluster; readonly recorder: HistoryRecorder }> {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 2, tabletServers: 2 });
  const recorder = new HistoryRecorder(cluster, share);
  const machines = [cluster.addMachine('client'), cluster.addMachine('client')];
  const worker = cluster.addMachine('worker');
  await cluster.run(async () => {
    const database = await cluster.openDatabase(worker);
    await database.createTable('t', { observedColumns: ['seen'], splits: ['r5'] });
    await using _ = database.startWorker([recorder.observer('worker', copier)], {
      onCommitted: recorder.committed,
    });
    const clients = await Promise.all(machines.map((machine) => cluster.openDatabase(machine)));
    const write = (percolator: Percolator, client: number, i: number): Promise<void> =>
      recorder.database(`client ${client}`, percolator).transact(async (transaction) => {
        const cell = { table: 't', row: `r${i % 10}`, column: 'seen' };
        const before = await transaction.get(cell);
        transaction.set(cell, `${client} wrote ${i} after ${String(before).slice(0, 12)}`);
      });
    for (let i = 0; i < WRITES; i++) {
      await Promise.all(clients.map((percolator, client) => write(percolator, client, i)));
    }
    while (cluster.storage.table('t.notify').rows > 0) await cluster.clock.sleep(50);
    for (const client of clients) await client.close();
  });
  return { cluster, recorder };
}

test('a history of the engine has no violations, in all rows and in some', async () => {
  const [all, some] = [await record(1), await record(4)];
  assert.deepEqual(all.recorder.judge([copier]), []);
  assert.deepEqual(some.recorder.judge([copier]), []);
  // Those of both clients, and one run of the copier for each row at least.
  assert.ok(all.recorder.transactions >= 2 * WRITES + 10, String(all.recorder.transactions));
  assert.ok(some.recorder.transactions > 0);
  assert.ok(some.recorder.transactions < all.recorder.transactions / 2);
});

test('planted mistakes are found', async () => {
  const { cluster, recorder } = await record(1);
  const { storage } = cluster;
  const claims = (): readonly string[] => recorder.judge([copier]).map(({ claim }) => claim);

  const notification = { kind: 'set', family: 'notify', qualifier: 'seen', timestamp: 1 } as const;
  storage.table('t.notify').mutateRow('r3', [{ ...notification, value: new Uint8Array() }]);
  assert.deepEqual(claims(), ['notifications: left-over notification']);

  // A write of a transaction that no client began: its observer has not run either.
  const written = { kind: 'set', family: 'cells', qualifier: 'seen:write' } as const;
  const value = Buffer.from(`${'9'.repeat(8).padStart(16, '0')} put`);
  storage.observe?.('t', 'r3', [{ ...written, timestamp: 99_999_999 + 5, value }]);
  assert.deepEqual(claims(), [
    'snapshot isolation: dangling record',
    'notifications: lost notification',
    'notifications: left-over notification',
  ]);
});

test('a transaction began when it asked for its timestamp, however many others ask until it runs', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 2, tabletServers: 2 });
  const recorder = new HistoryRecorder(cluster, 1);
  const machine = cluster.addMachine('client');
  await cluster.run(async () => {
    const percolator = await cluster.openDatabase(machine);
    await percolator.createTable('t');
    const cell = { table: 't', row: 'r', column: 'c' };
    const write = (): Promise<void> =>
      recorder.database('writer', percolator).transact(async (transaction) => {
        transaction.set(cell, 'written');
      });
    const late = Object.create(percolator, {
      transact: {
        value: (body: Parameters<Percolator['transact']>[0]) =>
          percolator.transact(async (transaction) => {
            await write();
            for (let i = 0; i < OTHERS; i++) cluster.watchTimestamp?.(1e9 + i, cluster.loop.nowUs);
            await machine.clock.sleep(1);
            return body(transaction);
          }),
      },
    }) as Percolator;
    await recorder.database('reader', late).transact(async (transaction) => {
      assert.equal(await transaction.get(cell), undefined);
    });
    await percolator.close();
  });
  assert.equal(recorder.transactions, 2);
  assert.deepEqual(recorder.judge([]), []);
});

test('a second read of a cell that differs is found, unless it reads an own write', async () => {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 2, tabletServers: 2 });
  const recorder = new HistoryRecorder(cluster, 1);
  const machine = cluster.addMachine('client');
  const cell = { table: 't', row: 'r', column: 'c' };
  await cluster.run(async () => {
    const opened = await cluster.openDatabase(machine);
    await opened.createTable('t');
    const percolator = recorder.database('client', opened);
    await percolator.transact(async (transaction) => {
      await transaction.get(cell);
      transaction.set(cell, 'own');
      await transaction.get(cell);
    });
    assert.deepEqual(recorder.judge([]), []);
    const values = [Buffer.from('own'), Buffer.from('own'), undefined];
    const changing = Object.create(opened, {
      snapshot: {
        value: async () =>
          Object.assign(await opened.snapshot(), { get: async () => values.shift() }),
      },
    }) as Percolator;
    await using snapshot = await recorder.database('reader', changing).snapshot();
    for (const _ of [1, 2, 3]) await snapshot.get(cell);
    await opened.close();
  });
  assert.deepEqual(
    recorder.judge([]).map(({ message }) => message.replace(/\d+/, 'S')),
    ['the transaction of S read own from t/r:c and then nothing'],
  );
});

async function readInEveryWay(snapshot: Snapshot): Promise<void> {
  await snapshot.get({ table: 't', row: 'a', column: 'v' });
  await snapshot.getMany(['v', 'x:v'].map((column) => ({ table: 't', row: 'b', column })));
  await Array.fromAsync(snapshot.scan({ table: 't', columns: ['v'] }));
}

/**
 * Rows that were loaded in bulk are read after `disturb` has changed the storage.
 * @param judged transactions that the history should have: the snapshot's, and another one
 */
async function readLoaded(
  disturb: (cluster: VirtualCluster) => void,
  read: (snapshot: Snapshot) => Promise<unknown> = readInEveryWay,
  judged = 2,
): Promise<readonly string[]> {
  const cluster = new VirtualCluster({ calibration: PAPER, seed: 2, tabletServers: 2 });
  const recorder = new HistoryRecorder(cluster, 1);
  const machine = cluster.addMachine('client');
  await cluster.run(async () => {
    const opened = await cluster.openDatabase(machine);
    await opened.createTable('t');
    const loader = await openBulkLoader(opened);
    for (const row of ['a', 'b', 'c']) {
      const cells = ['v', 'x:v'].map((column) => ({ column, value: Buffer.from(row + column) }));
      await loader.add({ table: 't', row, cells });
    }
    await loader.finish();
    disturb(cluster);
    const percolator = recorder.database('client', opened);
    await using snapshot = await percolator.snapshot();
    await read(snapshot);
    await percolator.transact(async (transaction) => {
      transaction.delete({ table: 't', row: 'a', column: 'v' });
    });
    await opened.settled();
    await opened.close();
  });
  assert.equal(recorder.transactions, judged);
  return recorder.judge([]).map(({ claim, message }) => `${claim}: ${message}`);
}

test('what a bulk load wrote is known to the judge, in whatever way it is read', async () => {
  assert.deepEqual(await readLoaded(() => undefined), []);
});

test('a value that was changed, and a row that a scan does not return, are found', async () => {
  const changed = await readLoaded(({ storage }) => {
    const data = storage.table('t');
    const [cell] = data.readRow('b', [placeOf(DATA, 'v')])?.cells ?? [];
    assert.ok(cell !== undefined);
    data.mutateRow('b', [{ kind: 'set', ...cell, value: Buffer.from('another') }]);
  });
  assert.ok(changed.length > 0 && changed.every((one) => one.includes('t/b:v')), changed.join());
  const missing = await readLoaded(eraseC);
  assert.ok(missing.length > 0 && missing.every((one) => one.includes('t/c:v')), missing.join());
});

function eraseC({ storage }: VirtualCluster): void {
  const all = { kind: 'erase', ...placeOf(WRITE, 'v'), from: 0, to: TIMESTAMP_MAX } as const;
  storage.table('t').mutateRow('c', [all]);
}

test('a scan that does not return the only row of its range is judged, but not a scan of a range without rows', async () => {
  const scan = (start: string, end?: string) => (snapshot: Snapshot) =>
    Array.fromAsync(snapshot.scan({ table: 't', start, end, columns: ['v'] }));
  assert.deepEqual(await readLoaded(() => undefined, scan('c')), []);
  for (const lost of [scan('c'), scan('b0', 'c0')]) {
    const missing = await readLoaded(eraseC, lost);
    assert.ok(missing.length > 0 && missing.every((one) => one.includes('t/c:v')), missing.join());
  }
  for (const empty of [scan('d'), scan('b0', 'c')]) {
    assert.deepEqual(await readLoaded(eraseC, empty, 1), []);
  }
});
