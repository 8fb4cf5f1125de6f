/**
 * The claims of the audit of a database of which some bytes are lost: it names each row that is
 * hit, judges all others, concludes nothing from what it cannot read, and repairs nothing of it.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hasCode } from './base/index.ts';
import { type Bigtable, decorate } from './bigtable/index.ts';
import { openEmbedded } from './bigtable/embedded/index.ts';
import { DamagedRows, type Finding } from './audit/index.ts';
import { fsck, type FsckOptions } from './fsck.ts';
import { openPercolator } from './percolator.ts';
import { temporaryFolder } from './testing/index.ts';
import { lockOf, plantLease, summaryOf } from './testing/planting.ts';
import { CELLS, NOTIFY, notifyTable, placeOf, type ScanRange } from './transaction/index.ts';

const liveness = { self: 'auditor', isDead: (token: string) => token.startsWith('dead') };
/** More than a batch, so that the audit goes on after a damaged one. */
const ROWS = Array.from({ length: 200 }, (_, i) => `row ${String(i).padStart(3, '0')}`);

/** Two tables; every row has a value that is nowhere else, such as `log of row 017`. */
async function filledFolder(plant?: (store: Bigtable) => Promise<void>): Promise<string> {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await using percolator = await openPercolator({ store });
  await percolator.createTable('accounts', { observedColumns: ['balance'] });
  await percolator.createTable('log');
  await plant?.(store); // Before the rows: damage at the end of a log is taken for a torn group.
  await percolator.transact(async (transaction) => {
    for (const row of ROWS) {
      transaction.set({ table: 'accounts', row, column: 'balance' }, `balance of ${row}`);
      transaction.set({ table: 'log', row, column: 'line' }, `log of ${row}`);
    }
  });
  await percolator.settled();
  return folder;
}

/** Changes a bit of the newest record that has this text, or of an older one. */
function harm(folder: string, text: string, which = 1): void {
  const files = readdirSync(join(folder, 'store')).filter((name) => name.endsWith('.log'));
  for (const name of files.toSorted().toReversed()) {
    const file = join(folder, 'store', name);
    const log = readFileSync(file);
    let at = log.lastIndexOf(text);
    for (let i = 1; i < which; i++) at = log.lastIndexOf(text, at - 1);
    if (at === -1) continue;
    log.writeUInt8(log.readUInt8(at) ^ 1, at);
    writeFileSync(file, log);
    return;
  }
  assert.fail(`no record has ${text}`);
}

function set(
  store: Bigtable,
  table: string,
  { row, value, ...place }: { row: string; family: string; qualifier: string; value: string },
): Promise<void> {
  const cell = { ...place, timestamp: 1, value: Buffer.from(value) };
  return store.mutateRows([{ table, row, mutations: [{ kind: 'set', ...cell }] }]);
}

async function audited(folder: string, options: FsckOptions = {}, readOnly = true) {
  await using store = await openEmbedded({ folder, readOnly });
  const audit = await fsck(store, { liveness, ...options });
  const findings = await Array.fromAsync(audit);
  return { findings, summaries: findings.map(summaryOf), counters: audit.counters };
}

function placesOf(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ code, cell: { table, row } }) => {
    return `${code} ${table}${row === undefined ? '' : `/${row}`}`;
  });
}

test('each damaged row is named, and all others are read', async () => {
  const folder = await filledFolder();
  for (const text of ['log of row 000', 'log of row 070', 'log of row 071', 'log of row 199']) {
    harm(folder, text);
  }
  harm(folder, 'balance of row 100');
  const { findings, summaries, counters } = await audited(folder);
  assert.deepEqual(summaries.toSorted(), [
    'error row-damaged row 000 @',
    'error row-damaged row 070 @',
    'error row-damaged row 071 @',
    'error row-damaged row 100 @',
    'error row-damaged row 199 @',
  ]);
  const tables = findings.map(({ cell }) => cell.table);
  assert.deepEqual(tables, ['accounts', 'log', 'log', 'log', 'log']);
  for (const { sentence } of findings) {
    assert.match(sentence, /^the embedded store is damaged: 0+1\.log, byte \d+: .*checksum$/);
  }
  assert.equal(counters.rows, 2 * ROWS.length - 5);
});

