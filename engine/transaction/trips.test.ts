/**
 * Sequential trips to the storage that a caller waits for: the storage is one millisecond away, and
 * the clock counts them. Timestamps cost none here.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import { cell, openTestDatabase, put, type TestDatabase } from '../testing/index.ts';
import { begin, type Context, snapshotAt } from './index.ts';

const ROWS = ['p', 'x', 'y', 'u/z'];

for (const rows of [1, 2, 4]) {
  test(`a commit of ${rows} rows takes two trips: prewrite, and commit of the primary`, async () => {
    assert.equal(await tripsOfCommit({ rows }), 2);
  });

  test(`notifications of ${rows} rows take a trip of their own only where mutations may change their order`, async () => {
    assert.equal(await tripsOfCommit({ rows, observed: ['c'] }), 2);
    assert.equal(await tripsOfCommit({ rows, observed: ['c'], ordered: false }), 3);
  });
}

test('cells of several rows are read in one trip', async () => {
  const database = await openTestDatabase();
  const snapshot = await snapshotAt(oneAway(database));
  assert.equal(await tripsOf(database, snapshot.getMany(ROWS.map(cell))), 1);
});

async function tripsOfCommit({
  rows,
  observed,
  ordered = true,
}: {
  readonly rows: number;
  readonly observed?: readonly string[];
  readonly ordered?: boolean;
}): Promise<number> {
  const database = await openTestDatabase({ observed });
  const transaction = await begin(oneAway(database, ordered));
  put(transaction, Object.fromEntries(ROWS.slice(0, rows).map((row) => [row, '1'])));
  return tripsOf(database, transaction.commit());
}

async function tripsOf(database: TestDatabase, work: Promise<unknown>): Promise<number> {
  const before = database.clock.monotonicMs();
  await database.clock.runUntil(work);
  return database.clock.monotonicMs() - before;
}

/** A process that has the storage one millisecond away. */
function oneAway(database: TestDatabase, ordered = true): Context {
  const { store, clock } = database;
  const trip = async <T>(call: () => Promise<T>): Promise<T> => {
    await clock.sleep(1);
    return call();
  };
  const away: Partial<Bigtable> = {
    manifest: { ...store.manifest, ordered },
    readRow: (...given) => trip(() => store.readRow(...given)),
    readRows: (...given) => trip(() => store.readRows(...given)),
    checkAndMutateRow: (...given) => trip(() => store.checkAndMutateRow(...given)),
    checkAndMutateRows: (...given) => trip(() => store.checkAndMutateRows(...given)),
    mutateRows: (...given) => trip(() => store.mutateRows(...given)),
  };
  return { ...database.client('A').context, store: decorate(store, away) };
}
