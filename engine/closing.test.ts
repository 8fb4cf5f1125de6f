/**
 * The claims about closing a database while it is in use (P81): commits in flight end, all else
 * ends at once and says STORE_CLOSED, and everything that was opened is closed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from './base/index.ts';
import { type Bigtable, decorate } from './bigtable/index.ts';
import { openPercolator, type Percolator, type PercolatorOptions } from './percolator.ts';
import { everywhere, LOCK } from './transaction/index.ts';
import { createMemoryBigtable, temporaryFolder, VirtualClock } from './testing/index.ts';

const CLOSED = { code: 'STORE_CLOSED' };
const HOUR_MS = 3_600_000;
const cell = (row: string): { table: string; row: string; column: string } => ({
  table: 't',
  row,
  column: 'c',
});

/** A store whose conditional mutations of some rows wait until they are let go. */
function holding(store: Bigtable): {
  readonly store: Bigtable;
  readonly reached: Promise<void>;
  readonly hold: () => void;
  readonly letGo: () => void;
} {
  const reached = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let isHeld = false;
  return {
    reached: reached.promise,
    hold: () => (isHeld = true),
    letGo: () => gone.resolve(),
    store: decorate(store, {
      // Only prewrites are sent in lists.
      checkAndMutateRows: async (conditionals) => {
        const answers = await store.checkAndMutateRows(conditionals);
        if (!isHeld) return answers;
        reached.resolve();
        await gone.promise;
        return answers;
      },
    }),
  };
}

async function locksIn(store: Bigtable): Promise<number> {
  return (await store.readRange('t', { limit: 100 }, [everywhere(LOCK)])).length;
}

async function open(
  options: PercolatorOptions,
): Promise<{ readonly clock: VirtualClock; readonly database: Percolator }> {
  const clock = new VirtualClock();
  const database = await openPercolator({ clock, ...options });
  await database.createTable('t', { observedColumns: ['seen'] });
  return { clock, database };
}

async function write(database: Percolator, row: string): Promise<number> {
  const transaction = await database.begin();
  transaction.set(cell(row), 'v');
  transaction.set(cell(`${row}, too`), 'v');
  return transaction.commit();
}

test('P81: close waits for a commit in flight, which leaves no locks', async () => {
  const memory = createMemoryBigtable();
  const { store, reached, hold, letGo } = holding(memory);
  const { database } = await open({ store });
  hold();
  const committed = write(database, 'x');
  await reached;
  assert.ok((await locksIn(memory)) > 0);
  const closed = database.close();
  await assert.rejects(write(database, 'y'), CLOSED, 'nothing new begins');
  letGo();
  await closed;
  assert.ok((await committed) > 0);
  assert.equal(await locksIn(memory), 0);
});

test('P81: a transaction that has not begun to commit is refused, and leaves nothing', async () => {
  const store = createMemoryBigtable();
  const { database } = await open({ store });
  const transaction = await database.begin();
  transaction.set(cell('x'), 'v');
  const closed = database.close();
  await assert.rejects(transaction.commit(), CLOSED);
  await closed;
  assert.equal(await locksIn(store), 0);
});

test('P81: close ends after lockWaitMsMax although a commit hangs; its locks are dead at once', async () => {
  const memory = createMemoryBigtable();
  const { store, reached, hold } = holding(memory);
  const { clock, database } = await open({ store, lockWaitMsMax: 1_000 });
  hold();
  void write(database, 'x');
  await reached;
  await clock.runUntil(database.close());
  assert.ok((await locksIn(memory)) > 0);
  const again = await open({ store: memory });
  await using reader = await again.database.snapshot();
  assert.equal(await reader.get(cell('x')), undefined);
  assert.equal(again.clock.monotonicMs(), 0, 'it did not wait');
});

