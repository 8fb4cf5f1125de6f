/** The commands of `percolator`, each with its words, its options, and what it does. */
import { join } from 'node:path';
import process from 'node:process';
import { systemClock } from '../base/index.ts';
import { ADDRESS, NAME, oneOf, type OptionRule } from '../base/options.ts';
import type { Role } from '../rpc/roles.ts';
import { auditDatabase } from './audit.ts';
import { type Command, type CommandOption, type Given, wholeNumber } from './command-line.ts';
import { type Configuration, readConfiguration, wrong } from './configuration.ts';
import { runService, type Service, type ServiceTools } from './service.ts';
import {
  createTable,
  dropTable,
  getCell,
  listTables,
  makeBackup,
  parkedCells,
  printChanges,
  restoreBackup,
  say,
  scanTable,
} from './data.ts';
import { PORTS, startLocks, startOracle } from './services.ts';
import { readStatus, statusLines } from './status.ts';
import { writeCertificates } from './write-certificates.ts';
import { type WaitFor, waitFor } from './wait.ts';
import { startCollector, startWorker } from './workers.ts';

const LISTEN = (port: number): CommandOption => ({
  placeholder: 'host:port',
  rule: ADDRESS,
  description: `where to listen (default: the address of the list that is this machine's; PERCOLATOR_LISTEN), port ${port} for example`,
});

const NAMES: OptionRule = {
  expected: 'names with commas between them, none of them empty',
  accepts: (value) => Array.isArray(value) && value.every(NAME.accepts),
};

/** The description says which names. */
const LIST = (placeholder: string): Omit<CommandOption, 'description'> => ({
  placeholder,
  parse: (text) => text.split(','),
  rule: NAMES,
});

const AT = wholeNumber('timestamp', 'as of this timestamp (default now)', 0);

const DRAIN_SECONDS = 30;
const DRAIN = wholeNumber(
  'seconds',
  `how long what is in flight may take to end after SIGTERM; then it is cut off, and the exit code is 1 (default ${DRAIN_SECONDS})`,
);

/** A command that runs until it is told to end. */
function service(
  about: Pick<Command, 'name' | 'does' | 'options' | 'more'>,
  start: (configuration: Configuration, given: Given, tools: ServiceTools) => Promise<Service>,
): Command {
  return {
    ...about,
    words: [],
    options: { ...about.options, 'drain-seconds': DRAIN },
    isConfigured: true,
    run: async (given) => {
      const configuration = configurationOf(given);
      const drainSeconds = given.number('drain-seconds') ?? DRAIN_SECONDS;
      const options = { name: about.name, configuration, drainSeconds };
      const code = await runService(options, (tools) => start(configuration, given, tools));
      // What a user's observers have opened would keep the process alive.
      return process.exit(code);
    },
  };
}

function configurationOf(given: Given): Configuration {
  return readConfiguration({
    config: given.text('config'),
    options: given.settings,
    environment: process.env,
    folder: process.cwd(),
  });
}

function listenOf(given: Given): string | undefined {
  const option = given.text('listen');
  const variable = process.env['PERCOLATOR_LISTEN'];
  if (option !== undefined || variable === undefined || variable === '') return option;
  if (ADDRESS.accepts(variable)) return variable;
  throw wrong(`PERCOLATOR_LISTEN must be ${ADDRESS.expected}, not ${JSON.stringify(variable)}`);
}

