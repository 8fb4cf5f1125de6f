/** What snapshot isolation permits: write skew, with and without `lock`, and a reader's anomaly. */
import { cellOf, dollars, type ExplorerScenario, type TaskClient } from '../scenario.ts';

/** The rule of the ward: one of two doctors stays on call. Snapshot isolation alone breaks it. */
const DOCTOR_ANN = 'ward/Ann:on-call';
const DOCTOR_BEN = 'ward/Ben:on-call';

function leave(own: string, locks: boolean) {
  return ({ attempt, tell }: TaskClient): Promise<void> =>
    attempt(async (work) => {
      const both = await work.getMany([cellOf(DOCTOR_ANN), cellOf(DOCTOR_BEN)]);
      const onCall = both.filter((value) => value && new TextDecoder().decode(value) === 'yes');
      if (onCall.length < 2) {
        tell('stays, because no other doctor is on call');
        return;
      }
      if (locks) await work.lock(cellOf(own === DOCTOR_ANN ? DOCTOR_BEN : DOCTOR_ANN));
      work.set(cellOf(own), 'no');
    });
}

function ward(name: string, about: string, locks: boolean): ExplorerScenario {
  const doctor = (who: string, cell: string) => ({
    name: who,
    tasks: [{ does: 'go home if the other one stays', run: leave(cell, locks) }],
  });
  return {
    name,
    about,
    tables: { ward: {} },
    initial: { [DOCTOR_ANN]: 'yes', [DOCTOR_BEN]: 'yes' },
    processes: [
      doctor('Ann', DOCTOR_ANN),
      doctor('Ben', DOCTOR_BEN),
      {
        name: 'reader',
        tasks: [{ does: 'ask who is on call', run: ({ read }) => read(DOCTOR_ANN, DOCTOR_BEN) }],
      },
    ],
  };
}

export const WARD: ExplorerScenario = ward(
  'ward',
  'Each of two doctors goes home if the other one is on call: write skew.',
  false,
);

export const LOCKED_WARD: ExplorerScenario = ward(
  'locked-ward',
  'The same, but each locks the cell that it has read: no write skew.',
  true,
);

/** An account may be overdrawn if both together are not; otherwise there is a fee of $1. */
const CHECKING = 'bank/checking:balance';
const SAVINGS = 'bank/savings:balance';

function overdraft(name: string, about: string, locks: boolean): ExplorerScenario {
  return {
    name,
    about,
    tables: { bank: {} },
    initial: { [CHECKING]: '$0', [SAVINGS]: '$0' },
    processes: [
      {
        name: 'drawer',
        tasks: [{ does: 'draw $10; the fee for less than $0 in all is $1', run: drawing(locks) }],
      },
      {
        name: 'payer',
        tasks: [{ does: 'pay $20 into savings', run: pay }],
      },
      {
        name: 'reader',
        tasks: [{ does: 'read both accounts', run: ({ read }) => read(CHECKING, SAVINGS) }],
      },
    ],
  };
}

export const OVERDRAFT: ExplorerScenario = overdraft(
  'overdraft',
  'One pays into one account, one draws from another, and a reader sees what no order gives.',
  false,
);

export const LOCKED_OVERDRAFT: ExplorerScenario = overdraft(
  'locked-overdraft',
  'The same, but who draws locks the account that decides about the fee.',
  true,
);

function drawing(locks: boolean) {
  return ({ attempt }: TaskClient): Promise<void> =>
    attempt(async (work) => {
      if (locks) await work.lock(cellOf(SAVINGS));
      const [checking, savings] = await work.getMany([cellOf(CHECKING), cellOf(SAVINGS)]);
      const left = dollars(checking) - 10;
      const fee = left + dollars(savings) < 0 ? 1 : 0;
      work.set(cellOf(CHECKING), `$${left - fee}`);
    });
}

function pay({ attempt }: TaskClient): Promise<void> {
  return attempt(async (work) => {
    work.set(cellOf(SAVINGS), `$${dollars(await work.get(cellOf(SAVINGS))) + 20}`);
  });
}