test('P81: a closed database asks neither store nor oracle anything, whatever is answered late', async () => {
  const memory = createMemoryBigtable();
  const [read, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asked: string[] = [];
  const store = decorate(memory, {
    readRow: async (table, row, filters) => {
      asked.push(`${table}/${row}`);
      const found = await memory.readRow(table, row, filters);
      if (table !== 'percolator-collector') return found;
      read.resolve();
      await late.promise;
      return found;
    },
  });
  const { database } = await open({ store });
  const families = ['collector'];
  await memory.createTable('percolator-collector', { families });
  const interrupted = { phase: 'collecting', deletionHorizon: 1, table: '', row: '' };
  const value = Buffer.from(JSON.stringify(interrupted));
  const progress = { family: 'collector', qualifier: 'progress', timestamp: 1, value };
  await memory.mutateRows([
    { table: 'percolator-collector', row: 'progress', mutations: [{ kind: 'set', ...progress }] },
  ]);
  const collecting = database.collectGarbage({ messageLifetimeMs: 1 });
  await read.promise;
  await database.close();
  const before = asked.length;
  late.resolve();
  await assert.rejects(collecting, CLOSED);
  assert.deepEqual(asked.slice(before), []);
});

/** A store that remembers what it was asked, and keeps answers until it is told to let go. */
class LateStore {
  readonly store: Bigtable;
  readonly asked: string[] = [];
  /** From how many calls on answers are late. */
  lateFrom = Infinity;
  readonly reached: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #gone = Promise.withResolvers<void>();

  constructor(memory: Bigtable) {
    this.store = decorate(memory, {
      readRow: (table, ...rest) => this.#ask(`row of ${table}`, memory.readRow(table, ...rest)),
      readRows: (table, ...rest) => this.#ask(`rows of ${table}`, memory.readRows(table, ...rest)),
      readRange: (table, ...rest) =>
        this.#ask(`scan of ${table}`, memory.readRange(table, ...rest)),
      checkAndMutateRow: (one) => this.#ask(`check of ${one.table}`, memory.checkAndMutateRow(one)),
      checkAndMutateRows: (some) => this.#ask('checks', memory.checkAndMutateRows(some)),
      mutateRows: (rows) => this.#ask(`mutation of ${rows[0]?.table}`, memory.mutateRows(rows)),
      sampleRowKeys: (table) => this.#ask(`splits of ${table}`, memory.sampleRowKeys(table)),
      createTable: (table, schema) =>
        this.#ask(`creation of ${table}`, memory.createTable(table, schema)),
      listTables: () => this.#ask('the tables', memory.listTables()),
      dropTable: (table) => this.#ask(`drop of ${table}`, memory.dropTable(table)),
    });
  }

  letGo(): void {
    this.#gone.resolve();
  }

  async #ask<T>(what: string, call: Promise<T>): Promise<T> {
    const isLate = this.asked.push(what) > this.lateFrom;
    if (!isLate) return call;
    this.reached.resolve();
    await Promise.allSettled([call]);
    await this.#gone.promise;
    return call;
  }
}

/** What a caller may wait for when the database is closed. */
const ASKING: Readonly<Record<string, (database: Percolator) => Promise<unknown>>> = {
  begin: (database) => database.begin(),
  'a snapshot of a time': (database) => database.snapshot(new Date(0)),
  'a read of a table that is missing': async (database) =>
    (await database.snapshot()).get({ ...cell('x'), table: 'missing' }),
  'createTable of a new one': (database) => database.createTable('u'),
  'createTable of one that is there': (database) => database.createTable('t'),
  dropTable: (database) => database.dropTable('t'),
  storedName: (database) => database.storedName('t'),
  collectGarbage: (database) => database.collectGarbage({ messageLifetimeMs: 1 }),
  listParked: (database) => database.listParked('missing'),
  outcomeOf: (database) => database.outcomeOf({ primary: cell('x'), startTimestamp: 1 }),
  changes: (database) => Array.fromAsync(database.changes('t', { from: 0 })),
  cells: (database) => Array.fromAsync(database.cells('t')),
  'a worker': (database) => {
    const run = async (): Promise<void> => {};
    return database.startWorker([{ name: 'o', table: 'missing', column: 'c', run }]).ended;
  },
};

/**
 * Closes the database when the first `answered` calls have been answered, and returns what is asked
 * later. Undefined if there are no more calls.
 */
async function askedAfterClose(
  ask: (database: Percolator) => Promise<unknown>,
  answered: number,
): Promise<readonly string[] | undefined> {
  const late = new LateStore(createMemoryBigtable());
  const { clock, database } = await open({ store: late.store, leaseTimeToLiveMs: HOUR_MS });
  await write(database, 'x'); // The process has a lease from now on.
  await database.settled();
  late.lateFrom = late.asked.length + answered;
  const first = ask(database).then(
    () => 'over',
    () => 'over',
  );
  const isLate = late.reached.promise.then(() => 'late');
  if ((await clock.runUntil(Promise.race([isLate, first]))) === 'over') return undefined;
  const works = Promise.allSettled([first, ask(database)]); // The second may wait for the first.
  late.lateFrom = Infinity;
  await clock.runUntil(database.close());
  const before = late.asked.length;
  late.letGo();
  await clock.runUntil(works);
  await clock.advance(1_000);
  return late.asked.slice(before);
}