export const COMMANDS: readonly Command[] = [
  service(
    {
      name: 'oracle',
      does: 'Runs a timestamp oracle. One leads; start two or three, and the others stand by.',
      options: { listen: LISTEN(PORTS.oracle) },
    },
    (configuration, given, tools) => startOracle(configuration, listenOf(given), tools),
  ),
  service(
    {
      name: 'locks',
      does: 'Runs a lock service, which may lose everything at any moment. Start one or two.',
      options: { listen: LISTEN(PORTS.locks) },
    },
    (configuration, given, tools) => startLocks(configuration, listenOf(given), tools),
  ),
  service(
    {
      name: 'worker',
      does: 'Runs observers: those that a module exports by default, as a list or as a function that receives the database and returns the list.',
      options: {
        observers: { placeholder: 'file', rule: NAME, description: 'the module; needed' },
        concurrency: wholeNumber('number', 'observer runs in flight at a time (default 64)'),
      },
    },
    (configuration, given, tools) => {
      const observers = given.text('observers');
      if (observers === undefined) throw wrong('--observers <file> must be given');
      const concurrency = given.number('concurrency');
      return startWorker(configuration, { observers, concurrency }, tools);
    },
  ),
  service(
    {
      name: 'collector',
      does: 'Collects old versions that no snapshot can see any more. One is enough; several are harmless.',
      options: {},
    },
    (configuration, _given, tools) => startCollector(configuration, tools),
  ),
  {
    name: 'status',
    does: 'Prints how the database is: oracles, lock services, leases, workers, notifications that wait, parked cells, the oldest lock. Works without an oracle, and writes nothing.',
    words: [],
    options: {
      json: { description: 'as JSON' },
      watch: { description: 'again every few seconds, until it is interrupted' },
      seconds: wholeNumber('seconds', 'between two of them, with --watch (default 5)'),
    },
    isConfigured: true,
    run: showStatus,
  },
  {
    name: 'wait',
    does: 'Waits until the database is ready, or idle: no notification waits in any table. Exit code 1 if it is not in time.',
    words: [],
    options: {
      for: {
        placeholder: 'state',
        rule: oneOf('ready', 'idle'),
        description: 'ready or idle (default idle)',
      },
      'timeout-seconds': wholeNumber('seconds', 'how long to wait (default 600)', 0),
    },
    isConfigured: true,
    run: waitForState,
  },
  {
    name: 'tables',
    does: 'Lists, creates or drops tables.',
    words: ['[ACTION]', '[TABLE]'],
    more: 'percolator tables lists them; percolator tables create TABLE; percolator tables drop TABLE --yes.',
    options: {
      observed: {
        ...LIST('column,...'),
        description: 'create: the columns that observers may observe',
      },
      shared: {
        ...LIST('column,...'),
        description: 'create: the columns whose cells several transactions may lock at once',
      },
      splits: {
        ...LIST('row,...'),
        description: 'create: the rows at which the table is split at first',
      },
      yes: { description: 'drop: needed, because all that is in the table is lost' },
      json: { description: 'list: one JSON object per line' },
    },
    isConfigured: true,
    run: administrateTables,
  },
  {
    name: 'get',
    does: 'Prints the value of a cell. Exit code 1 if it has none.',
    words: ['TABLE', 'ROW', 'COLUMN'],
    options: { at: AT },
    isConfigured: true,
    run: async (given) => {
      const [table = '', row = '', column = ''] = given.words;
      return getCell(configurationOf(given), { table, row, column }, given.number('at'));
    },
  },
  {
    name: 'scan',
    does: 'Prints the cells of a range of rows: row, column and value, with a tab between them.',
    words: ['TABLE'],
    options: {
      from: { placeholder: 'row', description: 'the first row (default the first of the table)' },
      to: { placeholder: 'row', description: 'the row to end before (default the end)' },
      prefix: { placeholder: 'text', description: 'only rows that begin with it' },
      columns: { ...LIST('column,...'), description: 'the columns to print (default all)' },
      limit: wholeNumber('rows', 'rows to print (default 100)'),
      at: AT,
      json: { description: 'one JSON object per row' },
    },
    isConfigured: true,
    run: async (given) =>
      scanTable(configurationOf(given), {
        table: given.words[0] ?? '',
        from: given.text('from'),
        to: given.text('to'),
        prefix: given.text('prefix'),
        columns: given.list('columns'),
        at: given.number('at'),
        limit: given.number('limit') ?? 100,
        json: given.has('json'),
      }),
  },
  {
    name: 'changes',
    does: 'Prints the committed changes of a table as JSON lines, in the order of their commits, each once.',
    words: ['TABLE'],
    options: {
      from: {
        placeholder: 'cursor',
        description: 'go on after this cursor of a line, or after this timestamp (default now)',
      },
      follow: { description: 'wait for more, until it is interrupted' },
      debezium: { description: 'each change as an envelope of Debezium, without its schema' },
    },
    isConfigured: true,
    more: 'A line of the kind resolved says that all changes up to its timestamp have been printed, and that no other one will come below it.',
    run: async (given) => {
      const from = given.text('from');
      return printChanges(configurationOf(given), {
        table: given.words[0] ?? '',
        from: from !== undefined && /^\d+$/.test(from) ? Number(from) : from,
        follow: given.has('follow'),
        debezium: given.has('debezium'),
      });
    },
  },
  {
    name: 'parked',
    does: 'Lists the cells whose observers failed too often, with the last error, or puts them back to work.',
    words: ['[TABLE]', '[ROW]', '[COLUMN]'],
    options: {
      replay: { description: 'makes the cells dirty again, so that their observers run' },
      limit: wholeNumber('cells', 'cells of each table (default 1,000; with --replay all)'),
      json: { description: 'one JSON object per cell' },
    },
    isConfigured: true,
    run: async (given) => {
      const [table, row, column] = given.words;
      const replay = given.has('replay');
      if (replay && table === undefined) {
        throw wrong('--replay needs a table: percolator parked TABLE --replay');
      }
      const json = given.has('json');
      const limit = given.number('limit') ?? (replay ? undefined : 1_000);
      return parkedCells(configurationOf(given), { table, row, column, replay, limit, json });
    },
  },
  {
    name: 'backup',
    does: 'Makes a backup of all tables, as of one moment, while the database is in use. Into a folder: only what has changed since the last backup there, if it can.',
    words: [],
    options: {
      to: {
        placeholder: 'path',
        rule: NAME,
        description: 'a folder for a series, or a file whose name ends in .backup; needed',
      },
      full: { description: 'a full backup, where changes since the last one would do' },
      'keep-hours': wholeNumber(
        'hours',
        'how long nothing is collected that the next backup of the series needs (default not at all)',
      ),
    },
    isConfigured: true,
    run: async (given) => {
      const to = given.text('to');
      if (to === undefined) throw wrong('--to <path> must be given');
      const hours = given.number('keep-hours');
      if (hours !== undefined && to.endsWith('.backup')) {
        throw wrong(`--keep-hours is for a series in a folder, and ${to} is a single file`);
      }
      const keepMs = hours === undefined ? undefined : hours * 3_600_000;
      return makeBackup(configurationOf(given), { to, full: given.has('full'), keepMs });
    },
  },
  {
    name: 'restore',
    does: 'Restores the tables of a backup, or of a series, into a database that does not have them.',
    words: [],
    options: {
      from: { placeholder: 'path', rule: NAME, description: 'the folder or file; needed' },
      at: wholeNumber('timestamp', 'as of this timestamp (default the last backup)', 0),
      'observers-again': {
        description: 'observers run for all that they observe, also for what they had seen',
      },
    },
    isConfigured: true,
    run: async (given) => {
      const from = given.text('from');
      if (from === undefined) throw wrong('--from <path> must be given');
      const observers = given.has('observers-again') ? 'again' : 'go on';
      return restoreBackup(configurationOf(given), { from, at: given.number('at'), observers });
    },
  },
  {
    name: 'fsck',
    does: 'Audits the tables of the database, also while it is in use. Writes nothing without --repair. Exit code 1 if an error is left.',
    words: [],
    options: {
      table: {
        placeholder: 'name',
        repeats: true,
        description: 'a table to audit; may be given several times (default all)',
      },
      repair: { description: 'makes the safe repairs, and reports the others' },
      limit: wholeNumber('number', 'printed findings of each code; all are counted (default 5)', 0),
      json: { description: 'as JSON' },
    },
    isConfigured: true,
    run: async (given) =>
      auditDatabase(configurationOf(given), {
        tables: given.list('table') ?? [],
        repair: given.has('repair'),
        limit: given.number('limit') ?? 5,
        json: given.has('json'),
      }),
  },
  {
    name: 'certificates',
    does: 'Makes a certificate for a host or a client, and its key; and a private authority, if the folder has none.',
    words: ['NAME'],
    more: 'Each host needs authority.pem and its own two files, which percolator.json names under tls. Keep authority.key elsewhere.',
    options: {
      folder: { placeholder: 'folder', rule: NAME, description: 'where the files go; needed' },
      hosts: {
        ...LIST('name,...'),
        description: 'names and addresses at which it serves (default none: a client)',
      },
      role: {
        placeholder: 'role',
        rule: oneOf('worker', 'collector', 'admin'),
        description: 'what it may do: worker, collector or admin (default worker)',
      },
      days: wholeNumber('days', 'until it expires (default 90)'),
      force: { description: 'replaces the certificate if there is one' },
    },
    isConfigured: false,
    run: makeCertificate,
  },
];

