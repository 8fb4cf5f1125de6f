/**
 * Overdraft: write skew, prevented by `lock`. One of the two accounts of a person may be overdrawn,
 * but their sum must not be negative. A withdrawal reads both and writes one: two concurrent
 * withdrawals, one from each account, would each see enough money. Locking the account that is only
 * read makes them conflict.
 */
import type { CellAddress, Reader } from '#engine';
import { numberOf, signed } from './values.ts';
import type { Workload } from './workload.ts';

const PEOPLE = 4;
const SIDES = ['left', 'right'] as const;
const DEPOSIT = 6;

export const overdraft: Workload = {
  name: 'overdraft',
  invariant: 'the two accounts of a person never have a negative sum',
  tables: { overdraft: { columns: ['balance'] } },
  observers: [],

  async setup(work) {
    for (const side of allSides()) work.set(side, signed(DEPOSIT, work));
  },

  async step(client, random) {
    const person = random.integer(0, PEOPLE - 1);
    const [from, other] = random.fraction() < 0.5 ? SIDES : SIDES.toReversed();
    if (from === undefined || other === undefined) return;
    const [written, read] = [account(person, from), account(person, other)];
    await client.attempt(async (work) => {
      const [mine, others] = (await work.getMany([written, read])).map(numberOf);
      const balance = mine ?? 0;
      const together = balance + (others ?? 0);
      if (together === 0) return work.set(written, signed(balance + DEPOSIT, work));
      // Without the lock, two withdrawals that overlap, one from either side, could take too much.
      work.set(written, signed(balance - random.integer(1, together), work));
      return work.lock(read);
    });
  },

  watch,
  check: watch,
};

async function watch(reader: Reader): Promise<readonly string[]> {
  const balances = (await reader.getMany(allSides())).map(numberOf);
  return Array.from({ length: PEOPLE }).flatMap((_, person) => {
    const [left = 0, right = 0] = balances.slice(2 * person);
    return left + right < 0 ? [`person ${person} has ${left} and ${right}`] : [];
  });
}

function allSides(): readonly CellAddress[] {
  return Array.from({ length: PEOPLE }).flatMap((_, person) =>
    SIDES.map((side) => account(person, side)),
  );
}

/** One row each, so that a transaction covers several rows. */
function account(person: number, side: string): CellAddress {
  return { table: 'overdraft', row: `person ${person} ${side}`, column: 'balance' };
}
