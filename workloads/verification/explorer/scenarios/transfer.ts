/**
 * Bob has $10 and Joe $2, as in figure 4 of the paper. One process moves $7 from one to the other;
 * others read both, pay Bob's wages, or move money back.
 */
import { cellOf, dollars, type ExplorerScenario, type TaskClient, writing } from '../scenario.ts';

const BOB = 'accounts/Bob:bal';
const JOE = 'accounts/Joe:bal';

function move(amount: number, from: string, to: string) {
  return ({ attempt }: TaskClient): Promise<void> =>
    attempt(async (work) => {
      const [giver, taker] = await work.getMany([cellOf(from), cellOf(to)]);
      work.set(cellOf(from), `$${dollars(giver) - amount}`);
      work.set(cellOf(to), `$${dollars(taker) + amount}`);
    });
}

const READER = {
  name: 'reader',
  tasks: [{ does: 'read both accounts', run: ({ read }: TaskClient) => read(JOE, BOB) }],
};

/** Figure 4. */
export const TRANSFER: ExplorerScenario = {
  name: 'transfer',
  about: '$7 move from Bob to Joe, while another process reads both.',
  tables: { accounts: {} },
  initial: { [BOB]: '$10', [JOE]: '$2' },
  processes: [
    { name: 'writer', tasks: [{ does: 'move $7 from Bob to Joe', run: move(7, BOB, JOE) }] },
    READER,
  ],
};

/** Each transfer begins with the account that the other one ends with. */
export const CROSSED: ExplorerScenario = {
  name: 'crossed',
  about: '$7 move from Bob to Joe, and at the same time $1 from Joe to Bob.',
  tables: { accounts: {} },
  initial: { [BOB]: '$10', [JOE]: '$2' },
  processes: [
    { name: 'A', tasks: [{ does: 'move $7 from Bob to Joe', run: move(7, BOB, JOE) }] },
    { name: 'B', tasks: [{ does: 'move $1 from Joe to Bob', run: move(1, JOE, BOB) }] },
    READER,
  ],
};

/** Of two writers of one cell, the first to commit wins. */
export const WAGES: ExplorerScenario = {
  name: 'wages',
  about: 'Two processes pay into one account: one of the payments must not be lost.',
  tables: { accounts: {} },
  initial: { [BOB]: '$10' },
  processes: [
    { name: 'A', tasks: [{ does: 'pay Bob $3', run: pay(3) }] },
    { name: 'B', tasks: [{ does: 'pay Bob $5', run: pay(5) }] },
    { name: 'reader', tasks: [{ does: "read Bob's account", run: ({ read }) => read(BOB) }] },
  ],
};

function pay(amount: number) {
  return ({ attempt }: TaskClient): Promise<void> =>
    attempt(async (work) => {
      work.set(cellOf(BOB), `$${dollars(await work.get(cellOf(BOB))) + amount}`);
    });
}

/** Two rows that a reader looks at from either end, and one writer without reads. */
export const BLIND: ExplorerScenario = {
  name: 'blind',
  about: 'A process writes two rows without reading them; others read, or delete one of them.',
  tables: { accounts: {} },
  initial: { [BOB]: '$10', [JOE]: '$2' },
  processes: [
    {
      name: 'writer',
      tasks: [{ does: 'set both to $20', run: writing({ [BOB]: '$20', [JOE]: '$20 too' }) }],
    },
    { name: 'other', tasks: [{ does: 'set Joe to $30', run: writing({ [JOE]: '$30' }) }] },
    { name: 'eraser', tasks: [{ does: 'delete Joe', run: writing({ [JOE]: undefined }) }] },
    READER,
  ],
};

/** What the oracle promises, without an oracle. */
export const OWN_RANGES: ExplorerScenario = {
  ...WAGES,
  name: 'own-ranges',
  about: 'The same payments; each process takes ranges of timestamps from the storage.',
  ownRanges: true,
};

const ANN = 'accounts/Ann:bal';

/** A conflict at one of three rows leaves work at the other two. */
export const THREE_ROWS: ExplorerScenario = {
  name: 'three-rows',
  about: 'One process writes three rows, and another one writes one of them.',
  tables: { accounts: {} },
  initial: { [ANN]: '$5', [BOB]: '$10', [JOE]: '$2' },
  processes: [
    {
      name: 'writer',
      tasks: [
        { does: 'set all three', run: writing({ [ANN]: '$20', [BOB]: '$21', [JOE]: '$22' }) },
        { does: 'set Joe again', run: writing({ [JOE]: '$23' }) },
      ],
    },
    { name: 'other', tasks: [{ does: 'set Joe to $30', run: writing({ [JOE]: '$30' }) }] },
  ],
};

/** What a writer that reads nothing owes to those who come after a dead one. */
export const BLIND_AFTER_DEATH: ExplorerScenario = {
  name: 'blind-after-death',
  about: 'Of two processes that only write, one dies with its lock; the other must get past it.',
  tables: { accounts: {} },
  initial: { [BOB]: '$10' },
  lastWrites: BOB,
  processes: [
    { name: 'first', tasks: [{ does: 'set Bob to $20', run: writing({ [BOB]: '$20' }) }] },
    { name: 'second', tasks: [{ does: 'set Bob to $30', run: writing({ [BOB]: '$30' }) }] },
  ],
};

/** Timestamps of sixteen digits, below 2^53. */
export const LARGE_TIMESTAMPS: ExplorerScenario = {
  ...TRANSFER,
  name: 'large-timestamps',
  about: 'The same transfer, in a database whose timestamps have sixteen digits.',
  firstTimestamp: 9_007_199_254_740_000,
};
