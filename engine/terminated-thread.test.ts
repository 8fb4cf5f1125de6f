/**
 * P81, on real threads: one that owns the folder is terminated in the middle of its commits, and
 * its process lives. Nothing that was acknowledged is lost, and its siblings do not wait for the
 * time to live of its locks, which is longer here than any test.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { platform } from 'node:process';
import { Worker } from 'node:worker_threads';
import { openPercolator, type Percolator } from './percolator.ts';
import { temporaryFolder } from './testing/temporary-folder.ts';

const THREAD = new URL('./terminated-thread.fixture.ts', import.meta.url);
const ROUNDS = 3;
/** The rows that the thread and its siblings write. */
const SHARED = ['shared-0', 'shared-1', 'shared-2'];
const SKIP = platform === 'linux' ? false : 'only Linux tells which threads there are';

test(
  'P81: a thread that is terminated in the middle of commits leaves nothing to wait for',
  { skip: SKIP },
  async () => {
    const folder = temporaryFolder();
    const acknowledged = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const thread = new Worker(THREAD, { workerData: { folder, round, shared: SHARED } });
      thread.on('message', (row: string) => acknowledged.add(row));
      await once(thread, 'message'); // From now on it owns the folder, and commits.
      await using sibling = await openPercolator({ folder, fsync: false, lockTimeToLiveMs: 6e5 });
      const writing = writeAll(sibling);
      await thread.terminate();
      await writing;
      const found = await rowsOf(sibling);
      assert.deepEqual(
        [...acknowledged].filter((row) => !found.has(row)),
        [],
      );
    }
    assert.ok(acknowledged.size >= ROUNDS);
  },
);

/** Against the thread's locks, before and after its end. */
async function writeAll(database: Percolator): Promise<void> {
  for (let i = 0; i < 20; i++) {
    await database.transact(async (transaction) => {
      for (const row of SHARED) transaction.set({ table: 't', row, column: 'c' }, `sibling ${i}`);
    });
  }
}

async function rowsOf(database: Percolator): Promise<ReadonlySet<string>> {
  await using snapshot = await database.snapshot();
  const rows = new Set<string>();
  for await (const { row } of snapshot.scan({ table: 't', columns: ['c'] })) rows.add(row);
  return rows;
}
