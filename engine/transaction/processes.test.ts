/**
 * Real processes on one folder: two transfer money while a third one reads, or one is killed with
 * `kill -9` in the middle of many commits. The total is the same in every snapshot, nothing
 * acknowledged is lost, dead processes are found out at once, and no timestamp is handed out twice.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../base/index.ts';
import { openPercolator, type Percolator } from '../percolator.ts';
import { temporaryFolder } from '../testing/index.ts';
import {
  account,
  ACCOUNTS,
  type Acknowledged,
  amount,
  BALANCE,
  LEDGER,
} from './accounts.fixture.ts';
import { everywhere } from './columns.ts';

const TRANSFER = fileURLToPath(new URL('transfer.fixture.ts', import.meta.url));
const TOTAL = ACCOUNTS * BALANCE;
/** Far longer than a recovery takes on any machine. */
const LOCK_MS = 60_000;
const ALL = Array.from({ length: ACCOUNTS }, (_, i) => account(i));

test('two processes transfer money, and a third one sees the same total in every snapshot', async () => {
  const folder = temporaryFolder();
  await using percolator = await openBank(folder);
  await using first = startTransfers(folder, 1);
  await using second = startTransfers(folder, 2);
  const children = [first, second];
  await enough(children, 20);
  for (let i = 0; i < 60; i++) {
    assert.equal(await total(percolator), TOTAL);
    await systemClock.sleep(10);
  }
  await enough(children, 100);
  await Promise.all(children.map(end));
  assert.equal(await total(percolator), TOTAL);
  await assertLedger(percolator, children);
  assertUnique(children.flatMap(({ acknowledged }) => acknowledged));
});

test('kill -9 in the middle of many commits: recovered at once, nothing acknowledged lost, nothing torn', async () => {
  const folder = temporaryFolder();
  await using percolator = await openBank(folder);
  const children: Child[] = [];
  for (let round = 1; round <= 4; round++) {
    await using child = startTransfers(folder, 1); // The same draws, killed later each time.
    children.push(child);
    await enough([child], 40 + 17 * round);
    child.process.kill('SIGKILL');
    await child.exited;

    const startedMs = systemClock.monotonicMs();
    assert.equal(await total(percolator), TOTAL, `after kill ${round}`);
    const tookMs = systemClock.monotonicMs() - startedMs;
    assert.ok(
      tookMs < LOCK_MS,
      `recovery took ${tookMs} ms: it must not wait for the time to live`,
    );
    await assertLedger(percolator, children);
    const { startTimestamp } = await percolator.snapshot();
    const given = child.acknowledged.map(({ commitTimestamp }) => commitTimestamp);
    assert.ok(Math.max(...given) < startTimestamp);
  }
  assertUnique(children.flatMap(({ acknowledged }) => acknowledged));
  const locks = await percolator.store.readRange('accounts', { limit: 1_000 }, [
    everywhere('lock'),
  ]);
  assert.deepEqual(locks, []);
  const { rolledBack, rolledForward } = percolator.counters;
  assert.ok(
    rolledBack + rolledForward > 0,
    'the kills met transactions in the middle of their commits',
  );
});

async function openBank(folder: string): Promise<Percolator> {
  const percolator = await openPercolator({ folder, fsync: false, lockTimeToLiveMs: LOCK_MS });
  await percolator.createTable('accounts');
  await percolator.createTable('ledger');
  await percolator.transact(async (transaction) => {
    for (const one of ALL) transaction.set(one, String(BALANCE));
  });
  return percolator;
}

/** Disposing of a child kills its process, which would go on writing after a failed test. */
interface Child extends AsyncDisposable {
  readonly process: ChildProcess;
  readonly acknowledged: Acknowledged[];
  readonly exited: Promise<unknown>;
}

function startTransfers(folder: string, seed: number): Child {
  const child = fork(TRANSFER, [folder, String(seed)]);
  const acknowledged: Acknowledged[] = [];
  child.on('message', (message: Acknowledged) => acknowledged.push(message));
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { process: child, acknowledged, exited, [Symbol.asyncDispose]: kill };
}

/** Resolves when every child has had `count` commits acknowledged. */
async function enough(children: readonly Child[], count: number): Promise<void> {
  while (children.some(({ acknowledged }) => acknowledged.length < count)) {
    for (const { process: child } of children) {
      assert.equal(
        child.exitCode ?? child.signalCode,
        null,
        'a child runs until it is told to end',
      );
    }
    await systemClock.sleep(5);
  }
}

async function end(child: Child): Promise<void> {
  child.process.send('end');
  assert.deepEqual(await child.exited, [0, null]);
}

async function total(percolator: Percolator): Promise<number> {
  const snapshot = await percolator.snapshot();
  const balances = await snapshot.getMany(ALL);
  return balances.reduce((sum, balance) => sum + amount(balance), 0);
}

/** Every transfer that was acknowledged is in the ledger, and the ledger explains every balance. */
async function assertLedger(percolator: Percolator, children: readonly Child[]): Promise<void> {
  const snapshot = await percolator.snapshot();
  const balances = ALL.map(() => BALANCE);
  const lines = new Set<string>();
  const { table, column } = LEDGER;
  for await (const { row, values } of snapshot.scan({ table, columns: [column] })) {
    lines.add(row);
    const [from = 0, to = 0, sum = 0] = String(values.get(column)).split(' ').map(Number);
    balances[from] = (balances[from] ?? 0) - sum;
    balances[to] = (balances[to] ?? 0) + sum;
  }
  assert.deepEqual((await snapshot.getMany(ALL)).map(amount), balances);
  for (const { line } of children.flatMap(({ acknowledged }) => acknowledged)) {
    assert.ok(lines.has(line), `the acknowledged transfer ${line} is in the ledger`);
  }
}

function assertUnique(all: readonly Acknowledged[]): void {
  const timestamps = all.flatMap((one) => [one.startTimestamp, one.commitTimestamp]);
  assert.equal(new Set(timestamps).size, timestamps.length);
}
