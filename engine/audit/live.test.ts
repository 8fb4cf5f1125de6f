/**
 * An audit raises no false alarms: not on a database in use, whatever its clients, the network and
 * crashes do to it, and not afterwards. What crashes leave is a warning, and a repair removes it.
 *
 * One seed decides a run of the clients in trouble. It is in the name of the test, so that
 * `--test-name-pattern` can select it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, hasCode, isRetryable, type Random, systemClock } from '../base/index.ts';
import { batchFilters, collectRows } from '../garbage-collection/collect-row.ts';
import { collectGarbage } from '../garbage-collection/index.ts';
import { LeaseWatch } from '../leases/index.ts';
import { type Observer, Worker } from '../observer/index.ts';
import {
  cell,
  type TestClient,
  CrashedError,
  openTestDatabase,
  put,
  type TestDatabase,
  wakingEarly,
} from '../testing/index.ts';
import { erase, findingsOf, lockOf, plant, recordOf, summaryOf } from '../testing/planting.ts';
import { committedCell, settled, transact } from '../transaction/index.ts';
import type { AuditedTable, Finding } from './index.ts';

const SEEDS = Array.from({ length: 25 }, (_, i) => i + 1);
const CELLS = ['a', 'b', 'b:seen', 'c', 'd:seen', 'u/a'];
const OBSERVER = 'copying';

/** The observer is named: every change that it has not seen must be notified. */
const TABLES: readonly AuditedTable[] = [
  { table: 't', observedColumns: ['seen'], observersOf: () => [OBSERVER] },
  { table: 'u', observedColumns: [] },
];

/** As `fsck` audits: it knows only the observers that have acknowledged. */
const UNNAMED: readonly AuditedTable[] = TABLES.map(({ table, observedColumns }) => ({
  table,
  observedColumns,
}));

describe('clients in trouble, audited all the time,', () => {
  const runs = new Set<string>();
  let left = 0;

  for (const seed of SEEDS) {
    test(`leave no error, with seed ${seed}`, async () => {
      const database = await openTestDatabase({ seed, observed: ['seen'] });
      const random = createRandom(seed);
      const clients: TestClient[] = [];
      const auditor = database.client('auditor');
      const over = new AbortController();
      const working = Promise.all(
        [0, 1, 2, 3].map((i) =>
          manyTransactions(database, random.fork(`client ${i}`), clients, {
            name: `client ${i}`,
            transactions: 12,
          }),
        ),
      ).finally(() => {
        over.abort();
      });
      const found: Finding[] = [];
      let audits = 0;
      const auditing = (async () => {
        for (; !over.signal.aborted; audits++) {
          for (const tables of [TABLES, UNNAMED]) {
            found.push(...(await findingsOf(auditor, { tables })));
          }
          await database.clock.sleep(5);
        }
      })();
      await database.clock.runUntil(Promise.all([working, auditing]));
      assert.deepEqual(errorsAmong(found), [], 'while they are running');
      assert.ok(audits > 50, `${audits} audits`);
      runs.add(found.map(summaryOf).join());

      for (const client of clients) {
        client.store.crash();
        database.bury(client.context.liveness.self);
      }
      for (const client of clients) await client.store.deliverDuplicates();
      for (const tables of [TABLES, UNNAMED]) {
        assert.deepEqual(errorsAmong(await findingsOf(auditor, { tables })), []);
      }
      left += (await findingsOf(auditor, { tables: TABLES, repair: true })).length;
      assert.deepEqual((await findingsOf(auditor, { tables: TABLES })).map(summaryOf), []);
    });
  }

  test('run differently with each seed, and leave something to repair', () => {
    assert.equal(runs.size, SEEDS.length);
    assert.ok(left > 0);
  });
});

test('the collector leaves no finding, and removes the rollback record of a rolled-back transaction', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const [a, b] = [database.client('A'), database.client('B')];
  const loser = await a.begin();
  for (const value of ['1', '2', undefined]) await b.write({ x: value, 'y:seen': value });
  put(loser, { z: 'never', x: 'never' }); // `z` is locked, and rolled back because of `x`.
  await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
  const collector = database.client('collector');
  const watch = new LeaseWatch(collector.store, database.clock);
  const services = { context: collector.context, watch, listTables: async () => ['t', 'u'] };
  await database.clock.advance(30_000); // The processes bring their bounds up to date.
  await b.write({ w: 'later' });
  await database.clock.advance(30_000);
  const rollback = `${loser.startTimestamp}`;
  const before = await database.stored('z');
  assert.ok(before['rollback']?.startsWith(rollback), 'there is a rollback record to collect');
  await database.clock.runUntil(collectGarbage(services, {}));
  assert.ok(database.oracle.horizon > loser.startTimestamp);
  assert.deepEqual(await database.stored('z'), {});
  assert.deepEqual((await findingsOf(database.client('auditor'))).map(summaryOf), []);
});

