/**
 * The bank: transfers between accounts. Money is neither made nor lost, so the total is the same in
 * every snapshot. An account without money has no cell, so the workload also tests deletes.
 */
import type { CellAddress, Reader } from '#engine';
import { numberOf, signed } from './values.ts';
import type { Work, Workload } from './workload.ts';

/** Few enough that transfers collide. */
const ACCOUNTS = 16;
const BALANCE = 10;
const TOTAL = ACCOUNTS * BALANCE;
/** One step in this many reads all accounts instead of transferring. */
const STEPS_PER_AUDIT = 10;

const ALL = Array.from({ length: ACCOUNTS }, (_, i) => account(i));

export const bank: Workload = {
  name: 'bank',
  invariant: `the accounts hold ${TOTAL} together, and none has a negative balance`,
  tables: { bank: { columns: ['balance'] } },
  observers: [],

  async setup(work) {
    for (const one of ALL) work.set(one, signed(BALANCE, work));
  },

  async step(client, random) {
    if (random.integer(1, STEPS_PER_AUDIT) === 1) {
      return client.attempt(async (work) => void (await work.getMany(ALL)));
    }
    const from = random.integer(0, ACCOUNTS - 1);
    const to = (from + random.integer(1, ACCOUNTS - 1)) % ACCOUNTS;
    return client.attempt(async (work) => {
      const balances = await work.getMany([account(from), account(to)]);
      const available = numberOf(balances[0]);
      if (available === 0) return;
      const sum = random.integer(1, available);
      put(work, from, available - sum);
      put(work, to, numberOf(balances[1]) + sum);
    });
  },

  watch,
  check: watch,
};

async function watch(reader: Reader): Promise<readonly string[]> {
  const balances = (await reader.getMany(ALL)).map(numberOf);
  const total = balances.reduce((sum, balance) => sum + balance, 0);
  const wrong = balances.flatMap((balance, i) =>
    balance < 0 ? [`account ${i} holds ${balance}`] : [],
  );
  if (total !== TOTAL) wrong.push(`the accounts hold ${total} together, not ${TOTAL}`);
  return wrong;
}

function put(work: Work, number: number, balance: number): void {
  if (balance === 0) work.delete(account(number));
  else work.set(account(number), signed(balance, work));
}

function account(number: number): CellAddress {
  return { table: 'bank', row: `account ${number}`, column: 'balance' };
}
