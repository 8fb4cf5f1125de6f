/**
 * Collecting must change nothing that a reader may still see: random histories, with collectors
 * that die, compared with a map that forgets nothing.
 *
 * One seed decides a run, and its number is in the name of the test that fails.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, hasCode, PercolatorError, type Random } from '../base/index.ts';
import type { Cell } from '../bigtable/index.ts';
import { LeaseWatch } from '../leases/index.ts';
import {
  cell,
  type TestClient,
  CrashedError,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';
import { isOf, snapshotAt, TABLE_FAMILIES } from '../transaction/index.ts';
import { collectGarbage } from './collector.ts';

const CELLS = ['a', 'b', 'b:second', 'c', 'u/a', 'u/d'];
const ROWS = ['t/a', 't/b', 't/c', 'u/a', 'u/d'];
const OPTIONS = { messageLifetimeMs: 50, rowsPerStep: 2, restMs: 5 };

type Value = string | undefined;

/** Every version of every cell, by commit timestamp: here nothing is collected. */
class Truth {
  readonly #versions = new Map<string, { at: number; value: Value }[]>();

  commit(at: number, values: ReadonlyMap<string, Value>): void {
    for (const [name, value] of values) {
      const versions = this.#versions.get(name) ?? [];
      this.#versions.set(name, versions);
      versions.push({ at, value });
      versions.sort((a, b) => a.at - b.at);
    }
  }

  read(name: string, timestamp: number): Value {
    return this.#versions.get(name)?.findLast(({ at }) => at <= timestamp)?.value;
  }
}

interface HistoryRun {
  readonly database: TestDatabase;
  readonly truth: Truth;
  reads: number;
  stale: number;
}

async function startRun(seed: number): Promise<HistoryRun> {
  const database = await openTestDatabase({ seed });
  return { database, truth: new Truth(), reads: 0, stale: 0 };
}

/** Transactions one after the other; those that lose, or are stale, are ignored. */
async function manyTransactions(
  run: HistoryRun,
  client: TestClient,
  random: Random,
): Promise<void> {
  for (let i = 0; i < 25; i++) {
    await run.database.clock.sleep(random.integer(0, 40));
    await oneTransaction(run, client, random);
    if (random.fraction() < 0.3) await readThePast(run, client, random);
  }
}

async function oneTransaction(run: HistoryRun, client: TestClient, random: Random): Promise<void> {
  const transaction = await client.begin();
  const { startTimestamp } = transaction;
  const writes = new Map<string, Value>();
  try {
    if (random.fraction() < 0.5) await run.database.clock.sleep(random.integer(0, 200));
    for (let i = random.integer(0, 3); i > 0; i--) {
      const name = random.pick(CELLS);
      const value = (await transaction.get(cell(name)))?.toString();
      assert.equal(value, run.truth.read(name, startTimestamp), `${name} at ${startTimestamp}`);
      run.reads++;
    }
    for (let i = random.integer(0, 2); i > 0; i--) {
      const value = random.fraction() < 0.3 ? undefined : `by ${startTimestamp}`;
      writes.set(random.pick(CELLS), value);
    }
    put(transaction, Object.fromEntries(writes));
    if (random.fraction() < 0.2) await transaction.lock(cell(random.pick(CELLS)));
    const committed = await transaction.commit();
    run.truth.commit(committed, writes);
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    if (error.code === 'STALE_SNAPSHOT') run.stale++;
    transaction.discard();
  }
}

async function readThePast(run: HistoryRun, client: TestClient, random: Random): Promise<void> {
  const newest = run.database.oracle.given.at(-1) ?? 1;
  const timestamp = random.integer(Math.max(1, newest - 30), newest);
  try {
    await using snapshot = await snapshotAt(client.context, timestamp);
    await run.database.clock.sleep(random.integer(0, 150));
    await client.settled();
    for (const name of CELLS) {
      const value = (await snapshot.get(cell(name)))?.toString();
      // A commit at a smaller timestamp may still be in flight: its lock is waited for, so its
      // value is known by now.
      assert.equal(value, run.truth.read(name, timestamp), `${name} at ${timestamp}, pinned`);
      run.reads++;
    }
  } catch (error) {
    if (!hasCode(error, 'STALE_SNAPSHOT')) throw error;
    run.stale++;
  }
}

/** A collector that dies now and then, and is started again, until `signal` aborts. */
async function collectAndDie(
  run: HistoryRun,
  random: Random,
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  for (let life = 0; !signal.aborted; life++) {
    const client = run.database.client(`collector, life ${life}`);
    if (random.fraction() < 0.5) client.store.crashAfter(random.integer(1, 12));
    try {
      deleted += (await collectGarbage(servicesOf(client), OPTIONS)).cellsDeleted;
    } catch (error) {
      if (!(error instanceof CrashedError)) throw error;
    }
    await run.database.clock.sleep(20);
  }
  return deleted;
}

