/**
 * What snapshot isolation permits: write skew, with and without `lock`, alone and shared, and a
 * reader's anomaly.
 */
import {
  cellOf,
  dollars,
  type ExplorerActor,
  type ExplorerScenario,
  type TaskClient,
} from '../scenario.ts';

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

/** No customer has drawn more than the limit. Many rely on it at once, and it rarely changes. */
const LIMIT = 'bank/all:limit';
const DRAWN_ANN = 'bank/Ann:drawn';
const DRAWN_BEN = 'bank/Ben:drawn';

export const SHARED_LIMIT: ExplorerScenario = {
  name: 'shared-limit',
  about: 'Two draw as far as a limit permits, and share its lock; a manager lowers the limit.',
  tables: { bank: { sharedColumns: ['limit'] } },
  initial: { [LIMIT]: '$40', [DRAWN_ANN]: '$0', [DRAWN_BEN]: '$0' },
  processes: [
    drawer('Ann', DRAWN_ANN),
    drawer('Ben', DRAWN_BEN),
    {
      name: 'manager',
      tasks: [{ does: 'lower the limit by $20 if no customer has drawn more', run: lowerLimit }],
    },
  ],
  // Readers pass over shared locks: only who writes the cell meets those that the dead have left.
  lastWrites: LIMIT,
};

function drawer(name: string, own: string): ExplorerActor {
  const run: ExplorerActor['tasks'][number]['run'] = ({ attempt, tell }) =>
    attempt(async (work) => {
      const [limit, before] = await work.getMany([cellOf(LIMIT), cellOf(own)]);
      const drawn = dollars(before) + 30;
      if (drawn > dollars(limit)) {
        tell('draws nothing, because of the limit');
        return;
      }
      await work.lock(cellOf(LIMIT), { shared: true });
      work.set(cellOf(own), `$${drawn}`);
    });
  return { name, tasks: [{ does: 'draw $30 if the limit permits it', run }] };
}

function lowerLimit({ attempt, tell }: TaskClient): Promise<void> {
  return attempt(async (work) => {
    const all = await work.getMany([LIMIT, DRAWN_ANN, DRAWN_BEN].map(cellOf));
    const [before = 0, ...drawn] = all.map(dollars);
    const limit = before - 20;
    if (Math.max(...drawn) > limit) tell('leaves the limit, because more has been drawn');
    else work.set(cellOf(LIMIT), `$${limit}`);
  });
}
