/**
 * Transactions on a disk that fails: each operation of the disk fails once with EIO and once with
 * ENOSPC, while several transactions commit. Each caller hears what is true, nothing acknowledged
 * is lost, not even by a power cut afterwards, and the database works on (P11, P58). Two tests have
 * a disk that works: when a mutation is answered, and what becomes of a row whose key is too long.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mock, test } from 'node:test';
import { createRandom, type PercolatorError, systemClock } from '../../base/index.ts';
import { openPercolator, type Percolator } from '../../percolator.ts';
import { type DiskFailure, SimulatedDisk } from '../../testing/index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { everywhere, LOCK } from '../../transaction/index.ts';
import type { Bigtable } from '../bigtable.ts';
import { openEmbedded } from './index.ts';
import { openOnDisk } from './open-embedded.ts';
import { SIZES } from './log.ts';

/** What each transaction writes: one cell, several rows, and a column that is observed. */
const WRITES: readonly (readonly (readonly [table: string, row: string, column: string])[])[] = [
  [['t', 'one', 'c']],
  [
    ['t', 'first', 'c'],
    ['t', 'second', 'c'],
    ['u', 'third', 'c'],
  ],
  [['t', 'seen', 'observed']],
];

/** What a transaction writes after the failure. */
const AFTERWARDS = [['t', 'afterwards', 'c']] as const;

function open(disk: SimulatedDisk): Promise<Bigtable> {
  return openOnDisk(disk, { fsync: true, readOnly: false, sizes: SIZES });
}

async function openDatabase(store: Bigtable): Promise<Percolator> {
  const quick = { lockTimeToLiveMs: 50, inDoubtAttemptsMax: 2, attemptsMax: 3 };
  return openPercolator({ store, ...quick });
}

type Outcome = 'committed' | 'not applied' | 'unknown';

interface Attempt {
  readonly outcome: Outcome;
  readonly name: PercolatorError['transaction'];
}

async function commit(percolator: Percolator, writes: (typeof WRITES)[number]): Promise<Attempt> {
  try {
    await percolator.transact(async (transaction) => {
      for (const [table, row, column] of writes) transaction.set({ table, row, column }, 'new');
    });
    return { outcome: 'committed', name: undefined };
  } catch (error) {
    const { code, transaction } = error as PercolatorError;
    assert.ok(code !== undefined, String(error));
    return { outcome: code === 'COMMIT_UNKNOWN' ? 'unknown' : 'not applied', name: transaction };
  }
}

/** Which of the transactions can be read: none of them may be there by half. */
async function visible(
  percolator: Percolator,
  transactions: typeof WRITES = WRITES,
): Promise<readonly boolean[]> {
  await using snapshot = await percolator.snapshot();
  return Promise.all(
    transactions.map(async (writes) => {
      const cells = writes.map(([table, row, column]) => ({ table, row, column }));
      const found = (await snapshot.getMany(cells)).map((value) => value !== undefined);
      assert.equal(new Set(found).size, 1, 'a transaction is there as a whole, or not at all');
      return found[0] === true;
    }),
  );
}

/**
 * Runs the transactions while the operation of this number fails. Resolves to false if the
 * transactions ended before that operation.
 */
async function runWith(failing: number, failure: DiskFailure): Promise<boolean> {
  const disk = new SimulatedDisk({ random: createRandom(1) });
  const store = await open(disk);
  const percolator = await openDatabase(store);
  await percolator.createTable('t', { observedColumns: ['observed'] });
  await percolator.createTable('u');
  let operations = 0;
  disk.before = () => (operations++ === failing ? failure : undefined);
  const attempts = await Promise.all(WRITES.map((writes) => commit(percolator, writes)));
  const hasFailed = operations > failing;
  disk.before = () => undefined;

  const isThere = await visible(percolator);
  for (const [i, { outcome, name }] of attempts.entries()) {
    const told = `transaction ${i}, operation ${failing} fails (${failure})`;
    if (outcome === 'unknown') {
      assert.ok(name !== undefined, told);
      assert.equal((await percolator.outcomeOf(name)) === 'committed', isThere[i], told);
    } else assert.equal(outcome === 'committed', isThere[i], told);
  }
  assert.equal((await commit(percolator, AFTERWARDS)).outcome, 'committed');

  const cut = disk.afterPowerCut(createRandom(failing));
  await percolator.close();
  await store.close();
  const again = await open(new SimulatedDisk({ random: createRandom(1) }, cut));
  const recovered = await openDatabase(again);
  assert.deepEqual(await visible(recovered, [...WRITES, AFTERWARDS]), [...isThere, true]);
  await recovered.close();
  await again.close();
  return hasFailed;
}

