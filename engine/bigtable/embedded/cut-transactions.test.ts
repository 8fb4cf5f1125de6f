/**
 * Transactions and a collector on a disk whose power is cut. Prewrites, marks, second phases and
 * the place of the collector are provisional, so a cut may undo them: what was committed must be
 * still there as a whole, and what was not committed must not be there at all.
 *
 * Clients transfer money between accounts; each transfer also writes a row of its own. So the rows
 * of transfers say which have committed, and the accounts must show the sum of exactly these.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, type Random } from '../../base/index.ts';
import { fsck } from '../../fsck.ts';
import { openPercolator, type Percolator } from '../../percolator.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable } from '../bigtable.ts';
import { openOnDisk } from './open-embedded.ts';
import { SIZES } from './log.ts';

const ACCOUNTS = ['a', 'b', 'c', 'd', 'e'];
const CLIENTS = 3;
const TRANSFERS = 6;
/** No message is on its way for long in one process. */
const COLLECTING = { messageLifetimeMs: 1, rowsPerStep: 3, pauseMs: 1, restMs: 5 };
/** Small files and hints, so that transactions meet the ends of files. */
const SMALL = { ...SIZES, fileBytes: 6_000, garbageBytes: 8_000, hintBytes: 5_000 };

interface Transfer {
  readonly from: string;
  readonly to: string;
}

/** The files after a power cut, and what was certain by then. */
interface Cut {
  readonly files: Map<string, Buffer>;
  readonly committed: readonly string[];
}

function open(disk: SimulatedDisk): Promise<Bigtable> {
  return openOnDisk(disk, { fsync: true, readOnly: false, sizes: SMALL });
}

/** Both times are short, because the processes after the cuts wait for them. */
async function openDatabase(store: Bigtable): Promise<Percolator> {
  return openPercolator({ store, lockTimeToLiveMs: 20, leaseTimeToLiveMs: 50 });
}

function account(row: string): { table: string; row: string; column: string } {
  return { table: 'accounts', row, column: 'seen' };
}

async function transfer(percolator: Percolator, name: string, { from, to }: Transfer) {
  await percolator.transact(async (transaction) => {
    const [less, more] = await transaction.getMany([account(from), account(to)]);
    transaction.set(account(from), String(Number(less ?? 0) - 1));
    transaction.set(account(to), String(Number(more ?? 0) + 1));
    transaction.set({ table: 'transfers', row: name, column: 'c' }, `${from} ${to}`);
  });
}

/** Runs the clients of a seed; returns the power cuts. */
async function run(seed: number): Promise<readonly Cut[]> {
  const random = createRandom(seed).fork('cuts');
  const disk = new SimulatedDisk({ random: random.fork('disk') });
  const store = await open(disk);
  const percolator = await openDatabase(store);
  await percolator.createTable('accounts', { observedColumns: ['seen'] });
  await percolator.createTable('transfers');
  const committed: string[] = [];
  const cuts: Cut[] = [];
  disk.before = () => {
    if (random.integer(0, 5) > 0) return undefined;
    const files = disk.afterPowerCut(random.fork(`cut ${cuts.length}`));
    cuts.push({ files, committed: [...committed] });
    return undefined;
  };
  const client = async (number: number): Promise<void> => {
    const own = createRandom(seed).fork(`client ${number}`);
    for (let i = 0; i < TRANSFERS; i++) {
      const [from, to] = [own.pick(ACCOUNTS), own.pick(ACCOUNTS)];
      if (from === to) continue;
      await transfer(percolator, `${number}-${i}`, { from, to });
      committed.push(`${number}-${i}`);
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, number) => client(number));
  let cellsDeleted = 0;
  const collector = async (): Promise<void> => {
    for (let cycle = 0; cycle < TRANSFERS; cycle++) {
      cellsDeleted += (await percolator.collectGarbage(COLLECTING)).cellsDeleted;
    }
  };
  await Promise.all([...clients, collector()]);
  assert.ok(cellsDeleted > 0, 'there was garbage');
  await percolator.close();
  await store.close();
  return cuts;
}

async function judge({ files, committed }: Cut, random: Random): Promise<void> {
  await using store = await open(new SimulatedDisk({ random }, files));
  await using percolator = await openDatabase(store);
  await percolator.collectGarbage(COLLECTING); // From where the disk says that a collector was.
  await using snapshot = await percolator.snapshot();
  const balances = new Map(ACCOUNTS.map((row) => [row, 0]));
  const found: string[] = [];
  for await (const { row, values } of snapshot.scan({ table: 'transfers', columns: ['c'] })) {
    found.push(row);
    const [from = '', to = ''] = String(values.get('c')).split(' ');
    balances.set(from, Number(balances.get(from)) - 1);
    balances.set(to, Number(balances.get(to)) + 1);
  }
  for (const name of committed) assert.ok(found.includes(name), `${name} was acknowledged`);
  const stored = await snapshot.getMany(ACCOUNTS.map(account));
  const shown = stored.map((value) => Number(value ?? 0));
  assert.deepEqual(shown, [...balances.values()], 'the accounts show exactly these transfers');
  for await (const { code, severity } of await fsck(store)) {
    assert.notEqual(severity, 'error', code); // For example, a change without its mark.
  }
}

describe('P67: after a power cut, every transaction is there as a whole or not at all', () => {
  for (let seed = 1; seed <= 3; seed++) {
    test(`and what was acknowledged is there; seed ${seed}`, async () => {
      const cuts = await run(seed);
      assert.ok(cuts.length > 10, `${cuts.length} cuts`);
      for (const [i, cut] of cuts.entries()) {
        await judge(cut, createRandom(seed).fork(`judge ${i}`));
      }
    });
  }
});
