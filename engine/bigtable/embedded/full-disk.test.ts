/**
 * P78: on a full disk, reads, snapshots and reopening go on, writes say at once that it is full,
 * and nothing that was acknowledged is lost. A simulated disk has little room.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, hasCode, type PercolatorError, systemClock } from '../../base/index.ts';
import { batchTimestamps, openAllocator } from '../../oracle/index.ts';
import { openPercolator, type Percolator } from '../../percolator.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import { LOCK, placeOf } from '../../transaction/columns.ts';
import type { Bigtable } from '../bigtable.ts';
import { decorate } from '../decorate.ts';
import { openOnDisk } from './open-embedded.ts';
import { SIZES } from './log.ts';

const ROOM_BYTES = 40_000;
const RESERVE_BYTES = 8_192;
/** A snapshot takes one: soon the range is used up. */
const RANGE_SIZE = 3;
const CELL = { table: 't', column: 'c' };

function open(disk: SimulatedDisk): Promise<Bigtable> {
  const settings = { fsync: true, readOnly: false, sizes: SIZES };
  return openOnDisk(disk, { ...settings, reserveBytes: RESERVE_BYTES });
}

async function databaseOn(store: Bigtable): Promise<Percolator> {
  const oracle = batchTimestamps(await openAllocator(store, { rangeSize: RANGE_SIZE }));
  return openPercolator({ store, oracle });
}

/** Writes rows until the disk is full. Returns those that were acknowledged. */
async function fillUp(database: Percolator): Promise<readonly string[]> {
  const rows: string[] = [];
  for (let i = 0; ; i++) {
    let runs = 0;
    try {
      await database.transact(async (transaction) => {
        runs++;
        transaction.set({ ...CELL, row: `r${i}` }, 'x'.repeat(1_000));
      });
      rows.push(`r${i}`);
    } catch (error) {
      if (!hasCode(error, 'STORE_FULL')) throw error;
      assert.match(error.message, /the disk (?:of the embedded store )?is full/);
      assert.ok(runs <= 2, `it was run ${runs} times`);
      return rows;
    }
  }
}

async function rowsOf(database: Percolator): Promise<readonly string[]> {
  const snapshot = await database.snapshot();
  const rows: string[] = [];
  for await (const { row } of snapshot.scan({ table: 't', columns: ['c'] })) rows.push(row);
  await snapshot.close();
  return rows;
}

async function fullDatabase(): Promise<{
  disk: SimulatedDisk;
  database: Percolator;
  rows: readonly string[];
}> {
  const disk = new SimulatedDisk({ random: createRandom(1) });
  const database = await databaseOn(await open(disk));
  await database.createTable('t');
  disk.roomBytes = ROOM_BYTES;
  const rows = await fillUp(database);
  assert.ok(rows.length >= 5, `${rows.length} rows`);
  return { disk, database, rows: rows.toSorted() };
}

describe('P78: on a full disk', () => {
  test('snapshots go on when the range of timestamps is used up, and show what was acknowledged', async () => {
    const { disk, database, rows } = await fullDatabase();
    for (let i = 0; i < 10 * RANGE_SIZE; i++) assert.deepEqual(await rowsOf(database), rows);
    disk.roomBytes = Infinity;
    assert.ok((await write(database, 'later')) === 'done');
    assert.deepEqual((await rowsOf(database)).length, rows.length + 1);
    await database.close();
  });

  test('the store can be opened again, after it was closed and after a kill', async () => {
    for (const isKilled of [false, true]) {
      const { disk, database, rows } = await fullDatabase();
      if (!isKilled) await database.store.close();
      for (let life = 0; life < 3; life++) {
        const store = await open(disk);
        const again = await databaseOn(store);
        assert.deepEqual(await rowsOf(again), rows);
        await again.close();
        if (!isKilled) await store.close();
      }
      disk.roomBytes = Infinity;
      const last = await databaseOn(await open(disk));
      assert.equal(await write(last, 'later'), 'done');
      assert.deepEqual((await rowsOf(last)).length, rows.length + 1);
      await last.close();
      await database.close();
    }
  });

  test('a power cut loses nothing that was acknowledged', async () => {
    const { disk, database, rows } = await fullDatabase();
    await rowsOf(database);
    for (let cut = 0; cut < 20; cut++) {
      const random = createRandom(cut);
      const left = new SimulatedDisk({ random }, disk.afterPowerCut(random));
      left.roomBytes = ROOM_BYTES;
      const found = await databaseOn(await open(left));
      assert.deepEqual(await rowsOf(found), rows);
      await found.close();
    }
    await database.close();
  });

  test('a lock that a transaction left is rolled back for a reader', async () => {
    const { disk, database, rows } = await fullDatabase();
    disk.roomBytes = Infinity;
    const [first = ''] = rows;
    const answer = Promise.withResolvers<boolean>();
    const silent: Bigtable['checkAndMutateRow'] = (conditional) =>
      conditional.table === 't' ? answer.promise : database.store.checkAndMutateRow(conditional);
    const dead = await openPercolator({
      store: decorate(database.store, { checkAndMutateRow: silent }),
      liveness: { self: 'dead', isDead: () => false },
    });
    const left = await dead.begin();
    left.set({ ...CELL, row: first }, 'never');
    const committing = left.commit();
    while ((await locks(database)) === 0) await systemClock.yield();
    disk.roomBytes = [...disk.files().values()].reduce((sum, { length }) => sum + length, 0);
    const reader = await openPercolator({
      store: database.store,
      lockTimeToLiveMs: 1,
      liveness: { self: 'reader', isDead: (process) => process === 'dead' },
    });
    assert.deepEqual(await rowsOf(reader), rows);
    assert.equal(await locks(database), 0);
    answer.resolve(false);
    await assert.rejects(committing, { code: 'ROLLED_BACK' });
    for (const one of [reader, dead, database]) await one.close();
  });

  test('once there is room, the reserve is made again', async () => {
    const { disk, database } = await fullDatabase();
    for (let i = 0; i < 20 * RANGE_SIZE; i++) await rowsOf(database);
    const sizeOf = (): number => disk.files().get('reserve')?.length ?? 0;
    assert.ok(sizeOf() < RESERVE_BYTES, 'it was used');
    disk.roomBytes = Infinity;
    for (let i = 0; i < 12; i++) await write(database, `later ${i}`);
    for (let i = 0; i < 20; i++) await systemClock.yield();
    assert.equal(sizeOf(), RESERVE_BYTES);
    await database.close();
  });
});

async function write(database: Percolator, row: string): Promise<string> {
  const written = database.transact(async (transaction) => {
    transaction.set({ ...CELL, row }, 'x'.repeat(1_000));
  });
  return written.then(
    () => 'done',
    (error: PercolatorError) => error.code,
  );
}

async function locks(database: Percolator): Promise<number> {
  const rows = await database.store.readRange('t', { limit: 100 }, [placeOf(LOCK, 'c')]);
  return rows.length;
}