async function makeCertificate(given: Given): Promise<number> {
  const folder = given.text('folder');
  if (folder === undefined) throw wrong('--folder <folder> must be given');
  const [name = ''] = given.words;
  const role = given.text('role') as Role | undefined;
  const files = await writeCertificates({
    folder,
    certificates: [{ name, role, hosts: given.list('hosts') }],
    days: given.number('days'),
    force: given.has('force'),
    nowMs: systemClock.wallMs(),
  });
  for (const file of files) say(join(folder, file));
  return 0;
}

async function showStatus(given: Given): Promise<number> {
  const configuration = configurationOf(given);
  const seconds = given.number('seconds') ?? 5;
  for (;;) {
    const status = await readStatus(configuration);
    if (given.has('json')) say(JSON.stringify(status));
    else say(statusLines(status).join('\n'));
    if (!given.has('watch')) return 0;
    await systemClock.sleep(seconds * 1_000);
    if (!given.has('json')) say('');
  }
}

async function waitForState(given: Given): Promise<number> {
  const what: WaitFor = given.text('for') === 'ready' ? 'ready' : 'idle';
  const seconds = given.number('timeout-seconds') ?? 600;
  const why = await waitFor(configurationOf(given), what, seconds);
  if (why === undefined) return 0;
  process.stderr.write(`percolator wait: not ${what} after ${seconds} seconds: ${why}.\n`);
  return process.exit(1); // A look that has no answer would keep the process alive.
}