test('a long row that a collector has erased in part, because it died or is still at work, is no error', async () => {
  const database = await openTestDatabase();
  const { store: stored, oracle } = database;
  const { table, row, column } = cell('x');
  for (let i = 0; i < 1_500; i++) {
    const times = { startTimestamp: await oracle.next(), commitTimestamp: await oracle.next() };
    const mutations = committedCell(column, Buffer.from(''), times);
    await stored.mutateRows([{ table, row, mutations }]);
  }
  const writer = database.client('A');
  const touching = await writer.begin();
  await touching.lock(cell('x'));
  await touching.commit();
  await settled(writer.context);
  const deletionHorizon = await oracle.next();
  await oracle.raiseHorizon(deletionHorizon);
  const { store } = database.client('collector');
  store.crashAfter(1);
  const rows = await store.readRange(table, { limit: 1 }, batchFilters(deletionHorizon));
  await assert.rejects(collectRows(store, { table, deletionHorizon }, rows), CrashedError);
  const records = (await database.stored('x'))['write']?.split('|').length ?? 0;
  assert.ok(records > 100 && records < 1_000, `${records} records are left`);
  assert.deepEqual(errorsAmong(await findingsOf(database.client('auditor'))), []);
});

test('writers and workers, audited all the time, leave no error, and no finding in the end', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const live = (name: string): TestClient =>
    database.client(name, { clock: systemClock, backoffMsMax: 4 });
  const workerOf = (name: string): Worker =>
    new Worker(live(name).context, [copying()], { idleMs: 1, failureBackoffMs: 1 });
  await using a = workerOf('A');
  await using b = workerOf('B');
  const writing = Promise.all(
    ['C', 'D'].map(async (name) => {
      const { context } = live(name);
      for (let i = 0; i < 150; i++) {
        await transact(context, async (transaction) => {
          put(transaction, { [`row ${i % 5}:seen`]: `${name} ${i}`, [`${name} ${i}`]: 'x' });
        });
        // Lets the workers and the auditor run: the store in memory never waits.
        if (i % 5 === 0) await systemClock.yield();
      }
      await settled(context);
    }),
  );
  const over = new AbortController();
  void writing.finally(() => {
    over.abort();
  });
  const auditor = live('auditor');
  const found: Finding[] = [];
  let audits = 0;
  for (; !over.signal.aborted; audits++) {
    const tables = audits % 2 === 0 ? TABLES : UNNAMED;
    found.push(...(await findingsOf(auditor, { tables })));
    await systemClock.yield();
  }
  assert.ok(audits > 5, `${audits} audits`);
  assert.deepEqual(errorsAmong(found), []);

  await writing;
  await Promise.all([a.idle(), b.idle()]);
  await Promise.all([a.stop(), b.stop()]);
  for (const tables of [TABLES, UNNAMED]) {
    assert.deepEqual((await findingsOf(auditor, { tables })).map(summaryOf), []);
  }
});

test("only with `waitForLocks` an audit waits for a lock whose owner may be alive: the owner is dead if the lock's heartbeat does not change", async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { lockTimeToLiveMs: 1_000 });
  a.store.crashAfter(2);
  await assert.rejects(a.write({ x: '1', y: '1' }), CrashedError);
  const auditor = database.client('auditor');
  assert.deepEqual(await findingsOf(auditor), [], 'it may be alive');
  const findings = await database.clock.runUntil(findingsOf(auditor, { waitForLocks: true }));
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['lock-left-by-dead', 'lock-left-by-dead'],
  );
});

test('an audit waits for the whole time to live, even if its timers wake early', async () => {
  const database = await openTestDatabase();
  const { clock } = database;
  const a = database.client('A', { lockTimeToLiveMs: 1_000 });
  a.store.crashAfter(2);
  await assert.rejects(a.write({ x: '1', y: '1' }), CrashedError);
  const auditor = database.client('auditor', { clock: wakingEarly(clock) });
  const findings = await clock.runUntil(findingsOf(auditor, { waitForLocks: true }));
  assert.equal(findings.length, 2);
});

