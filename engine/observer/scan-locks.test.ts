/**
 * The claims about scanners that avoid one another's rows (section 2.4): "when a scanning thread
 * discovers that it is scanning the same row as another thread, it chooses a new random location";
 * and that nothing depends on it (P49). And where scans and jumps begin (P48).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { createRandom, type Random, systemClock } from '../base/index.ts';
import { type RangeLocks, RangeLockTable } from '../lock-service/index.ts';
import {
  cell,
  type TestClient,
  openTestDatabase,
  put,
  type TestDatabase,
  until,
} from '../testing/index.ts';
import { NOTIFY, notifyTable } from '../transaction/index.ts';
import { type Observer, Worker, type WorkerOptions } from './index.ts';
import { NotificationScanner, randomKeyIn } from './scanner.ts';

const ROWS = 300;

test('workers of one process that share a client of locks keep off one another’s rows', async () => {
  const { database } = await openDirty();
  const rangeLocks = new RangeLockTable(systemClock).of('A');
  const begun = { runs: 0 };
  const client = clientOf(database, 'A');
  const workers = [1, 2, 3, 4].map(() => startWorker(client, [slowly(begun)], { rangeLocks }));
  await settle(workers);
  assert.equal(sum(workers, 'runs'), ROWS);
  assert.ok(begun.runs < 1.2 * ROWS, `${begun.runs} runs for ${ROWS} rows`);
  assert.ok(sum(workers, 'meetings') > 0);
});

test('workers that lock what they scan run everything, and hardly any run is wasted', async () => {
  const { database } = await openDirty();
  const table = new RangeLockTable(systemClock);
  const begun = { runs: 0 };
  const workers = ['A', 'B', 'C', 'D'].map((name) =>
    startWorker(clientOf(database, name), [slowly(begun)], { rangeLocks: table.of(name) }),
  );
  await settle(workers);
  assert.equal(sum(workers, 'runs'), ROWS);
  assert.deepEqual(await database.notifications(), []);
  assert.ok(begun.runs < 1.2 * ROWS, `${begun.runs} runs began for ${ROWS} rows`);
  const shares = workers.map(({ counters }) => counters.runs);
  assert.ok(Math.min(...shares) > ROWS / 20, `all have taken part: ${shares.join(', ')}`);
  assert.ok(sum(workers, 'meetings') > 0);
});

test('P49: two scanners on one row do no harm: one run of each row commits, even if every lock is granted', async () => {
  const { database } = await openDirty();
  const granting = (): RangeLocks => ({ tryLock: async () => ({ release: () => {} }) });
  const begun = { runs: 0 };
  const workers = ['A', 'B', 'C'].map((name) =>
    startWorker(clientOf(database, name), [slowly(begun)], { rangeLocks: granting() }),
  );
  await settle(workers);
  assert.equal(sum(workers, 'runs'), ROWS);
  assert.ok(begun.runs > ROWS, 'some rows were run by two workers at the same time');
  assert.deepEqual(await database.notifications(), []);
});

test('each worker of a process has random places of its own, also after another one has stopped', async () => {
  const { context } = clientOf((await openDirty()).database, 'A');
  const names: string[] = [];
  const fork = (name: string): Random => {
    names.push(name);
    return context.random.fork(name);
  };
  const client = { context: { ...context, random: { ...context.random, fork } } };
  const start = (): Worker => startWorker(client, [slowly({ runs: 0 })], {});
  const [first, second] = [start(), start()];
  await first.stop();
  const third = start();
  await settle([second, third]);
  assert.equal(new Set(names).size, 3, names.join(', '));
});

test('a scanner that meets another one leaves the rows of that one alone, jumps, and finds dirty cells elsewhere', async () => {
  const { database, rows } = await openDirty();
  const table = new RangeLockTable(systemClock);
  const [from = '', to = ''] = [rows[0], rows[99]];
  table.lock('another one', { table: 't', from, to });
  const client = clientOf(database, 'A');
  const ran: string[] = [];
  const worker = startWorker(client, [slowly({ runs: 0 })], {
    rangeLocks: table.of('A'),
    onCommitted: ({ cell: { row } }) => ran.push(row),
  });
  await until(() => ran.length === ROWS - 100);
  await systemClock.sleep(50);
  assert.deepEqual(ran.toSorted(), rows.slice(100));
  assert.ok(worker.counters.meetings > 0);
  table.unlockAllOf('another one');
  await settle([worker]);
  assert.equal(ran.length, ROWS);
});

for (const onMeeting of ['jump', 'skip'] as const) {
  test(`a scanner that meets another one goes on ${onMeeting === 'jump' ? 'at a random place' : 'after it'}`, async () => {
    const { database, rows } = await openDirty();
    const firsts: number[] = [];
    const refusing: RangeLocks = {
      tryLock: async ({ from }) => {
        firsts.push(rows.indexOf(from));
        return undefined;
      },
    };
    const options = { rangeLocks: refusing, onMeeting };
    const worker = startWorker(clientOf(database, 'A'), [slowly({ runs: 0 })], options);
    await until(() => firsts.length >= 60);
    await worker.stop();
    // How often the next batch was the one after it: 32 rows on (LOCKED_ROWS in worker.ts).
    const next = firsts.filter((first, i) => i > 0 && first === (firsts[i - 1] ?? 0) + 32).length;
    assert.ok(onMeeting === 'jump' ? next < 15 : next > 30, `${next}: ${firsts.join(', ')}`);
    assert.equal(worker.counters.runs, 0);
  });
}

test('the rows of a worker that hangs are run by others once its locks have ended', async () => {
  const { database } = await openDirty();
  let nowMs = 0;
  const table = new RangeLockTable({ ...systemClock, monotonicMs: () => nowMs }, 200);
  const client = clientOf(database, 'A');
  table.lock('one that hangs', { table: 't', from: '', to: 'zzz' });
  const worker = startWorker(client, [slowly({ runs: 0 })], { rangeLocks: table.of('A') });
  await until(() => worker.counters.meetings > 0);
  assert.equal(worker.counters.runs, 0);
  nowMs = 200;
  await settle([worker]);
  assert.equal(worker.counters.runs, ROWS);
});

test('locks are given up as soon as their rows are done, and when the worker stops', async () => {
  const { database, rows } = await openDirty();
  const table = new RangeLockTable(systemClock);
  const held = { now: 0, most: 0 };
  const counted: RangeLocks = {
    tryLock: async (range) => {
      const lock = await table.of('A').tryLock(range);
      held.now++;
      held.most = Math.max(held.most, held.now);
      return {
        release: () => {
          held.now--;
          lock?.release();
        },
      };
    },
  };
  const worker = startWorker(clientOf(database, 'A'), [slowly({ runs: 0 })], {
    rangeLocks: counted,
    concurrency: 4,
  });
  await worker.idle();
  assert.equal(held.now, 0);
  assert.ok(held.most > 0);
  await worker.stop();

  const writer = clientOf(database, 'C');
  await writer.write(Object.fromEntries(rows.map((row) => [`${row}:seen`, 'again'])));
  const stopped = startWorker(clientOf(database, 'B'), [slowly({ runs: 0 })], {
    rangeLocks: counted,
    concurrency: 1,
  });
  await until(() => held.now > 0);
  await stopped.stop();
  assert.ok((await database.notifications()).length > 0, 'it stopped before its rows were done');
  assert.equal(held.now, 0);
});

test('a scanner that skips continues after the locked rows, and in the end leaves none out', async () => {
  const { database } = await openDirty();
  const table = new RangeLockTable(systemClock);
  const workers = ['A', 'B', 'C'].map((name) =>
    startWorker(clientOf(database, name), [slowly({ runs: 0 })], {
      rangeLocks: table.of(name),
      onMeeting: 'skip',
    }),
  );
  await settle(workers);
  assert.equal(sum(workers, 'runs'), ROWS);
});

test('P48: a scan sees every dirty cell, although its list of the tablets is out of date', async () => {
  const database = await openTestDatabase({ tables: ['t'], splits: ['d', 'm'] });
  const rows = ['a', 'b', 'c', 'e', 'k', 'n', 'x'];
  for (const row of rows) await notify(database, row);
  const maps = [['z'], ['a', 'b', 'zz'], [], ['m'], ['never', 'was']];
  for (const jumps of [false, true]) {
    for (const [seed, map] of maps.entries()) {
      const stale = Object.assign(Object.create(database.store) as typeof database.store, {
        sampleRowKeys: async () => map,
        readRange: database.store.readRange.bind(database.store),
      });
      const scanner = new NotificationScanner(stale, createRandom(seed), 't', { jumps });
      const seen: string[] = [];
      for (;;) {
        const { cells, isFullRound } = await scanner.nextBatch(2);
        seen.push(...cells.map(({ row }) => row));
        if (isFullRound) break;
      }
      assert.deepEqual(seen.toSorted(), rows);
    }
  }
});

test('after a jump the next batch is from another place, and a whole scan follows', async () => {
  const splits = ['05', '10', '15'];
  const database = await openTestDatabase({ tables: ['t'], splits });
  const rows = Array.from({ length: 200 }, (_, i) => String(i).padStart(3, '0'));
  for (const row of rows) await notify(database, row);
  const scanner = new NotificationScanner(database.store, createRandom(1), 't', { jumps: true });
  const places = new Set<string | undefined>();
  for (let jump = 0; jump < 40; jump++) {
    places.add((await scanner.nextBatch(1)).cells[0]?.row);
    scanner.jump();
  }
  assert.ok(places.size > 15, `${places.size} places of 40 jumps`);
  const seen: string[] = [];
  for (let isFullRound = false; !isFullRound;) {
    const batch = await scanner.nextBatch(7);
    seen.push(...batch.cells.map(({ row }) => row));
    ({ isFullRound } = batch);
  }
  assert.deepEqual(seen.toSorted(), rows);
});

test('a random key of a tablet lies in it', () => {
  const key = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 6 }),
    fc.stringMatching(/^u\d{0,8}$/),
  );
  fc.assert(
    fc.property(key, key, fc.integer(), (a, b, seed) => {
      const [start, end] = a < b ? [a, b] : [b, a];
      const random = createRandom(seed);
      const between = randomKeyIn(start, end, random);
      assert.ok(between >= start && (between < end || start === end), between);
      assert.ok(between.isWellFormed(), 'half a character is no key');
      assert.ok(randomKeyIn(start, undefined, random) >= start);
    }),
    { numRuns: 1_000 },
  );
});

test('a random key of the first tablet is well-formed, even if the tablet ends with an emoji', () => {
  for (let seed = 0; seed < 20; seed++) {
    assert.ok(randomKeyIn('', 'a😀', createRandom(seed)).isWellFormed());
  }
});

test('random keys of a tablet spread over it, in the kind of characters that it holds', () => {
  const random = createRandom(1);
  const tenths = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const key = randomKeyIn('user1000', 'user2000', random);
    assert.match(key, /^user1\d+$/);
    tenths.add(key.slice(0, 6));
  }
  assert.equal(tenths.size, 10);
});

/** A database in which `seen` of many rows is dirty. */
async function openDirty(): Promise<{
  readonly database: TestDatabase;
  readonly rows: readonly string[];
}> {
  const database = await openTestDatabase({ observed: ['seen'], splits: ['row 1', 'row 2'] });
  const rows = Array.from({ length: ROWS }, (_, i) => `row ${String(i).padStart(3, '0')}`);
  const writer = clientOf(database, 'writer');
  await writer.write(Object.fromEntries(rows.map((row) => [`${row}:seen`, '1'])));
  return { database, rows };
}

