/**
 * What a place may look like: two cells of one row, two tables, and names that could be joined in
 * two ways.
 */
import { cellOf, type ExplorerScenario, type TaskClient, writing } from '../scenario.ts';

const BALANCE = 'accounts/Bob:bal';
const NOTE = 'accounts/Bob:note';

export const ONE_ROW: ExplorerScenario = {
  name: 'one-row',
  about: 'A balance and a note on it are two cells of one row, and change together.',
  tables: { accounts: {} },
  initial: { [BALANCE]: '$10' },
  processes: [
    {
      name: 'writer',
      tasks: [{ does: 'pay $3, with a note', run: writing({ [BALANCE]: '$7', [NOTE]: 'paid' }) }],
    },
    {
      name: 'reader',
      tasks: [{ does: 'read both cells', run: ({ read }) => read(BALANCE, NOTE) }],
    },
  ],
};

const CURRENT = 'current/Bob:bal';
const SAVINGS = 'savings/Joe:bal';

export const TWO_TABLES: ExplorerScenario = {
  name: 'two-tables',
  about: "$7 move from Bob's current account to Joe's savings, which are in another table.",
  tables: { current: {}, savings: {} },
  initial: { [CURRENT]: '$10', [SAVINGS]: '$2' },
  processes: [
    {
      name: 'writer',
      tasks: [{ does: 'move $7', run: writing({ [CURRENT]: '$3', [SAVINGS]: '$9' }) }],
    },
    {
      name: 'reader',
      tasks: [{ does: 'read both accounts', run: ({ read }) => read(SAVINGS, CURRENT) }],
    },
  ],
};

/** Joined by NUL, both are `names`, `a`, `b`, `c`. */
const LONG_COLUMN = 'names/a:b\0c';
const LONG_ROW = 'names/a\0b:c';

export const JOINED_NAMES: ExplorerScenario = {
  name: 'joined-names',
  about: 'Two cells whose names are the same once row and column are joined by a zero byte.',
  tables: { names: {} },
  initial: { [LONG_ROW]: 'old' },
  processes: [
    {
      name: 'writer',
      tasks: [{ does: 'set both', run: writing({ [LONG_COLUMN]: 'new', [LONG_ROW]: 'new too' }) }],
    },
    {
      name: 'reader',
      tasks: [{ does: 'read both', run: ({ read }) => read(LONG_COLUMN, LONG_ROW) }],
    },
  ],
};

/** It uses the bytes of its value again, as soon as `set` has returned. */
async function reuse({ attempt }: TaskClient): Promise<void> {
  const bytes = new TextEncoder().encode('$20');
  await attempt(async (work) => {
    work.set(cellOf(BALANCE), bytes);
    bytes.set(new TextEncoder().encode('$99'));
  });
}

export const REUSED_BYTES: ExplorerScenario = {
  name: 'reused-bytes',
  about: 'A caller sets a value, and uses its bytes again before the transaction commits.',
  tables: { accounts: {} },
  initial: { [BALANCE]: '$10' },
  processes: [
    { name: 'writer', tasks: [{ does: 'set Bob to $20, and reuse the bytes', run: reuse }] },
    { name: 'reader', tasks: [{ does: 'read Bob', run: ({ read }) => read(BALANCE) }] },
  ],
};