test('a table of which every row is damaged is audited to its end', async () => {
  const folder = await filledFolder();
  for (const row of ROWS) harm(folder, `log of ${row}`);
  const { findings, counters } = await audited(folder);
  assert.equal(findings.length, ROWS.length);
  assert.equal(counters.rows, ROWS.length);
});

test('other findings are made as before, next to damaged rows', async () => {
  const data = { ...placeOf('data', 'line'), value: 'of no transaction' };
  const folder = await filledFolder((store) => set(store, 'log', { row: 'row 071', ...data }));
  harm(folder, 'log of row 070');
  const { summaries } = await audited(folder);
  assert.deepEqual(summaries.toSorted(), [
    'error data-without-record row 071:line @ 1',
    'error row-damaged row 070 @',
  ]);
});

test('damaged notifications are no lost notification, and notifications of a damaged row are not judged', async () => {
  const companion = notifyTable('accounts');
  const notification = {
    row: 'row 003',
    family: NOTIFY,
    qualifier: 'balance',
    value: 'the notification',
  };
  const folder = await filledFolder((store) => set(store, companion, notification));
  harm(folder, 'the notification');
  harm(folder, 'balance of row 100');
  const { findings } = await audited(folder, { tables: ['accounts'] });
  assert.deepEqual(
    placesOf(findings).toSorted(),
    [`row-damaged ${companion}/row 003`, 'row-damaged accounts/row 100'].toSorted(),
  );
});

test('a lock whose primary is in a damaged row is not judged; the row is named, whatever table is audited', async () => {
  const value = lockOf('log/row 070:line', 'dead');
  const lock = { row: 'row 500', ...placeOf('lock', 'balance'), value };
  const folder = await filledFolder((store) => set(store, 'accounts', lock));
  harm(folder, 'log of row 070');
  const { findings } = await audited(folder, { tables: ['accounts'] });
  assert.deepEqual(placesOf(findings), ['row-damaged log/row 070']);
});

test("damaged rows of the database's own tables are named, and every table is audited", async () => {
  const place = { family: 'table', qualifier: 'other' };
  let identity = '';
  const folder = await filledFolder(async (store) => {
    await plantLease(store, 'reader#1', '{"bound":5,"ttlMs":1,"says":"this lease"}');
    await set(store, 'percolator-tables', { row: 'log', ...place, value: 'this definition' });
    const filter = { family: 'oracle', qualifier: 'identity' };
    const oracle = await store.readRow('timestamp-oracle', 'range', [filter]);
    identity = Buffer.from(oracle?.cells[0]?.value ?? []).toString();
  });
  harm(folder, 'this lease');
  harm(folder, 'this definition');
  harm(folder, identity);
  harm(folder, 'log of row 070');
  for (const repair of [false, true]) {
    const { findings, counters } = await audited(folder, { repair }, !repair);
    const damaged = findings.filter(({ code }) => code === 'row-damaged');
    const cells = damaged.map(({ cell }) => `${cell.table}/${cell.row}`);
    assert.deepEqual(cells.toSorted(), [
      'log/row 070',
      'percolator-leases/reader#1',
      'percolator-tables/log',
      'timestamp-oracle/range',
    ]);
    const others = findings.filter(({ code }) => code !== 'row-damaged').map(summaryOf);
    assert.deepEqual(others, ['error table-undefined log @']);
    assert.equal(counters.rows, 2 * ROWS.length - 1);
    const sentences = findings.map(({ sentence }) => sentence).join('\n');
    assert.match(sentences, /nothing is repaired/);
    assert.match(sentences, /^log has a definition that is not legible; .*restore the store/m);
  }
});

