/** Old versions, a collector that deletes them, and snapshots that still read them. */
import { type ExplorerScenario, writing } from '../scenario.ts';

const BOB = 'accounts/Bob:bal';
const JOE = 'accounts/Joe:bal';

export const GARBAGE: ExplorerScenario = {
  name: 'garbage',
  about: 'A collector deletes old versions, while a transaction is open and a reader reads.',
  tables: { accounts: {} },
  initial: { [BOB]: '$10', [JOE]: '$2' },
  processes: [
    {
      name: 'writer',
      tasks: [
        { does: 'set both to $20', run: writing({ [BOB]: '$20', [JOE]: '$20 too' }) },
        { does: 'delete Joe', run: writing({ [JOE]: undefined }) },
      ],
    },
    { name: 'reader', tasks: [{ does: 'read both', run: ({ read }) => read(BOB, JOE) }] },
    { name: 'collector', tasks: [{ does: 'collect garbage', run: ({ collect }) => collect() }] },
  ],
};

export const DEAD_WRITER: ExplorerScenario = {
  name: 'dead-writer',
  about:
    'A writer dies and leaves a lock; the account of its primary is overwritten, and collected.',
  tables: { accounts: {} },
  initial: { [BOB]: '$10', [JOE]: '$2' },
  processes: [
    {
      name: 'writer',
      tasks: [{ does: 'set both to $20', run: writing({ [BOB]: '$20', [JOE]: '$20 too' }) }],
    },
    { name: 'other', tasks: [{ does: 'set Bob to $30', run: writing({ [BOB]: '$30' }) }] },
    { name: 'collector', tasks: [{ does: 'collect garbage', run: ({ collect }) => collect() }] },
  ],
};
