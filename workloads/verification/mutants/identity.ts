/** Mistakes in telling databases apart: P73 to P75. */
import type { Knobs } from '../simulation/index.ts';
import { change, type Mutant } from './mutant.ts';

const TWO_DATABASES: Partial<Knobs> = {
  events: { foreignOracle: 4 },
  oracleProcesses: true,
  secondDatabase: 'below',
};

export const IDENTITY: readonly Mutant[] = [
  {
    rule: 'P73',
    name: 'client-takes-any-oracle',
    mistake: 'A client takes the timestamps of whatever oracle answers at its address.',
    changes: [change('oracle/client.ts', '        checkOracle(wanted, answer.identity);\n', '')],
    knobs: TWO_DATABASES,
  },
  {
    rule: 'P73',
    name: 'opening-compares-nothing',
    mistake: 'A database is opened with an oracle that was not compared with the store.',
    changes: [change('percolator.ts', '  await given.belongTo(identity.name);\n', '')],
    knobs: TWO_DATABASES,
  },
  {
    rule: 'P73',
    name: 'horizon-raised-anywhere',
    mistake: 'An oracle raises the horizon for a collector of another database.',
    changes: [
      change(
        'oracle/server.ts',
        "if (identity !== '') checkOracle(identity, source.identity);",
        'void [identity, checkOracle];',
      ),
    ],
    knobs: { ...TWO_DATABASES, collector: true, drops: true },
  },
  {
    rule: 'P74',
    name: 'lost-store-not-noticed',
    mistake: 'Nothing compares the identity in the store with that of the database.',
    changes: [
      change(
        'oracle/identity.ts',
        '  if (found === identity) return;\n',
        '  if (found !== ``) return;\n',
      ),
    ],
  },
  {
    rule: 'P74',
    name: 'row-of-another-database',
    mistake: "A process hands out timestamps of its store's oracle row, whichever database it is.",
    changes: [change('oracle/identity.ts', '    checkStored(identity, row.identity);\n', '')],
  },
  {
    rule: 'P74',
    name: 'idle-in-another-database',
    mistake: 'A worker is idle because another database, in its store, has no dirty cells.',
    changes: [
      change(
        'observer/worker.ts',
        '    if (!this.#stopping.signal.aborted) await this.#context.identity?.check();\n',
        '',
      ),
      change(
        'tables/catalog.ts',
        'const cause = await (this.#identity?.causeOf(error) ?? error);',
        'const cause = error;',
      ),
    ],
  },
  {
    rule: 'P75',
    name: 'scan-locks-of-all-databases',
    mistake: 'Scanners of two databases lock tables of one name against one another.',
    changes: [
      change(
        'observer/scan-locks.ts',
        'const table = `${this.#database}${first.table}`;',
        'const { table } = first;',
      ),
    ],
    knobs: { ...TWO_DATABASES, scanLocks: true },
  },
];
