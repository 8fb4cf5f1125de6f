/**
 * Claims of the checks at the front door: a wrong argument is refused with one clear sentence and
 * the code INVALID_ARGUMENT, and nothing has been done. The types forbid most of these calls; a
 * program without types can make them all.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  type Bigtable,
  openEmbedded,
  openPercolator,
  type Percolator,
  type Transaction,
} from './index.ts';
import { createMemoryBigtable, temporaryFolder } from './testing/index.ts';
import { NOTIFY_FAMILIES, notifyTable, TABLE_FAMILIES } from './transaction/index.ts';

/** A value cast to this type fits every parameter, as any value does in a program without types. */
type Untyped = never;

const CELL = { table: 't', row: 'r', column: 'c' };
const A_CELL =
  'a cell must be an object with the texts table, row and column, and nothing else, not ';
const OBSERVER = { name: 'o', table: 't', column: 'c', run: () => Promise.resolve() };
const AN_OBSERVER =
  'an observer must be an object with the texts name, table and column, and a function run, not ';
const A_TABLE =
  ' cannot be the name of a table: it must have 1 to 37 characters (letters, digits, - _ .) and not begin with - or .';
const OF_COLLECTOR =
  'it has messageLifetimeMs, rowsPerStep, pauseMs, restMs, historyMs, onWarning, signal';

/** The arguments of a call, and the sentence that refuses them. */
type Case = readonly [given: readonly unknown[], message: string | RegExp];

const OPENING: readonly Case[] = [
  [[], 'the options of openPercolator must be an object, not undefined'],
  [[null], 'the options of openPercolator must be an object, not null'],
  [['data'], "the options of openPercolator must be an object, not 'data'"],
  [[{}], 'a database needs a folder, or an open store'],
  [[{ folder: 5 }], 'folder must be a text that is not empty, not 5'],
  [[{ folder: '' }], "folder must be a text that is not empty, not ''"],
  [[{ folder: 'f', fsync: 1 }], 'fsync must be true or false, not 1'],
  [[{ folder: 'f', attemptMax: 5 }], /^openPercolator has no option attemptMax; it has lockTime/],
  [[{ folder: 'f', attemptsMax: '5' }], "attemptsMax must be a whole number above 0, not '5'"],
  [
    [{ folder: 'f', inDoubtAttemptsMax: 0.5 }],
    'inDoubtAttemptsMax must be a whole number above 0, not 0.5',
  ],
  [
    [{ folder: 'f', lockWaitMsMax: null }],
    'lockWaitMsMax must be a finite number above 0, not null',
  ],
  [[{ folder: 'f', prefetch: true }], 'prefetch must be off or learn, not true'],
  [[{ folder: 'f', backoffMsMin: 300 }], 'backoffMsMin must be at most backoffMsMax, 256, not 300'],
  [[{ folder: 'f', batching: true }], 'batching must be off or an object, not true'],
  [[{ folder: 'f', batching: { delay: 3 } }], /^batching has no option delay; it has delayMs, /],
  [[{ folder: 'f', batching: { delayMs: -1 } }], 'delayMs must be a number of at least 0, not -1'],
  [[{ folder: 'f', oracle: 5 }], 'oracle must be a timestamp oracle, not 5'],
  [[{ folder: 'f', clock: {} }], 'clock must be a clock, not {}'],
  [[{ folder: 'f', random: 5 }], 'random must be a source of random numbers, not 5'],
  [[{ folder: 'f', liveness: {} }], /^liveness must be an object with the text self and the func/],
  [[{ store: {} }], 'store must be an open store, not {}'],
  [
    [{ store: createMemoryBigtable(), folder: 'f' }],
    'folder is for a store that openPercolator opens, but store is given',
  ],
];