for (const failure of ['EIO', 'ENOSPC'] as const) {
  test(`P11, P58: whichever operation of the disk fails (${failure}), each caller hears the truth`, async () => {
    let failing = 0;
    while (await runWith(failing, failure)) failing++;
    assert.ok(failing > 6, `${failing} operations`);
  });
}

test('P61: if a change fails, one sent after it in the same turn fails too, and one sent after the failure does not', async () => {
  const disk = new SimulatedDisk({ random: createRandom(1) });
  const sizes = { ...SIZES, fileBytes: 1 }; // Each group begins a file.
  await using store = await openOnDisk(disk, { fsync: true, readOnly: false, sizes });
  await store.createTable('t', { families: ['f'] });
  const put = (row: string): Promise<boolean> => {
    const cell = { family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.from('x') };
    const mutations = [{ kind: 'set', ...cell }] as const;
    const applied = store.mutateRows([{ table: 't', row, mutations }]);
    return applied.then(
      () => true,
      () => false,
    );
  };
  for (let steps = 0; steps < 40; steps++) {
    let failures = 0;
    disk.before = (operation) =>
      operation === 'create' && failures++ === 0 ? 'ENOSPC' : undefined;
    const first = put('first');
    for (let i = 0; i < steps; i++) await Promise.resolve();
    const second = put('second');
    assert.deepEqual([await first, await second], [false, false], `after ${steps} steps`);
    assert.equal(await put('third'), true);
  }
});

test('a durable mutation is neither answered nor readable before fdatasync has returned', async () => {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['f'] });
  const synced = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const original = fs.fdatasync.bind(fs);
  const spy = mock.method(fs, 'fdatasync', (file: number, done: fs.NoParamCallback) => {
    original(file, (error) => {
      synced.resolve();
      void released.promise.then(() => done(error));
    });
  });
  const value = Buffer.from('x');
  const cell = { family: 'f', qualifier: 'q', timestamp: 1 } as const;
  let isAnswered = false;
  const mutations = [{ kind: 'set', ...cell, value }] as const;
  const written = store.mutateRows([{ table: 't', row: 'r', mutations }]);
  void written.then(() => (isAnswered = true));
  try {
    await Promise.race([synced.promise, written]);
    await systemClock.sleep(20);
    assert.equal(isAnswered, false);
    assert.equal(await store.readRow('t', 'r', [{ family: 'f' }]), undefined);
  } finally {
    spy.mock.restore();
    released.resolve();
  }
  await written;
  assert.equal((await store.readRow('t', 'r', [{ family: 'f' }]))?.cells.length, 1);
});

test('a transaction with a row whose key is almost too long commits whole, or is refused and leaves no lock', async () => {
  await using store = await openEmbedded({ folder: temporaryFolder() });
  await using percolator = await openPercolator({ store });
  await percolator.createTable('t');
  const outcomes = new Set<string>();
  // Around the longest row whose cells have keys of at most KEY_BYTES_MAX (keys.ts).
  for (let length = 3_995; length <= 4_012; length++) {
    for (const isPrimary of [true, false]) {
      const rows = [`long ${isPrimary} `.padEnd(length, '-'), `short ${length} ${isPrimary}`];
      if (!isPrimary) rows.reverse();
      const cells = rows.map((row) => ({ table: 't', row, column: 'c' }));
      const outcome = await percolator
        .transact(async (transaction) => {
          for (const cell of cells) transaction.set(cell, 'new');
        })
        .then(() => 'new')
        .catch((error: PercolatorError) => error.code);
      outcomes.add(outcome);
      // Locks are looked for before a read, which would remove those of ended transactions.
      await percolator.settled();
      const locked = await store.readRange('t', { limit: 99 }, [everywhere(LOCK)]);
      assert.deepEqual(locked, [], `${outcome}: a row of ${length} bytes`);
      await using snapshot = await percolator.snapshot();
      const values = (await snapshot.getMany(cells)).map(String);
      const expected = outcome === 'new' ? outcome : 'undefined';
      assert.deepEqual(values, [expected, expected], `${outcome}: a row of ${length} bytes`);
    }
  }
  assert.deepEqual(outcomes, new Set(['new', 'INVALID_ARGUMENT']));
});