test('a lock whose heartbeat changes is not presumed dead after its time to live', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { lockTimeToLiveMs: 1_000 });
  const transaction = await a.begin();
  put(transaction, { x: '1' });
  const answers = [database.clock.sleep(5_000)]; // The oracle answers late.
  database.oracle.beforeNext = () => answers.pop();
  const committing = transaction.commit();
  await database.clock.runUntil(database.clock.sleep(10));
  assert.deepEqual(await database.locks(), ['x:c']);
  const beganMs = database.clock.monotonicMs();
  const auditing = findingsOf(database.client('auditor'), { waitForLocks: true });
  const findings = await database.clock.runUntil(auditing);
  assert.ok(database.clock.monotonicMs() - beganMs >= 1_000, 'it has waited');
  assert.deepEqual(await database.locks(), ['x:c'], 'it is still committing');
  assert.deepEqual(findings.map(summaryOf), []);
  await database.clock.runUntil(committing);
});

test('a slow answer, which shows a lock as it was long ago, makes no owner presumed dead and no lock held for long', async () => {
  const database = await openTestDatabase();
  const transaction = await database.client('A', { lockTimeToLiveMs: 1_000 }).begin();
  put(transaction, { x: '1', y: '1' });
  const answers = [database.clock.sleep(5_000)]; // The oracle answers late.
  database.oracle.beforeNext = () => answers.pop();
  const committing = transaction.commit();
  await database.clock.runUntil(database.clock.sleep(10));
  assert.deepEqual(await database.locks(), ['x:c', 'y:c']);
  const auditor = database.client('auditor');
  let slow = 0;
  auditor.store.afterCall = async (call) => {
    if (call.kind !== 'read' || call.operation !== 'readRow' || call.rows[0] !== 'y') return;
    slow++;
    await database.clock.sleep(1_500);
  };
  const findings = await database.clock.runUntil(findingsOf(auditor, { longHeldMs: 1_000 }));
  assert.equal(slow, 1, 'y is read again after its primary');
  assert.deepEqual(findings.map(summaryOf), []);
  await database.clock.runUntil(committing);
});

test('a lock whose primary has been collected since the audit began is no error', async () => {
  const database = await openTestDatabase();
  database.oracle.skipTo(100);
  await plant(database, 'lock x', 50, lockOf('y', 'dead owner'));
  database.bury('dead owner');
  const auditor = database.client('auditor');
  auditor.store.beforeCall = () => {
    database.oracle.horizon = 60;
  };
  assert.deepEqual((await findingsOf(auditor)).map(summaryOf), [
    'warning lock-primary-absent x:c @ 50',
  ]);
});

test('a lock that is rolled forward while its primary is read is not reported', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.crashBefore(3); // The primary `x` is committed by hand, the secondary `u/x` never.
  await assert.rejects(a.write({ x: '1', 'u/x': '1' }), CrashedError);
  database.bury('A');
  await erase(database, 'lock x', 1);
  await plant(database, 'write x', 2, recordOf(1));
  const auditor = database.client('auditor');
  assert.deepEqual(
    (await findingsOf(auditor)).map(({ code }) => code),
    ['lock-left-committed'],
  );
  auditor.store.beforeCall = async (call) => {
    const asksPrimary = call.kind === 'read' && call.operation === 'readRow' && call.table === 't';
    if (asksPrimary) await database.client('reader').read(['u/x']);
  };
  assert.deepEqual(await findingsOf(auditor), []);
});

test('a notification that was ahead of the oracle at the first look is not erased: that would also erase the notification of a commit which the second look misses', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  database.oracle.skipTo(99);
  await plant(database, 'notify t.notify/z:seen', 103);
  const [auditor, b] = [database.client('auditor'), database.client('B')];
  let committed: number | undefined;
  auditor.store.afterCall = async (call) => {
    const isRow = call.kind === 'read' && call.operation === 'readRow' && call.table === 't';
    if (!isRow || committed !== undefined) return;
    committed = await b.write({ 'z:seen': '1' }); // Its row has been read, without the commit.
    database.oracle.skipTo(200);
  };
  const findings = await findingsOf(auditor, { repair: true });
  assert.deepEqual(findings.map(summaryOf), ['warning notification-clean z:seen @ 103']);
  assert.equal(committed, 101);
  assert.deepEqual(await database.notifications(), ['notify z:seen@103', 'notify z:seen@101']);
});