const METHODS: Partial<Record<keyof Percolator, readonly Case[]>> = {
  createTable: [
    [[], `undefined${A_TABLE}`],
    [[5], `5${A_TABLE}`],
    [['a', null], 'the options of createTable must be an object, not null'],
    [['a', ['c']], "the options of createTable must be an object, not [ 'c' ]"],
    [
      ['a', { observed: ['c'] }],
      'createTable has no option observed; it has observedColumns, sharedColumns, splits',
    ],
    [['a', { observedColumns: 'c' }], "observedColumns must be a list of texts, not 'c'"],
    [['a', { observedColumns: [5] }], 'observedColumns must be a list of texts, not [ 5 ]'],
    [['a', { observedColumns: ['ack_o:c'] }], /^column ack_o:c: names that begin with ack_ are /],
    [['a', { observedColumns: ['\uD800'] }], 'column "\\ud800" is not well-formed Unicode'],
    [
      ['a', { observedColumns: ['c'.repeat(16_376)] }],
      'a column has at most 16375 bytes, not 16376',
    ],
    [['a', { sharedColumns: 'c' }], "sharedColumns must be a list of texts, not 'c'"],
    [['a', { sharedColumns: ['ack_o:c'] }], /^column ack_o:c: names that begin with ack_ are /],
    [['a', { sharedColumns: ['\uD800'] }], 'column "\\ud800" is not well-formed Unicode'],
    [
      ['a', { sharedColumns: ['c'.repeat(16_366)] }],
      'a column of sharedColumns has at most 16365 bytes, not 16366',
    ],
    [['a', { splits: 5 }], 'splits must be a list of texts, not 5'],
  ],
  dropTable: [
    [[], `undefined${A_TABLE}`],
    [[{}], `{}${A_TABLE}`],
  ],
  transact: [
    [[], 'the body of transact must be a function, not undefined'],
    [['x'], "the body of transact must be a function, not 'x'"],
    [[async () => 5, null], 'the options of transact must be an object, not null'],
    [
      [async () => 5, { retries: 3 }],
      'transact has no option retries; it has kind, attemptsMax, timeoutMs, signal',
    ],
    [[async () => 5, { attemptsMax: 0 }], 'attemptsMax must be a whole number above 0, not 0'],
    [[async () => 5, { timeoutMs: 0 }], 'timeoutMs must be a finite number above 0, not 0'],
    [[async () => 5, { signal: {} }], 'signal must be an AbortSignal, not {}'],
    [[async () => 5, { kind: 5 }], 'kind must be a text, not 5'],
  ],
  begin: [
    [[5], 'the options of begin must be an object, not 5'],
    [[{ readOnly: true }], 'begin has no option readOnly; it has kind'],
  ],
  snapshot: [
    [['1'], "the timestamp of a snapshot must be a whole number of at least 0, not '1'"],
    [[NaN], 'the timestamp of a snapshot must be a whole number of at least 0, not NaN'],
    [[-1], 'the timestamp of a snapshot must be a whole number of at least 0, not -1'],
    [[null], 'the timestamp of a snapshot must be a whole number of at least 0, not null'],
    [[undefined, { at: 3 }], 'snapshot has no option at; it has kind'],
  ],
  outcomeOf: [
    [[], /^the transaction of outcomeOf must be one that an error with COMMIT_UNKNOWN names, not /],
    [[{ primary: {}, startTimestamp: 1 }], /names, not \{ primary: \{\}, startTimestamp: 1 \}$/],
  ],
  startWorker: [
    [[], 'the observers of startWorker must be a list, not undefined'],
    [[[5]], `${AN_OBSERVER}5`],
    [[[{ name: 'o', table: 't' }]], `${AN_OBSERVER}{ name: 'o', table: 't' }`],
    [[[]], 'startWorker needs at least one observer'],
    [
      [[{ ...OBSERVER, table: 'a b' }]],
      /^"a b" cannot be the name of a table: it must have 1 to 37/,
    ],
    [[[{ ...OBSERVER, column: 'ack_o:c' }]], /ack_/],
    [[[], null], 'the options of startWorker must be an object, not null'],
    [[[], { concurency: 5 }], /^startWorker has no option concurency; it has concurrency, scanRo/],
    [[[], { concurrency: '5' }], "concurrency must be a whole number above 0, not '5'"],
    [[[], { onMeeting: 'stop' }], "onMeeting must be jump or skip, not 'stop'"],
    [[[], { onFailure: 5 }], 'onFailure must be a function, not 5'],
    [[[], { rangeLocks: {} }], 'rangeLocks must be the range locks of a lock service, not {}'],
  ],
  collectGarbage: [
    [[null], 'the options of the collector must be an object, not null'],
    [[{ lifetime: 1 }], `the collector has no option lifetime; ${OF_COLLECTOR}`],
    [[{ signal: true }], 'signal must be an AbortSignal, not true'],
    [[{ messageLifetimeMs: '1' }], "messageLifetimeMs must be a finite number above 0, not '1'"],
  ],
  changes: [
    [[5], 'the table of changes must be a text, not 5'],
    [['t', { from: -1 }], 'from must be a cursor or a timestamp, not -1'],
    [['t', { from: 'now' }], /^"now" is no cursor of changes; /],
    [['t', { follow: 1 }], 'follow must be true or false, not 1'],
    [['t', { since: 1 }], /^changes has no option since; it has from, /],
    [['t', { columns: 'c' }], "columns must be a list of texts, not 'c'"],
  ],
  cells: [
    [[5], 'the table of cells must be a text, not 5'],
    [['t', { at: -1 }], 'at must be a whole number of at least 0, not -1'],
    [['t', { to: 1 }], /^cells has no option to; it has at, /],
  ],
  mark: [
    [['', 1, 1], "the name of a mark must be a text that is not empty, not ''"],
    [['m', '1', 1], "the timestamp of a mark must be a whole number of at least 0, not '1'"],
    [['m', 1, 0], 'the time of a mark must be a finite number above 0, not 0'],
    [['m', 1e9, 1], /^the timestamp of a mark must not be in the future: at most \d+, not /],
  ],
  unmark: [[[5], 'the name of a mark must be a text that is not empty, not 5']],
  watch: [
    [['t/r:c'], /^the cell to watch must be an object with the texts table, row and column, /],
    [[{ table: 't', row: 'r', column: 'ack_o:c' }], /^column ack_o:c: names that begin with ack_ /],
    [[{ table: 't', row: 'r', column: 'c' }, { from: 1 }], /^watch has no option from; it has /],
  ],
  startCollector: [
    [[5], 'the options of the collector must be an object, not 5'],
    [[{ rest: 1 }], `the collector has no option rest; ${OF_COLLECTOR}`],
    [[{ rowsPerStep: 1.5 }], 'rowsPerStep must be a whole number above 0, not 1.5'],
    [[{ onWarning: 'x' }], "onWarning must be a function, not 'x'"],
  ],
  listParked: [
    [[], 'the table of listParked must be a text, not undefined'],
    [['t', 'x'], "the limit of listParked must be a whole number above 0, not 'x'"],
    [['t', 1.5], 'the limit of listParked must be a whole number above 0, not 1.5'],
  ],
  replayParked: [
    [[], /^the cell of replayParked must be one of those that listParked returns, not undefined/],
    [[CELL], /^the cell of replayParked must be one of those that listParked returns, not \{ tabl/],
  ],
};

const IN_TRANSACTION: Partial<Record<keyof Transaction, readonly Case[]>> = {
  get: [
    [[], `${A_CELL}undefined`],
    [['x'], `${A_CELL}'x'`],
    [[{ ...CELL, row: 5 }], `${A_CELL}{ table: 't', row: 5, column: 'c' }`],
    [[{ ...CELL, colum: 'd' }], `${A_CELL}{ table: 't', row: 'r', column: 'c', colum: 'd' }`],
  ],
  getRow: [
    [[], 'the options of getRow must be an object, not undefined'],
    [[{ table: 't' }], 'row must be a text, not undefined'],
    [[{ table: 't', row: '' }], 'a row key must not be empty'],
    [[{ table: 't', row: 'r', columns: 'c' }], "columns must be a list of texts, not 'c'"],
    [[CELL], 'getRow has no option column; it has table, row, columns'],
  ],
  getMany: [
    [[], 'the cells of getMany must be a list, not undefined'],
    [[CELL], /^the cells of getMany must be a list, not \{ table: 't'/],
    [[[5]], `${A_CELL}5`],
  ],
  set: [
    [[undefined, 'v'], `${A_CELL}undefined`],
    [[{ row: 'r' }, 'v'], `${A_CELL}{ row: 'r' }`],
    [[{ ...CELL, value: 'v' }, 'v'], `${A_CELL}{ table: 't', row: 'r', column: 'c', value: 'v' }`],
    [
      [CELL],
      'the value of a cell must be a text or bytes in a Uint8Array (delete removes a value), not undefined',
    ],
    [
      [CELL, 5],
      'the value of a cell must be a text or bytes in a Uint8Array (delete removes a value), not 5',
    ],
  ],
  delete: [
    [[], `${A_CELL}undefined`],
    [[{ ...CELL, at: 5 }], `${A_CELL}{ table: 't', row: 'r', column: 'c', at: 5 }`],
  ],
  lock: [
    [[], `${A_CELL}undefined`],
    [[{ ...CELL, at: 5 }], `${A_CELL}{ table: 't', row: 'r', column: 'c', at: 5 }`],
  ],
  notifyWeakly: [[[5], `${A_CELL}5`]],
  scan: [
    [[], 'the options of scan must be an object, not undefined'],
    [['t'], "the options of scan must be an object, not 't'"],
    [[{ columns: ['c'] }], 'table must be a text, not undefined'],
    [[{ table: 't', columns: 'c' }], "columns must be a list of texts, not 'c'"],
    [
      [{ table: 't', columns: ['c'], reversed: true }],
      /^scan has no option reversed; it has table/,
    ],
    [[{ table: 't', columns: ['ack_o:c'] }], /^column ack_o:c: names that begin with ack_ are /],
    [[{ table: 't', limit: 0 }], 'limit must be a whole number above 0, not 0'],
    [[{ table: 't', reverse: 'yes' }], "reverse must be true or false, not 'yes'"],
    [[{ table: 't', prefix: 5 }], 'prefix must be a text, not 5'],
    [[{ table: 't', prefix: '\uD800' }], 'prefix "\\ud800" is not well-formed Unicode'],
    [[{ table: 't', keysOnly: 1 }], 'keysOnly must be true or false, not 1'],
    [[{ table: 't', signal: true }], 'signal must be an AbortSignal, not true'],
    [[{ table: 't', columns: ['c'], batchRows: 0 }], /^batchRows must be a whole number above 0, /],
    [[{ table: 't', columns: ['c'], start: 5 }], 'start must be a text, not 5'],
  ],
};

/** These return no promise, so a wrong argument makes the call itself throw. */
const IN_THIS_TURN = new Set([
  'changes',
  'cells',
  'watch',
  'startWorker',
  'startCollector',
  'set',
  'delete',
  'notifyWeakly',
  'scan',
]);

describe('a wrong argument is refused by a sentence', () => {
  for (const [given, message] of OPENING) {
    test(`of openPercolator: ${titleOf(message)}`, async () => {
      const folder = join(temporaryFolder(), 'store');
      const [options] = given;
      const inFolder = namesFolder(options) ? { ...(options as object), folder } : options;
      const opened = openPercolator(inFolder as Untyped);
      await assert.rejects(opened, { code: 'INVALID_ARGUMENT', message });
      assert.ok(!existsSync(folder), 'nothing was made');
    });
  }

  for (const [method, cases] of Object.entries(METHODS)) {
    for (const [given, message] of cases) {
      test(`of ${method}: ${titleOf(message)}`, async () => {
        const store = createMemoryBigtable();
        await using percolator = await openPercolator({ store });
        await percolator.createTable('t');
        await percolator.transact(async (transaction) =>
          transaction.set({ table: 't', row: 'r', column: 'c' }, 'old'),
        );
        await percolator.settled();
        const before = await contentOf(store);
        await refuses(percolator, method, given, message);
        assert.deepEqual(await contentOf(store), before);
      });
    }
  }

  for (const [method, cases] of Object.entries(IN_TRANSACTION)) {
    for (const [given, message] of cases) {
      test(`of a transaction's ${method}: ${titleOf(message)}`, async () => {
        await using percolator = await openPercolator({ store: createMemoryBigtable() });
        await using transaction = await percolator.begin();
        await refuses(transaction, method, given, message);
        assert.equal(await transaction.commit(), transaction.startTimestamp, 'no write is kept');
      });
    }
  }

  test('of openEmbedded', async () => {
    const code = 'INVALID_ARGUMENT';
    const folder = join(temporaryFolder(), 'store');
    const wrong = { folder, readonly: true };
    await assert.rejects(openEmbedded({} as Untyped), {
      code,
      message: 'folder must be a text that is not empty, not undefined',
    });
    await assert.rejects(openEmbedded(wrong), {
      code,
      message: 'openEmbedded has no option readonly; it has folder, fsync, readOnly, own, salvage',
    });
    assert.ok(!existsSync(folder), 'nothing was made');
  });
});

test('an option that is undefined counts as not given', async () => {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store, folder: undefined, prefetch: undefined });
  await percolator.createTable('t', { splits: undefined });
  await assert.doesNotReject(percolator.transact(async () => {}, { kind: undefined }));
});

async function refuses(
  object: object,
  method: string,
  given: readonly unknown[],
  message: string | RegExp,
): Promise<void> {
  const refusal = { name: 'PercolatorError', code: 'INVALID_ARGUMENT', message };
  const call = (): unknown => (Reflect.get(object, method) as Function).apply(object, [...given]);
  if (IN_THIS_TURN.has(method)) assert.throws(call, refusal);
  else await assert.rejects(call() as Promise<unknown>, refusal);
}

/** Whether the folder is 'f', which stands for a folder that does not exist yet. */
function namesFolder(given: unknown): boolean {
  return typeof given === 'object' && given !== null && Reflect.get(given, 'folder') === 'f';
}

/** The names of all tables, the cells of the user's table, and its notifications. */
async function contentOf(store: Bigtable): Promise<unknown> {
  const families = TABLE_FAMILIES.map((family) => ({ family }));
  const notified = NOTIFY_FAMILIES.map((family) => ({ family }));
  return [
    await store.listTables(),
    await store.readRange('t', { limit: 10 }, families),
    await store.readRange(notifyTable('t'), { limit: 10 }, notified),
  ];
}

function titleOf(message: string | RegExp): string {
  return String(message).slice(0, 60);
}
