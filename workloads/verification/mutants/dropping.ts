/** Mistakes in dropping tables and creating them again: P52 to P55. */
import { dropsInUse } from './loads.ts';
import { change, type Mutant } from './mutant.ts';

export const DROPPING: readonly Mutant[] = [
  {
    rule: 'P52',
    name: 'one-name-for-all-incarnations',
    mistake: 'A table that is created again has the name of the one before in the storage.',
    changes: [
      change(
        'tables/names.ts',
        'return incarnation === 1 ? table : `${table}.i${incarnation}`;',
        'void incarnation;\n  return table;',
      ),
    ],
    favouring: { drops: true },
  },
  {
    rule: 'P52',
    name: 'definition-known-for-ever',
    mistake:
      'A process never looks again at a definition, also when another process created the table again.',
    changes: [
      change(
        'tables/catalog.ts',
        '    return new Promise((resolve, reject) => {\n',
        '    if (tables.every((table) => this.known(table) !== undefined)) {\n      return Promise.resolve(tables.map((table) => this.known(table)));\n    }\n    return new Promise((resolve, reject) => {\n',
      ),
    ],
    favouring: { drops: true },
  },
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
    rule: 'P54',
    name: 'confirmed-by-a-read-under-way',
    mistake: 'A look at definitions is answered by a read that was sent before it was asked for.',
    changes: [
      change(
        'tables/catalog.ts',
        '      for (const caller of callers) caller.resolve(',
        '      for (const caller of [...callers, ...this.#waiting.splice(0).filter((one) => one.tables.every((table) => seen.has(table)) || (this.#waiting.push(one), false))]) caller.resolve(',
      ),
    ],
    favouring: { drops: true },
  },
  {
    rule: 'P55',
    name: 'locks-of-other-tables-unsettled',
    mistake:
      'A drop resolves the locks in the table, not those elsewhere whose primaries are in it.',
    changes: [
      change(
        'tables/drop.ts',
        'const matters = table === dropped || lock.primary.table === dropped;',
        'const matters = table === dropped;',
      ),
    ],
    favouring: { drops: true, deathIsKnown: true, messages: { crashAfter: 0.02 } },
    load: dropsInUse,
  },
  {
    rule: 'P55',
    name: 'live-owners-not-waited-for',
    mistake: 'A drop does not wait for transactions that hold locks in the table and are alive.',
    changes: [
      change(
        'tables/drop.ts',
        '    if (!(await isAlive(context, cell, { lock, dropped }))) return;\n',
        '    await isAlive(context, cell, { lock, dropped });\n    if (attempt > 0) return;\n',
      ),
    ],
    favouring: { drops: true },
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
        'transaction/locks/resolve-lock.ts',
        '    if ((await context.catalog?.isGone(lock.primary.table)) === false) throw error;\n',
        "    if (lock.primary.table !== '') throw error;\n",
      ),
    ],
  },
];