test('data without a transaction is not erased if a transaction has locked its cell by then', async () => {
  const database = await openTestDatabase();
  await plant(database, 'data x', 1, 'whose');
  await plant(database, 'rollback x', 1);
  const auditor = database.client('auditor');
  auditor.store.beforeCall = async (call) => {
    if (call.kind === 'mutation') await plant(database, 'lock x', 1, lockOf('x', 'owner'));
  };
  const [finding] = await findingsOf(auditor, { repair: true });
  assert.deepEqual(finding?.repair, {
    done: false,
    note: 'the cell has been locked or written since the audit',
  });
  assert.equal((await database.stored('x'))['data'], '1: whose');
});

test('a repair whose answer is lost may have been made, and the report says so', async () => {
  const database = await openTestDatabase();
  await plant(database, 'data x', 1, 'whose');
  await plant(database, 'rollback x', 1);
  await plant(database, 'lock y', 2, lockOf('y', 'dead owner'));
  database.oracle.skipTo(100);
  database.bury('dead owner');
  const auditor = database.client('auditor');
  auditor.store.loseAnswer(() => true);
  const repairs = (await findingsOf(auditor, { repair: true })).map(({ repair }) => repair);
  assert.deepEqual(repairs, [
    { done: false, note: 'it may have been done: the answer of mutation 1, of row x, was lost' },
    { done: false, note: 'its owner may be alive, or the storage lost an answer' },
  ]);
  assert.equal((await database.stored('x'))['data'], undefined);
  assert.deepEqual(await database.locks(), []);
});

function copying(): Observer {
  const run: Observer['run'] = async (transaction, { row }) => {
    const value = await transaction.get(cell(`${row}:seen`));
    put(transaction, { [`${row}:copy`]: value?.toString() });
  };
  return { name: OBSERVER, table: 't', column: 'seen', run };
}

async function manyTransactions(
  database: TestDatabase,
  random: Random,
  clients: TestClient[],
  { name, transactions }: { readonly name: string; readonly transactions: number },
): Promise<void> {
  let client: TestClient | undefined;
  for (let i = 0; i < transactions; i++) {
    if (client === undefined) {
      client = troubled(database, random.fork(`trouble ${i}`), `${name}, life ${i}`);
      clients.push(client);
    }
    if (await oneTransaction(client, random)) continue;
    client = undefined; // Its process is started again.
  }
}

/** A client with warnings, decided by `random`. */
function troubled(database: TestDatabase, random: Random, name: string): TestClient {
  const ordered = random.fraction() < 0.5;
  const client = database.client(name, {
    ordered,
    lockTimeToLiveMs: 60,
    lockWaitMsMax: 400,
    inDoubtAttemptsMax: 3,
    backoffMsMax: 16,
  });
  const { store } = client;
  const wait = async (): Promise<void> => {
    const kind = random.fraction();
    if (kind < 0.02) await database.clock.sleep(random.integer(50, 200));
    else if (kind < 0.3) await database.clock.sleep(random.integer(0, 10));
  };
  store.beforeCall = wait;
  store.afterCall = wait;
  store.duplicate(() => random.fraction() < 0.3);
  store.loseAnswer(() => random.fraction() < 0.05);
  // An ordered store cannot lose one request and apply the next: a commit would lack its
  // notifications.
  if (!ordered) store.loseRequest(() => random.fraction() < 0.05);
  if (random.fraction() < 0.5) store.crashAfter(random.integer(1, 40));
  return client;
}

/** Resolves to whether the client has survived it. */
async function oneTransaction(client: TestClient, random: Random): Promise<boolean> {
  try {
    const transaction = await client.begin();
    const names = Array.from({ length: random.integer(1, 3) }, () => random.pick(CELLS));
    await transaction.getMany(names.map(cell));
    for (const name of names) {
      const kind = random.fraction();
      const value = kind < 0.4 ? undefined : `by ${transaction.startTimestamp}`;
      if (kind < 0.2) await transaction.lock(cell(name));
      else put(transaction, { [name]: value });
    }
    await transaction.commit();
    return true;
  } catch (error) {
    if (error instanceof CrashedError) return false;
    if (isRetryable(error)) return true;
    if (hasCode(error, 'COMMIT_UNKNOWN')) return true;
    throw error;
  }
}

function errorsAmong(findings: readonly Finding[]): readonly string[] {
  return findings
    .filter(({ severity }) => severity === 'error')
    .map((finding) => `${summaryOf(finding)}: ${finding.sentence}`);
}
