/**
 * P31: nothing that may have been collected is read, or committed on.
 * Each test fails without its part of the rule.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isRetryable, PercolatorError } from '../base/index.ts';
import { cell, type TestClient, type TestClientOptions, put } from '../testing/index.ts';
import { placeOf, snapshotAt, type Transaction } from '../transaction/index.ts';
import { get, openScene, type CollectionScene } from '../testing/collection-scene.ts';

describe('P31: a snapshot in use keeps what it sees', () => {
  test('by the lease of its process', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    const first = await b.write({ x: '1' });
    const reader = await a.begin();
    await b.write({ x: '2' });
    await b.write({ x: '3' });
    await scene.renewals();
    const report = await scene.collect();
    assert.equal(await get(reader, 'x'), '1');
    assert.ok(report.horizon >= first, 'what is older than the snapshot may go');
    assert.equal(report.heldBackBy?.process, 'A');
    assert.equal(report.heldBackBy?.timestamp, reader.startTimestamp);
    await reader.commit();
    await scene.renewals();
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), { write: '7: 6 put', data: '6: 3' });
  });

  test('also while its start timestamp is still in flight', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    await b.write({ x: '1' });
    await a.read(['y']);
    const { oracle } = scene.database;
    oracle.afterNext = async () => {
      oracle.afterNext = undefined; // A's start timestamp was chosen.
      await b.write({ x: '2' });
      await b.write({ x: '3' });
      await scene.renewals();
      await scene.collect();
    };
    const reader = await a.begin();
    assert.equal(await get(reader, 'x'), '1');
  });

  test('also if its process registers after the leases were read: its timestamp is at or above the horizon', async () => {
    // If the collector read the leases first and asked for the timestamp later, it would give up
    // the newcomer's start timestamp.
    const scene = await openScene();
    const newcomer = scene.client('newcomer');
    let transaction: Transaction | undefined;
    scene.collector.store.afterCall = async (call) => {
      if (call.kind !== 'read' || call.table !== 'percolator-leases') return;
      scene.collector.store.afterCall = undefined;
      transaction = await newcomer.begin();
    };
    const { horizon } = await scene.beginCycle();
    assert.ok(transaction !== undefined && horizon > 0);
    assert.ok(horizon <= transaction.startTimestamp);
    put(transaction, { x: '1' });
    await transaction.commit();
  });

  test('that was pinned between the collector’s first read of the leases and its new horizon', async () => {
    // Without the second look at the leases, the versions that the pin sees would be deleted.
    const scene = await openScene();
    const a = scene.client('A');
    const first = await a.write({ x: '1' });
    await a.write({ x: '2' });
    await a.write({ x: '3' });
    await scene.renewals();
    let pinned: Awaited<ReturnType<typeof snapshotAt>> | undefined;
    scene.atHorizon(async () => {
      pinned = await snapshotAt(a.context, first);
    });
    const report = await scene.collect();
    assert.ok(pinned !== undefined && report.horizon > first && report.deletionHorizon <= first);
    assert.equal(await get(pinned, 'x'), '1');
  });

  test('unless the collector was faster than the pin: the horizon is read after the pin was sent, not before', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    const first = await a.write({ x: '1' });
    await a.write({ x: '2' });
    await scene.renewals();
    a.leaseStore.beforeCall = async (call) => {
      if (call.kind === 'read') return;
      a.leaseStore.beforeCall = undefined; // The pin is on its way.
      await scene.collect();
    };
    await assert.rejects(snapshotAt(a.context, first), { code: 'STALE_SNAPSHOT' });
  });

  test('or is refused when it is pinned too late', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    const first = await a.write({ x: '1' });
    await a.write({ x: '2' });
    await scene.renewals();
    const collector = await scene.beginCycle();
    await assert.rejects(snapshotAt(a.context, first), {
      code: 'STALE_SNAPSHOT',
      message: new RegExp(`snapshot at ${first} is below the horizon ${collector.horizon}\\b`),
    });
    await scene.endCycle(collector);
    assert.deepEqual(await scene.database.stored('x'), { write: '4: 3 put', data: '3: 2' });
  });

  test('and what it sees stays until the pin is closed, although an earlier bound was above it', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    const first = await a.write({ x: '1' });
    await a.write({ x: '2' });
    await scene.renewals();
    const pinned = await snapshotAt(a.context, first);
    await scene.collect();
    assert.equal(await get(pinned, 'x'), '1');
    await pinned.close();
    await scene.renewals();
    await scene.collect();
    await assert.rejects(snapshotAt(a.context, first), { code: 'STALE_SNAPSHOT' });
  });
});

describe('P31: what may have been collected is not read', () => {
  async function lapsed(options: TestClientOptions = {}): Promise<{
    scene: CollectionScene;
    reader: Transaction;
    a: TestClient;
    endLoss: () => void;
  }> {
    const scene = await openScene();
    const [a, b] = [scene.client('A', options), scene.client('B')];
    await b.write({ x: '1', y: '1', z: '1' });
    const reader = await a.begin();
    assert.equal(await get(reader, 'z'), '1');
    const endLoss = await scene.lapse(a);
    assert.equal(await get(reader, 'y'), '1', 'a lapsed lease alone takes nothing away');
    await b.write({ x: '2', y: '2' });
    await b.write({ x: undefined });
    await scene.renewals();
    await scene.collect();
    return { scene, reader, a, endLoss };
  }

  for (const [name, read] of Object.entries({
    get: (reader) => reader.get(cell('x')),
    getMany: (reader) => reader.getMany([cell('x'), cell('u/q')]),
    scan: (reader) => Array.fromAsync(reader.scan({ table: 't', columns: ['c'] })),
    'scan of an empty range': (reader) =>
      Array.fromAsync(reader.scan({ table: 'u', columns: ['c'] })),
    lock: (reader) => reader.lock(cell('x')),
  } satisfies Record<string, (reader: Transaction) => Promise<unknown>>)) {
    test(`by ${name}`, async () => {
      const { reader } = await lapsed();
      await assert.rejects(read(reader), { code: 'STALE_SNAPSHOT' });
    });
  }

  test('by getMany of several rows that are read in one call', async () => {
    const { reader } = await lapsed({ batching: { delayMs: 0 } });
    const read = reader.getMany([cell('x'), cell('q')]);
    await assert.rejects(read, { code: 'STALE_SNAPSHOT' });
  });

  test('what was read before remains valid', async () => {
    const { reader } = await lapsed();
    assert.equal(await get(reader, 'z'), '1');
  });

  test('a lapsed lease that is there again does not cover what began before', async () => {
    const { scene, reader, a, endLoss } = await lapsed();
    endLoss();
    await scene.renewals();
    await assert.rejects(reader.get(cell('x')), { code: 'STALE_SNAPSHOT' });
    assert.equal(await get(await a.begin(), 'y'), '2', 'what begins now is read as always');
  });

  test('the error is one after which a transaction is run again', async () => {
    const { reader } = await lapsed();
    const error: unknown = await reader.get(cell('x')).catch((reason: unknown) => reason);
    assert.ok(error instanceof PercolatorError);
    assert.ok(isRetryable(error));
  });

  test('a snapshot that was never closed keeps nothing after its maximum lifetime', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A', { snapshotLifetimeMsMax: 100_000 }), scene.client('B')];
    await b.write({ x: '1' });
    const forgotten = await snapshotAt(a.context);
    await b.write({ x: '2' });
    await scene.renewals();
    await scene.collect();
    assert.equal(await get(forgotten, 'x'), '1');
    await b.write({ y: '1' });
    await scene.database.clock.advance(100_000);
    await scene.collect();
    assert.deepEqual(await scene.database.stored('x'), { write: '5: 4 put', data: '4: 2' });
    await assert.rejects(forgotten.get(cell('y')), { code: 'STALE_SNAPSHOT' });
  });

  test('also in a scan, of a row that was locked', async () => {
    const scene = await openScene();
    const [a, b, dead] = [scene.client('A'), scene.client('B'), scene.client('dead')];
    await b.write({ x: '1' });
    dead.store.crashAfter(1); // Its lock stays.
    await assert.rejects(dead.write({ x: '2' }));
    dead.leaseStore.crash();
    scene.database.bury('dead');
    const reader = await a.begin();
    await scene.lapse(a);
    a.store.beforeCall = async (call) => {
      if (call.kind !== 'read' || call.operation !== 'readRow') return;
      a.store.beforeCall = undefined; // The batch was read, and was not stale.
      await b.read(['x']);
      await b.write({ x: undefined });
      await scene.renewals();
      await scene.collect();
    };
    const rows = Array.fromAsync(reader.scan({ table: 't', columns: ['c'] }));
    await assert.rejects(rows, { code: 'STALE_SNAPSHOT' });
  });

  test('and data that is gone is a broken store only above the horizon', async () => {
    const scene = await openScene();
    const a = scene.client('A');
    await a.write({ x: '1' });
    const reader = await a.begin();
    const data = { ...placeOf('data', 'c'), from: 1, to: 1 };
    const mutations = [{ kind: 'erase', ...data }] as const;
    await scene.database.store.mutateRows([{ table: 't', row: 'x', mutations }]);
    await assert.rejects(reader.get(cell('x')), /assertion failed.*points to data/);
    await scene.database.oracle.raiseHorizon(reader.startTimestamp + 1);
    await assert.rejects(reader.get(cell('x')), { code: 'STALE_SNAPSHOT' });
  });
});

describe('P31: a commit whose conflict may have been collected is refused', () => {
  test('because of the horizon that comes with its commit timestamp', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    await b.write({ x: '1' });
    const late = await a.begin();
    assert.equal(await get(late, 'x'), '1');
    await scene.lapse(a);
    await b.write({ x: undefined }); // The conflict that A must hear of.
    await scene.renewals();
    await scene.collect(); // Nothing is left of it.
    assert.deepEqual(await scene.database.stored('x'), {});
    put(late, { x: '1 + 1', y: '1' });
    await assert.rejects(late.commit(), { code: 'STALE_SNAPSHOT' });
    assert.deepEqual(await b.read(['x', 'y']), { x: undefined, y: undefined });
    assert.deepEqual(await scene.database.locks(), []);
  });

  test('also if the horizon moved while the locks were being placed', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B')];
    await b.write({ x: '1' });
    const late = await a.begin();
    await scene.lapse(a);
    put(late, { p: '1', x: '2' });
    a.beforeMutation(2, async () => {
      await b.write({ x: undefined });
      await scene.renewals();
      await scene.collect();
    });
    await assert.rejects(late.commit(), (error: PercolatorError) =>
      ['STALE_SNAPSHOT', 'ROLLED_BACK', 'WRITE_CONFLICT'].includes(error.code),
    );
    assert.deepEqual(await b.read(['p', 'x']), { p: undefined, x: undefined });
  });
});
