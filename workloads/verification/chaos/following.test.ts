/** Readers of changes in a round: their lives follow one another, and each table has one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPercolator, type Percolator, PercolatorError } from '#engine';
import { createMemoryBigtable, temporaryFolder } from '#engine/testing';
import { WORKLOADS } from '../invariants/index.ts';
import { bank } from '../invariants/transactions.ts';
import { type Follower, followersOf, sectionsOf } from './following.ts';
import { openHistoryFile, readHistory } from './history-file.ts';

const ACCOUNT = { table: 'bank', row: 'a', column: 'balance' };

/** What a life of the reader of `bank` does, with its own file. */
async function live(
  folder: string,
  life: number,
  percolator: Pick<Percolator, 'changes'>,
  gc: boolean,
): Promise<void> {
  using log = openHistoryFile(folder, `1.${life}`);
  const whose = { slot: '1', clients: 1, workloads: [bank], history: folder, log, gc };
  for (const follower of followersOf(percolator, whose)) await follower.readToTheEnd();
}

async function openBank(): Promise<Percolator> {
  const percolator = await openPercolator({ store: createMemoryBigtable() });
  await percolator.createTable('bank');
  return percolator;
}

test('every life goes on where the last one was, which makes one section', async () => {
  await using percolator = await openBank();
  const folder = temporaryFolder();
  const values = Array.from({ length: 11 }, (_, i) => String(i));
  for (const [i, value] of values.entries()) {
    await percolator.transact(async (work) => work.set(ACCOUNT, value));
    await live(folder, i + 1, percolator, false);
  }
  const [section, ...others] = sectionsOf(readHistory(folder).followed);
  assert.deepEqual(
    section?.changes.map(({ cell, value }) => [cell, value]),
    values.map((value) => ['bank/a:balance', value]),
  );
  assert.equal(section?.from, 0);
  assert.deepEqual(others, []);
});

/** Changes of which those after a cursor were collected. */
function collected(percolator: Percolator): Pick<Percolator, 'changes'> {
  return {
    async *changes(table, options = {}) {
      if (options.from !== undefined) throw new PercolatorError('STALE_SNAPSHOT', 'collected');
      yield* percolator.changes(table, options);
    },
  };
}

test('a reader whose changes were collected begins a section at the present, if there are collectors', async () => {
  await using percolator = await openBank();
  const folder = temporaryFolder();
  await live(folder, 1, percolator, true);
  await percolator.transact(async (work) => work.set(ACCOUNT, 'unseen'));
  const log = openHistoryFile(folder, '1.2');
  const whose = { slot: '1', clients: 1, workloads: [bank], history: folder, log };
  const [reader] = followersOf(collected(percolator), { ...whose, gc: true }) as [Follower];
  await reader.readToTheEnd();
  assert.equal(sectionsOf(readHistory(folder).followed).length, 1, 'the place is lost');
  await reader.readToTheEnd();
  log[Symbol.dispose]();
  const [, section, ...others] = sectionsOf(readHistory(folder).followed);
  assert.deepEqual(section?.changes, []);
  assert.ok((section?.from ?? 0) > 0);
  assert.deepEqual(others, []);
  await assert.rejects(
    live(folder, 3, collected(percolator), false),
    /^Error: changes of bank were collected, without a collector$/,
  );
});

test('each table is followed by one client', () => {
  const percolator = { changes: () => assert.fail('nothing is read yet') };
  const history = temporaryFolder();
  using log = openHistoryFile(history, 'all');
  const common = { clients: 3, workloads: WORKLOADS, history, log, gc: false };
  const readers = ['1', '2', '3', 'watcher'].map((slot) =>
    followersOf(percolator, { ...common, slot }).map(({ table }) => table),
  );
  const tables = WORKLOADS.flatMap((workload) => Object.keys(workload.tables));
  assert.deepEqual(readers.flat().toSorted(), tables.toSorted());
  assert.deepEqual(readers.at(-1), []);
});