/** Takes a moment, in which other scanners may come by. */
function slowly(begun: { runs: number }): Observer {
  return {
    name: 'slowly',
    table: 't',
    column: 'seen',
    run: async (transaction, { row }) => {
      begun.runs++;
      await transaction.get(cell(`${row}:seen`));
      await systemClock.sleep(5);
      put(transaction, { [`${row}:done`]: '1' });
    },
  };
}

const clientOf = (database: TestDatabase, name: string): TestClient =>
  database.client(name, { clock: systemClock, backoffMsMax: 4 });

/** The worker also stops when its test fails. */
function startWorker(
  client: Pick<TestClient, 'context'>,
  observers: readonly Observer[],
  options: WorkerOptions,
): Worker {
  const settings = { idleMs: 1, concurrency: 8, ...options };
  const worker = new Worker(client.context, observers, settings);
  after(() => worker.stop().catch(() => {}));
  return worker;
}

async function settle(workers: readonly Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.idle()));
  await Promise.all(workers.map((worker) => worker.stop()));
}

function sum(workers: readonly Worker[], count: 'runs' | 'meetings'): number {
  return workers.reduce((total, { counters }) => total + counters[count], 0);
}

async function notify(database: TestDatabase, row: string): Promise<void> {
  const dirty = { family: NOTIFY, qualifier: 'c', timestamp: 1, value: Buffer.alloc(0) };
  const mutations = [{ kind: 'set', ...dirty } as const];
  await database.store.mutateRows([{ table: notifyTable('t'), row, mutations }]);
}