test('a repair leaves damaged rows as they are', async () => {
  const folder = await filledFolder();
  harm(folder, 'log of row 070');
  const { findings } = await audited(folder, { repair: true }, false);
  assert.deepEqual(
    findings.map(({ code, repair }) => ({ code, repair })),
    [{ code: 'row-damaged', repair: { done: false, note: 'its bytes are lost' } }],
  );
  assert.equal((await audited(folder)).findings.length, 1);
});

test('a storage that does not name the row costs the rest of that table, and no other', async () => {
  const folder = await filledFolder();
  harm(folder, 'log of row 070');
  harm(folder, 'balance of row 100');
  await using store = await openEmbedded({ folder, readOnly: true });
  const nameless: Bigtable = decorate(store, {
    async readRange(...given) {
      try {
        return await store.readRange(...given);
      } catch (error) {
        throw hasCode(error, 'STORE_DAMAGED') ? error.cause : error;
      }
    },
  });
  const findings = await Array.fromAsync(await fsck(nameless, { liveness }));
  assert.deepEqual(placesOf(findings), ['row-damaged accounts', 'row-damaged log']);
});

test('the audit reads around damaged rows also in reverse, and up to any limit', async () => {
  const folder = await filledFolder();
  for (const row of ['070', '071', '199']) harm(folder, `log of row ${row}`);
  await using store = await openEmbedded({ folder, readOnly: true });
  const whole = ROWS.filter((row) => !/070|071|199/.test(row));
  for (const limit of [1, 128, 129, 130, Infinity]) {
    const damaged = new DamagedRows(store);
    const range = { limit, reverse: true };
    const rows = await damaged.store.readRange('log', range, [{ family: CELLS }]);
    assert.deepEqual(
      rows.map(({ key }) => key),
      whole.toReversed().slice(0, limit),
    );
  }
});

test('all other rows can be read by scans around a damaged one', async () => {
  const folder = await filledFolder();
  harm(folder, 'log of row 070');
  await using percolator = await openPercolator({ folder });
  await using snapshot = await percolator.snapshot();
  const scan = async (range: Omit<ScanRange, 'table'>): Promise<readonly string[]> => {
    const rows = await Array.fromAsync(
      snapshot.scan({ table: 'log', ...range, columns: ['line'] }),
    );
    return rows.map(({ row }) => row);
  };
  for (const reverse of [false, true]) {
    await assert.rejects(scan({ reverse }), {
      code: 'STORE_DAMAGED',
      message: /^row "row 070" of table log cannot be read: the embedded store is damaged: /,
    });
    const before = await scan({ end: 'row 070', reverse });
    const after = await scan({ start: 'row 070\0', reverse });
    const others = ROWS.toSpliced(70, 1);
    assert.deepEqual(
      reverse ? [...after, ...before] : [...before, ...after],
      reverse ? others.toReversed() : others,
    );
  }
});

