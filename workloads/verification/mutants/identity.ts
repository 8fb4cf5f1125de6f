/**
 * Mistakes in telling apart what has one name: a table that was dropped and created again, P52 to
 * P55; and two databases, P73 to P75.
 */
import type { Knobs } from '../simulation/index.ts';
import { confirmationsDuringDrops, dropsInUse } from '../simulation/loads.ts';
import { change, type Mutant } from './mutant.ts';

export const DROPPING: readonly Mutant[] = [
  {
    rule: 'P52',
    name: 'one-name-for-all-incarnations',
    mistake: 'A table that is created again has the storage name of its predecessor.',
    changes: [
      change(
        'tables/definition.ts',
        'return incarnation === 1 ? table : `${table}.i${incarnation}`;',
        'void incarnation;\n  return table;',
      ),
    ],
    knobs: { drops: true },
  },
  {
    rule: 'P52',
    name: 'definition-known-for-ever',
    mistake:
      'A process never rereads a definition, even when another process created the table again.',
    changes: [
      change(
        'tables/catalog.ts',
        '    return new Promise((resolve, reject) => {\n',
        '    if (tables.every((table) => this.known(table) !== undefined)) {\n      return Promise.resolve(tables.map((table) => this.known(table)));\n    }\n    return new Promise((resolve, reject) => {\n',
      ),
    ],
    knobs: { drops: true },
  },
  {
    rule: 'P53',
    name: 'snapshot-reads-a-younger-table',
    mistake: 'A snapshot reads a table that was created after it, in place of the dropped one.',
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
    mistake: 'A transaction commits without a check that its tables still exist.',
    changes: [
      change(
        'transaction/commit.ts',
        'const confirming = tables.confirm([...written, ...weak]);',
        'const confirming = written.length < 0 ? tables.confirm(weak) : undefined;',
      ),
    ],
  },
  {
    rule: 'P54',
    name: 'drop-not-announced',
    mistake: 'A drop is recorded only in the definition, which other processes do not read again.',
    changes: [
      change('tables/drop.ts', '    await administration.context.oracle.announceDrop();\n', ''),
    ],
    knobs: { drops: true },
    load: dropsInUse,
  },
  {
    rule: 'P54',
    name: 'drop-announced-too-early',
    mistake: 'A drop is announced before it is recorded in the definition.',
    changes: [
      change('tables/drop.ts', '    await administration.context.oracle.announceDrop();\n', ''),
      change(
        'tables/drop.ts',
        "        await stepOf(administration, table, definition, as('dropping', definition));\n",
        "        await administration.context.oracle.announceDrop();\n        await stepOf(administration, table, definition, as('dropping', definition));\n",
      ),
    ],
    knobs: { drops: true },
    load: dropsInUse,
  },
  {
    rule: 'P54',
    name: 'definition-as-of-its-answer',
    mistake: 'A definition counts as read when the answer came, not when the read was sent.',
    changes: [
      change(
        'tables/catalog.ts',
        '      const { drops } = this.#heard; // Before the read is sent.\n',
        '',
      ),
      change(
        'tables/catalog.ts',
        '      const seen = new Map(\n',
        '      const { drops } = this.#heard;\n      const seen = new Map(\n',
      ),
    ],
    knobs: { drops: true, messages: { slow: 0.1 } },
    load: confirmationsDuringDrops,
  },
  {
    rule: 'P54',
    name: 'confirmed-by-a-read-under-way',
    mistake: 'A request for definitions is answered from a read that was sent before it.',
    changes: [
      change(
        'tables/catalog.ts',
        '      for (const caller of callers) caller.resolve(',
        '      for (const caller of [...callers, ...this.#waiting.splice(0).filter((one) => one.tables.every((table) => seen.has(table)) || (this.#waiting.push(one), false))]) caller.resolve(',
      ),
    ],
    knobs: {
      drops: true,
      delayMsMax: 20,
      lockTimeToLiveMs: 150,
      drift: 0,
      messages: { slow: 0.1 },
    },
    load: confirmationsDuringDrops,
  },
  {
    rule: 'P55',
    name: 'locks-of-other-tables-unsettled',
    mistake:
      'A drop resolves the locks in the table, but not locks elsewhere whose primaries are in it.',
    changes: [
      change(
        'tables/drop.ts',
        '({ lock }) => table === dropped || lock.primary.table === dropped',
        '() => table === dropped',
      ),
    ],
    knobs: { drops: true, deathIsKnown: true, messages: { crashAfter: 0.02 } },
    load: dropsInUse,
  },
  {
    rule: 'P55',
    name: 'live-owners-not-waited-for',
    mistake: 'A drop does not wait for live transactions that hold locks in the table.',
    changes: [
      change(
        'tables/drop.ts',
        '    if (isLiving) living.push({ cell, lock });\n',
        '    void isLiving;\n',
      ),
    ],
    knobs: { drops: true },
  },
  {
    rule: 'P55',
    name: 'dropped-without-settling',
    mistake: 'A table is dropped before the locks whose primaries are in it are resolved.',
    changes: [change('tables/drop.ts', '    await settle(administration, stored);\n', '')],
  },
  {
    rule: 'P55',
    name: 'lock-of-a-dropped-primary-throws',
    mistake: 'No process can resolve a lock whose primary was in a dropped table.',
    changes: [
      change(
        'transaction/resolve-lock.ts',
        '    if ((await context.catalog?.isGone(lock.primary.table)) === false) throw error;\n',
        "    if (lock.primary.table !== '') throw error;\n",
      ),
    ],
    knobs: {
      drops: true,
      deathIsKnown: true,
      messages: { stall: 0.03, crashAfter: 0.02 },
      events: { crash: 0.5, stop: 0.5 },
    },
    load: dropsInUse,
  },
];

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
    changes: [change('database.ts', '  await given.belongTo(identity.name);\n', '')],
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
        'oracle/oracle-row.ts',
        '  if (found === identity) return;\n',
        '  if (found !== ``) return;\n',
      ),
    ],
  },
  {
    rule: 'P74',
    name: 'row-of-another-database',
    mistake: "A process hands out timestamps of its store's oracle row, whichever database it is.",
    changes: [change('oracle/oracle-row.ts', '    checkStored(identity, row.identity);\n', '')],
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
        'observer/peers.ts',
        'const table = `${this.#database}${first.table}`;',
        'const { table } = first;',
      ),
    ],
    knobs: { ...TWO_DATABASES, scanLocks: true },
  },
];