for (const [what, ask] of Object.entries(ASKING)) {
  test(`P81: a closed database asks nothing, whichever answer to ${what} comes late`, async () => {
    for (let answered = 0; answered < 20; answered++) {
      const asked = await askedAfterClose(ask, answered);
      if (asked === undefined) return assert.ok(answered > 0, 'it asks something');
      assert.deepEqual(asked, [], `after ${answered} answers`);
    }
  });
}

test('P81: what waits when the database is closed ends at once', async () => {
  const memory = createMemoryBigtable();
  const dead = holding(memory);
  // Its token says nothing of this machine: only its locks' time to live tells that it has died.
  const liveness = { self: 'elsewhere', isDead: () => false };
  const other = await open({ store: dead.store, liveness });
  const { clock, database } = await open({ store: memory, lockTimeToLiveMs: HOUR_MS });
  dead.hold();
  void write(other.database, 'x');
  await dead.reached;
  const settings = { messageLifetimeMs: HOUR_MS, restMs: HOUR_MS };
  const collector = database.startCollector(settings);
  const run = async (): Promise<void> => {};
  const observer = { name: 'o', table: 't', column: 'seen', run };
  const worker = database.startWorker([observer], { idleMs: HOUR_MS, idleMsMax: HOUR_MS });
  const reader = await database.snapshot();
  const waiting: readonly [string, Promise<unknown>][] = [
    ['a read of a locked cell', reader.get(cell('x'))],
    ['a scan of a locked cell', Array.fromAsync(reader.scan({ table: 't', columns: ['c'] }))],
    ['a collection', database.collectGarbage(settings)],
    ['a collector', collector.ended],
    ['a worker', worker.ended],
  ];
  const refused = waiting.map(([what, work]) => assert.rejects(work, CLOSED, what));
  await clock.advance(1_000);
  const beganMs = clock.monotonicMs();
  await clock.runUntil(database.close());
  await Promise.all(refused);
  assert.equal(clock.monotonicMs(), beganMs);
  await assert.rejects(database.startCollector().ended, CLOSED);
  await assert.rejects(database.startWorker([observer]).ended, CLOSED);
});

test('P81: a closed database refuses everything, although the store that it was given stays open', async () => {
  const store = createMemoryBigtable();
  const { database } = await open({ store });
  await write(database, 'x');
  const reader = await database.snapshot();
  await Promise.all([database.close(), database.close()]);
  const parked = { ...cell('x'), commitTimestamp: 1, failures: 1, message: '' };
  const calls: readonly (() => Promise<unknown>)[] = [
    () => database.transact(async () => {}),
    () => database.begin(),
    () => database.snapshot(),
    () => database.snapshot(1),
    () => database.createTable('u'),
    () => database.dropTable('t'),
    () => database.storedName('t'),
    () => database.collectGarbage(),
    () => database.listParked('t'),
    () => database.replayParked(parked as never),
    () => database.outcomeOf({ primary: cell('x'), startTimestamp: 1 }),
    () => database.store.readRow('t', 'x', []),
    () => database.store.listTables(),
    () => reader.get(cell('x')),
    () => Array.fromAsync(reader.scan({ table: 't', columns: ['c'] })),
  ];
  for (const call of calls) await assert.rejects(call(), CLOSED, String(call));
  assert.ok((await store.listTables()).includes('t'), 'the store is open');
});

test('close closes its store whatever fails before, and then says what failed', async (t) => {
  let isBroken = false;
  const sleep: Clock['sleep'] = (...given) => {
    if (isBroken) throw new TypeError('a bug');
    return systemClock.sleep(...given);
  };
  const folder = temporaryFolder();
  const database = await openPercolator({ folder, clock: { ...systemClock, sleep } });
  const { mock } = t.mock.method(database.store, 'close');
  isBroken = true;
  await assert.rejects(database.close(), TypeError);
  assert.equal(mock.callCount(), 1);
});

test('collectGarbage ends when its signal aborts, and the next one continues', async () => {
  const { clock, database } = await open({ store: createMemoryBigtable() });
  await write(database, 'x');
  const ending = new AbortController();
  const collection = database.collectGarbage({
    messageLifetimeMs: HOUR_MS,
    signal: ending.signal,
  });
  await clock.advance(40_000);
  ending.abort();
  assert.equal((await collection).completed, false);
  assert.ok(clock.monotonicMs() < HOUR_MS);
  const next = await clock.runUntil(database.collectGarbage());
  assert.equal(next.completed, true);
});