describe('a store that is damaged so that it cannot be opened is audited as far as it can be read:', () => {
  const LOG = '0000000001.log';
  const change = (store: string, name: string, changed: (bytes: Buffer) => Buffer): void => {
    writeFileSync(join(store, name), changed(readFileSync(join(store, name))));
  };
  const flipped = (bytes: Buffer, at: number): Buffer => {
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    return bytes;
  };
  const removeIndex = (store: string): void => rmSync(join(store, 'index'));
  const ALL = 2 * ROWS.length;
  /** What is done to the store, how many rows are read at least, and what a finding says. */
  const harms: Readonly<Record<string, readonly [(store: string) => void, number, RegExp]>> = {
    'a bit of the first group': [
      (store) => change(store, LOG, (log) => flipped(log, 0)),
      ALL,
      /0+1\.log, bytes 0 to \d+: a group is not intact/,
    ],
    'a bit in the middle, and no index': [
      (store) => {
        removeIndex(store);
        change(store, LOG, (log) => flipped(log, log.lastIndexOf('log of row 070')));
      },
      ALL - 1,
      /it has cost row "row 070" of log, unless the damage is in a key/,
    ],
    'a bit of the list of tables': [
      (store) => change(store, LOG, (log) => flipped(log, log.lastIndexOf('"nextId"') + 1)),
      ALL,
      /the list of tables is damaged: legible are .*accounts.*log/,
    ],
    'a bit of a definition, and no index': [
      (store) => {
        removeIndex(store);
        change(store, LOG, (log) => flipped(log, log.lastIndexOf('"state":"there"') + 3));
      },
      ALL,
      /it has cost row "log" of percolator-tables/,
    ],
    'the end of the log is gone': [
      (store) => change(store, LOG, (log) => log.subarray(0, Math.floor(log.length * 0.8))),
      20,
      /0+1\.log, bytes \d+ to \d+: the file ends too early; it has cost rows /,
    ],
    'the newest file is gone': [
      (store) => rmSync(join(store, '0000000002.log')),
      ALL - 1,
      /0+1\.log, byte \d+: the log ends before (?:its index does|it did when the store was closed)/,
    ],
    'the oldest file is gone': [
      (store) => rmSync(join(store, LOG)),
      0,
      /0+1\.log, bytes 0 to \d+: the file is missing; it has cost rows /,
    ],
    'a part of the log is zeroes, and there is no index': [
      (store) => {
        removeIndex(store);
        change(store, LOG, (log) => log.fill(0, log.length >> 1, Math.floor(log.length * 0.8)));
      },
      20,
      /what else was there cannot be told: a row may be missing/,
    ],
    'a bit of the index and one of the log': [
      (store) => {
        change(store, 'index', (index) => flipped(index, index.length >> 1));
        change(store, LOG, (log) => flipped(log, log.lastIndexOf('log of row 070')));
      },
      ALL - 1,
      /the file index cannot be used: it would tell what is lost/,
    ],
    'a folder has the name of a file': [
      (store) => mkdirSync(join(store, '0000000003.log')),
      ALL,
      /0+3\.log is left out: .* is no file: move it elsewhere/,
    ],
  };
  for (const [what, [harmStore, rowsMin, sentence]] of Object.entries(harms)) {
    test(what, async () => {
      const folder = await filledFolder();
      {
        await using percolator = await openPercolator({ folder });
        await percolator.transact(async (transaction) => {
          transaction.set({ table: 'accounts', row: 'row 199', column: 'rating' }, 'good');
        });
      }
      harmStore(join(folder, 'store'));
      await assert.rejects(openEmbedded({ folder, readOnly: true }));
      await using store = await openEmbedded({ folder, readOnly: true, salvage: true });
      const audit = await fsck(store, { liveness });
      const findings = await Array.fromAsync(audit);
      const { rows } = audit.counters;
      assert.ok(rowsMin <= rows && rows <= ALL, `${rows} rows`);
      const told = findings.filter(({ code }) => code === 'store-damaged');
      assert.ok(told.some(({ severity }) => severity === 'error'));
      assert.match(told.map((finding) => finding.sentence).join('\n'), sentence);
      const isMissing = findings.some(({ code }) => code === 'engine-table-missing');
      assert.equal(isMissing, false, 'a table is not missing because its name is lost');
    });
  }
});

test('damage where nothing is in use is a warning', async () => {
  const folder = await filledFolder();
  harm(folder, '"name":"log","families"', 2); // A newer list of tables has its companion, too.
  await using store = await openEmbedded({ folder, readOnly: true, salvage: true });
  const findings = await Array.fromAsync(await fsck(store, { liveness }));
  assert.deepEqual(placesOf(findings), ['store-damaged ']);
  assert.match(findings[0]?.sentence ?? '', /a group is not intact; .*no row in use is lost$/);
  assert.equal(findings[0]?.severity, 'warning');
});

test('salvage is for reading', async () => {
  await assert.rejects(openEmbedded({ folder: temporaryFolder(), salvage: true }), {
    code: 'INVALID_ARGUMENT',
    message: /^salvage must come with readOnly: /,
  });
});
