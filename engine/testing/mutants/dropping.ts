/** Mistakes in dropping tables and creating them again: P53 to P55. */
import { change, type Mutant } from './mutant.ts';

export const DROPPING: readonly Mutant[] = [
  {
    rule: 'P53',
    name: 'snapshot-reads-a-younger-table',
    mistake:
      'A snapshot reads a table that was created after it, in place of the one that was dropped.',
    changes: [
      change(
        'transaction/bound-tables.ts',
        '    if (createdAt > this.#startTimestamp) {\n',
        '    if (createdAt < 0) {\n',
      ),
    ],
  },
  {
    rule: 'P54',
    name: 'commit-without-confirmation',
    mistake: 'A transaction commits without a look whether its tables are still there.',
    changes: [
      change(
        'transaction/commit.ts',
        'const confirming = tables.confirm([...request.rows, ...weak]);',
        'const confirming = weak.length < 0 ? tables.confirm(weak) : undefined;',
      ),
    ],
  },
  {
    rule: 'P55',
    name: 'dropped-without-settling',
    mistake: 'A table is dropped before the locks are resolved whose primaries are in it.',
    changes: [change('tables/drop.ts', '    await settle(administration, stored);\n', '')],
  },
  {
    rule: 'P55',
    name: 'lock-of-a-dropped-primary-throws',
    mistake: 'A lock whose primary was in a dropped table can be resolved by nobody.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '    if ((await context.catalog?.isGone(lock.primary.table)) === false) throw error;\n',
        "    if (lock.primary.table !== '') throw error;\n",
      ),
    ],
  },
];