/** The options of `percolator tables` by the one action that each is for. */
const OPTIONS_OF = { list: ['json'], create: ['observed', 'shared', 'splits'], drop: ['yes'] };

/** What is passed over was meant for something: perhaps the action was forgotten. */
function checkOptionsOf(action: string, given: Given): void {
  if (!Object.hasOwn(OPTIONS_OF, action)) return; // Refused with its own sentence.
  for (const [of, options] of Object.entries(OPTIONS_OF)) {
    const one = of === action ? undefined : options.find((option) => given.has(option));
    if (one !== undefined) throw wrong(`--${one} is for percolator tables ${of}, not ${action}`);
  }
}

async function administrateTables(given: Given): Promise<number> {
  const [action = 'list', table] = given.words;
  checkOptionsOf(action, given);
  const configuration = configurationOf(given);
  if (action === 'list' && table === undefined) {
    return listTables(configuration, given.has('json'));
  }
  if (action !== 'create' && action !== 'drop') {
    throw wrong(`percolator tables can create TABLE or drop TABLE, not ${given.words.join(' ')}`);
  }
  if (table === undefined) throw wrong(`percolator tables ${action} needs the name of a table`);
  if (action === 'create') {
    return createTable(configuration, table, {
      observedColumns: given.list('observed') ?? [],
      sharedColumns: given.list('shared') ?? [],
      splits: given.list('splits') ?? [],
    });
  }
  if (given.has('yes')) return dropTable(configuration, table);
  throw wrong(`all that is in table ${table} is lost with it: give --yes`);
}