function servicesOf(client: TestClient): Parameters<typeof collectGarbage>[0] {
  const { context } = client;
  const watch = new LeaseWatch(client.store, context.clock);
  return { context, watch, listTables: async () => ['t', 'u'] };
}

async function stored(database: TestDatabase): Promise<Record<string, readonly string[]>> {
  const rows: Record<string, readonly string[]> = {};
  for (const name of ROWS) {
    const { table, row } = cell(name);
    const filters = TABLE_FAMILIES.map((family) => ({ family }));
    const cells = (await database.store.readRow(table, row, filters))?.cells ?? [];
    rows[name] = cells.map(describeStored);
  }
  return rows;
}

function describeStored({ qualifier, timestamp }: Cell): string {
  return `${qualifier}@${timestamp}`;
}

describe('every reader sees what was committed, with collectors running', () => {
  const totals = { reads: 0, stale: 0, deleted: 0 };

  for (let seed = 1; seed <= 40; seed++) {
    test(`in the history of seed ${seed}`, async () => {
      const run = await startRun(seed);
      const random = createRandom(seed);
      const stopping = new AbortController();
      // With every second seed the leases are renewed often.
      const leaseTimeToLiveMs = seed % 2 === 0 ? 60 : 30_000;
      const workers = [1, 2, 3].map((i) =>
        manyTransactions(
          run,
          run.database.client(`client ${i}`, {
            leaseTimeToLiveMs,
            snapshotLifetimeMsMax: i === 3 ? 100 : 600_000,
          }),
          random.fork(`client ${i}`),
        ),
      );
      const collecting = collectAndDie(run, random.fork('collector'), stopping.signal);
      await run.database.clock.runUntil(Promise.all(workers));
      stopping.abort();
      totals.deleted += await run.database.clock.runUntil(collecting);
      await assertPast(run);
      totals.reads += run.reads;
      totals.stale += run.stale;
    });
  }

  test('and the histories had enough reads, deletions and stale snapshots', () => {
    assert.ok(totals.reads > 5_000, `${totals.reads} reads`);
    assert.ok(totals.deleted > 1_000, `${totals.deleted} cells deleted`);
    assert.ok(totals.stale > 10, `${totals.stale} stale snapshots`);
  });
});

/** Every snapshot at or above the horizon is unchanged; below, it is refused. */
async function assertPast({ database, truth }: HistoryRun): Promise<void> {
  const judge = database.client('judge');
  const { horizon } = database.oracle;
  const newest = database.oracle.given.at(-1) ?? 1;
  for (let timestamp = Math.max(1, horizon); timestamp <= newest; timestamp++) {
    const values = await database.clock.runUntil(judge.read(CELLS, timestamp));
    for (const name of CELLS) assert.equal(values[name], truth.read(name, timestamp));
  }
  if (horizon <= 1) return;
  await assert.rejects(judge.read(CELLS, horizon - 1), { code: 'STALE_SNAPSHOT' });
}

describe('a collector may die at any mutation', () => {
  /**
   * Old versions, tombstones, rollback records,
   * and the lock of a client that died after the commit point.
   */
  async function prepare(): Promise<{ database: TestDatabase; collector: TestClient }> {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    for (const value of ['1', '2', undefined]) await b.write({ a: value, 'u/a': '1', c: '1' });
    const loser = await b.begin();
    await b.write({ b: '1' });
    put(loser, { b: '2', 'b:second': '2' });
    await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
    a.store.loseRequest(
      ({ row, mutations }) =>
        row === 'd' && mutations.some((one) => one.kind === 'set' && isOf('write', one)),
    );
    await a.write({ c: '2', 'u/d': '2' });
    await a.context.leases.close();
    a.store.crash();
    database.bury('A');
    await b.write({ c: '3' });
    await database.clock.advance(10_000);
    return { database, collector: database.client('collector') };
  }

  async function collect(database: TestDatabase, client: TestClient): Promise<void> {
    await database.clock.runUntil(collectGarbage(servicesOf(client), OPTIONS));
  }

  test('and its successor leaves the same cells as if nothing had happened', async () => {
    const undisturbed = await prepare();
    await collect(undisturbed.database, undisturbed.collector);
    const expected = await stored(undisturbed.database);
    const count = undisturbed.collector.store.mutationCount;
    assert.ok(count > 10, `${count} places to die`);
    for (const moment of ['crashBefore', 'crashAfter'] as const) {
      for (let number = 1; number <= count; number++) {
        const { database, collector } = await prepare();
        collector.store[moment](number);
        await assert.rejects(collect(database, collector), CrashedError);
        await collect(database, database.client('its successor'));
        // The successor may have found a newer horizon, but nothing more to collect below it.
        assert.deepEqual(await stored(database), expected, `${moment} ${number}`);
        assert.deepEqual(await database.client('C').read(CELLS), {
          a: undefined,
          b: '1',
          'b:second': undefined,
          c: '3',
          'u/a': '1',
          'u/d': '2',
        });
      }
    }
  });
});
