/**
 * A program for tests: transfers money between accounts until its parent disconnects or kills it.
 *
 * Every transfer also writes a line of the ledger, and is reported to the parent when, and only
 * when, its commit was acknowledged. The program keeps many transfers in flight, so that a kill
 * meets transactions at every step of their commits.
 */
import process from 'node:process';
import { createRandom } from '../base/index.ts';
import { openPercolator } from '../percolator.ts';
import {
  type Acknowledged,
  account,
  ACCOUNTS,
  amount,
  IN_FLIGHT,
  LEDGER,
} from './accounts.fixture.ts';

const [, , folder = '', seed = '1'] = process.argv;
const random = createRandom(Number(seed));
const percolator = await openPercolator({ folder, fsync: false, lockTimeToLiveMs: 60_000, random });

const over = new AbortController();
let count = 0;

/** Resolves when the transfer has committed or lost; a lost one is not repeated. */
async function transfer(): Promise<void> {
  const [from, to] = [random.integer(0, ACCOUNTS - 1), random.integer(0, ACCOUNTS - 1)];
  if (from === to) return;
  const transaction = await percolator.begin();
  try {
    const balances = await transaction.getMany([account(from), account(to)]);
    const sum = random.integer(1, 10);
    transaction.set(account(from), String(amount(balances[0]) - sum));
    transaction.set(account(to), String(amount(balances[1]) + sum));
    count += 1;
    const line = `${process.pid} ${count}`;
    transaction.set({ ...LEDGER, row: line }, `${from} ${to} ${sum}`);
    const commitTimestamp = await transaction.commit();
    const { startTimestamp } = transaction;
    process.send?.({ line, startTimestamp, commitTimestamp } satisfies Acknowledged);
  } catch (error) {
    transaction.discard(); // A read may have failed before the commit.
    const code = (error as { code?: string }).code ?? '';
    if (!['WRITE_CONFLICT', 'ROLLED_BACK', 'LOCKED'].includes(code)) throw error;
  }
}

async function transferUntilOver(): Promise<void> {
  while (!over.signal.aborted) await transfer();
}

process.on('message', () => over.abort());
await Promise.all(Array.from({ length: IN_FLIGHT }, transferUntilOver));
await percolator.close();
process.disconnect?.();
