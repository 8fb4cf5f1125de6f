/**
 * `fsck` as a user runs it: on a sound, a damaged and a repaired store; and its answers to bad
 * input.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { before, describe, test } from 'node:test';
import { openEmbedded, openPercolator } from '#engine';
import type { FsckSummary } from '#engine/host';
import { temporaryFolder } from '#engine/testing';
import { assertRefused, interruptProgram, runProgram } from '../../harness/testing/run-script.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const folder = temporaryFolder();
const STORE = path.join(folder, 'store');
before(async () => {
  await using percolator = await openPercolator({ folder: STORE });
  await percolator.createTable('accounts', { observedColumns: ['balance'] });
  await percolator.createTable('log');
  await percolator.transact(async (transaction) => {
    transaction.set({ table: 'accounts', row: 'Bob', column: 'rating' }, 'good');
    transaction.set({ table: 'log', row: '1', column: 'line' }, 'Bob is good');
  });
  await percolator.settled();
});

const run = (...words: string[]) => runProgram(PROGRAM, words);

async function runJson(...options: string[]): Promise<FsckSummary> {
  const { stdout } = await run('--store', STORE, '--json', ...options);
  return JSON.parse(stdout) as FsckSummary;
}

/** Cells planted by hand in table `accounts`. */
async function plant(
  kind: string,
  cells: readonly { readonly row: string; readonly timestamp: number; readonly value: string }[],
): Promise<void> {
  await using store = await openEmbedded({ folder: STORE });
  await store.mutateRows(
    cells.map(({ row, timestamp, value }) => {
      const qualifier = `rating:${kind}`;
      const cell = { family: 'cells', qualifier, timestamp, value: Buffer.from(value) };
      return { table: 'accounts', row, mutations: [{ kind: 'set', ...cell }] };
    }),
  );
}

/**
 * Plants an hour-old lock whose primary was rolled back, as after a crash in the middle of the
 * rollback.
 */
async function plantLeftLock(row: string): Promise<void> {
  const lock = {
    primary: ['accounts', 'primary', 'rating'],
    operation: 'delete',
    owner: 'another machine/1/1/1',
    wallMs: Date.now() - 3_600_000,
    timeToLiveMs: 5_000,
    heartbeat: 0,
  };
  await plant('rollback', [{ row: 'primary', timestamp: 1, value: '' }]);
  await plant('lock', [{ row, timestamp: 1, value: JSON.stringify(lock) }]);
}

test('a sound store, then with crash leftovers, then damaged, then repaired', async () => {
  const sound = await run('--store', STORE);
  assert.equal(sound.exitCode, 0, sound.stderr);
  assert.match(sound.stdout, /^Audited 2 tables, 2 rows, 4 cells in .*store\n\nClean\.$/);

  await plantLeftLock('Ann');
  const left = await run('--store', STORE);
  assert.equal(left.exitCode, 0, 'warnings are not errors');
  assert.match(left.stdout, /^warning lock-left-rolled-back: 1\. The transaction/m);
  assert.match(
    left.stdout,
    /^Locks held for more than a minute: 1\n {2}accounts\/Ann\/rating +3,6\d\d s +owner another machine/m,
  );
  assert.match(left.stdout, /0 errors, 1 warning\. No error/);

  const numbers = [1, 2, 3, 4, 5, 6, 7];
  await plant(
    'data',
    numbers.map((n) => ({ row: `row ${n}`, timestamp: 1, value: 'of no transaction' })),
  );
  // Row 1 has no rollback record: its transaction may still be in flight, so no repair erases its
  // data.
  await plant(
    'rollback',
    numbers.slice(1).map((n) => ({ row: `row ${n}`, timestamp: 1, value: '' })),
  );
  const damaged = await run('--store', STORE, '--limit', '2');
  assert.equal(damaged.exitCode, 1);
  assert.match(
    damaged.stdout,
    /^error data-without-record: 7\. .*\n {2}accounts\/row 1.*\n.*\n {2}and 5 more$/m,
  );
  assert.match(damaged.stdout, /7 errors, 1 warning\.$/);

  const repairing = await run('--store', STORE, '--repair');
  assert.equal(repairing.exitCode, 1, 'one needs a manual repair');
  assert.match(
    repairing.stdout,
    /row 1\/rating.*\n +not repaired: an operator has to look at it$/m,
  );
  assert.match(repairing.stdout, /row 2\/rating.*\n +repaired: erased$/m);
  assert.match(repairing.stdout, /7 errors, 1 warning; 7 repaired, 1 error left\.$/);

  const { errors, warnings, repaired, groups } = await runJson();
  assert.deepEqual([errors, warnings, repaired], [1, 0, 0]);
  assert.equal(groups[0]?.code, 'data-without-record');
  assert.equal(groups[0]?.examples[0]?.cell.row, 'row 1');
});

test('several tables can be chosen by name', async () => {
  assert.equal((await runJson('--table', 'log')).tables, 1);
  assert.equal((await runJson('--table', 'log', '--table', 'accounts')).tables, 2);
});

test('without --repair no byte of the store changes', async () => {
  const untouched = bytesOf(STORE);
  await run('--store', STORE);
  assert.deepEqual(bytesOf(STORE), untouched);
});

test('a database that another process is using can be audited', async () => {
  await using percolator = await openPercolator({ folder: STORE });
  const over = new AbortController();
  const writing = (async () => {
    for (let i = 0; !over.signal.aborted; i++) {
      await percolator.transact(async (transaction) => {
        transaction.set(
          { table: 'accounts', row: `in use ${i % 7}`, column: 'balance' },
          String(i),
        );
        transaction.set({ table: 'log', row: `in use ${i}`, column: 'line' }, 'written');
      });
    }
  })();
  const { groups } = await runJson('--table', 'log');
  over.abort();
  await writing;
  assert.deepEqual(groups, []);
});

test('damaged rows are listed by table, with how to go on, and no byte of the store changes', async () => {
  const store = path.join(folder, 'damaged rows');
  const rows = Array.from({ length: 300 }, (_, i) => `${i}`.padStart(3, '0'));
  {
    await using percolator = await openPercolator({ folder: store });
    for (const table of ['accounts', 'log']) await percolator.createTable(table);
    await percolator.transact(async (transaction) => {
      for (const row of rows) {
        transaction.set({ table: 'accounts', row, column: 'c' }, `account ${row}`);
        transaction.set({ table: 'log', row, column: 'c' }, `line ${row}`);
      }
    });
  }
  const file = path.join(store, 'store', '0000000001.log');
  const log = readFileSync(file);
  for (const value of ['account 007', 'line 100', 'line 101', 'line 299']) {
    const at = log.lastIndexOf(value);
    log.writeUInt8(log.readUInt8(at) ^ 1, at);
  }
  writeFileSync(file, log);
  const untouched = bytesOf(store);
  const { exitCode, stdout, stderr } = await run('--store', store, '--limit', '2');
  assert.equal(exitCode, 1, stderr);
  assert.match(stdout, /^Audited 2 tables, 596 rows, /);
  assert.match(stdout, /^error row-damaged: 4\. /m);
  assert.match(
    stdout,
    /^ {2}accounts\/007 {2}the embedded store is damaged: 0+1\.log, byte \d+: /m,
  );
  assert.match(stdout, /^Damaged rows\n {2}accounts {2}1\n {2}log {2}3\nAll other rows of these/m);
  assert.match(stdout, /4 errors, 1 warning\.$/);
  assert.deepEqual(bytesOf(store), untouched);
  const repairing = await run('--store', store, '--repair');
  assert.equal(repairing.exitCode, 1, repairing.stderr);
  assert.match(repairing.stdout, /not repaired: its bytes are lost$/m);
  assert.match(repairing.stdout, /; 0 repaired, 4 errors left\.$/);
});

describe('bad input is answered with one sentence and exit code 2:', () => {
  const empty = path.join(folder, 'empty');
  before(() => {
    mkdirSync(empty);
  });
  const mistakes: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /--store must be given/],
    [['--store', path.join(folder, 'nowhere')], /nowhere.* does not exist\.$/],
    [['--store', empty], /empty.* cannot be opened as one: there is no store in it/],
    [['--store', empty, '--repair'], /empty.* cannot be opened as one: /],
    [['--store', 'emulator'], /BIGTABLE_EMULATOR_HOST/],
    [['--store', 'bigtable://p'], /--store: .*bigtable:\/\/project\/instance/],
    [['--store', STORE, '--table', 'acounts'], /acounts; there are accounts, log/],
    [['--store', STORE, '--table', 'log', '--table', ''], /--table/],
    [['--store', STORE, '--limit', '-1'], /--limit.*"-1"/],
  ];
  test('all of it', async () => {
    await assertRefused(PROGRAM, mistakes);
    assert.deepEqual(readdirSync(empty), []);
    assert.equal(existsSync(path.join(folder, 'nowhere')), false);
  });
});

test('a store with a hole in its log is read around the hole', async () => {
  const broken = path.join(folder, 'hole');
  cpSync(STORE, broken, { recursive: true });
  const file = path.join(broken, 'store', '0000000001.log');
  const log = readFileSync(file);
  writeFileSync(file, log.fill(0, log.length >> 2, log.length >> 1));
  const untouched = bytesOf(broken);
  const { exitCode, stdout, stderr } = await run('--store', broken);
  assert.equal(exitCode, 1, stderr);
  assert.match(stdout, /^error row-damaged: \d+\. /m);
  assert.match(stdout, /the embedded store is damaged: 0+1\.log, byte \d+: /);
  assert.match(stdout, /^Damaged rows$/m);
  assert.deepEqual(bytesOf(broken), untouched);
});

test('a store that cannot be opened is audited as far as it can be read, and left as it is', async () => {
  const broken = path.join(folder, 'first group');
  cpSync(STORE, broken, { recursive: true });
  const file = path.join(broken, 'store', '0000000001.log');
  const log = readFileSync(file);
  writeFileSync(file, Buffer.concat([Buffer.from('NEWERLOG'), log.subarray(8)]));
  const untouched = bytesOf(broken);
  const { exitCode, stdout, stderr } = await run('--store', broken);
  assert.equal(exitCode, 1, stderr);
  assert.match(stdout, /^Audited 2 tables, [\d,]+ rows, /);
  assert.match(stdout, /^error store-damaged: 2\. /m);
  assert.match(stdout, /^ {2}store {2}the store cannot be opened as it is: .*0+1\.log, byte 0: /m);
  assert.match(stdout, /^ {2}store {2}0+1\.log, bytes 0 to \d+: .*no row in use is lost$/m);
  assert.match(
    stdout,
    /^only say .* Restore the folder from a backup\. Nothing here was changed\.$/m,
  );
  const repairing = await run('--store', broken, '--repair');
  assert.equal(repairing.exitCode, 1);
  assert.match(repairing.stderr, /cannot be opened: .*0+1\.log, byte 0: .*restore the folder/);
  assert.deepEqual(bytesOf(broken), untouched);
});

test('of a folder whose subfolder holds a store, that one is named', async () => {
  const outer = path.join(folder, 'outer');
  cpSync(STORE, path.join(outer, 'tables'), { recursive: true });
  const { exitCode, stderr } = await run('--store', outer);
  assert.equal(exitCode, 2);
  assert.match(stderr, /there is no store in it, but there is one in .*outer\/tables\.$/);
});

describe('a store of which nothing can be read is named in one sentence, and left as it is:', () => {
  const damage: Readonly<Record<string, readonly [(log: Buffer) => Buffer, RegExp]>> = {
    'of noise': [(log) => Buffer.alloc(log.length, 'noise'), /is damaged: \d+\.log, byte 0: /],
    'that is empty': [() => Buffer.alloc(0), /is damaged: \d+\.log, byte 0: /],
  };
  for (const [name, [harm, sentence]] of Object.entries(damage)) {
    test(`a log ${name}`, async () => {
      const broken = path.join(folder, `log ${name}`);
      cpSync(STORE, broken, { recursive: true });
      const inner = path.join(broken, 'store');
      for (const log of readdirSync(inner).filter((one) => one.endsWith('.log'))) {
        writeFileSync(path.join(inner, log), harm(readFileSync(path.join(inner, log))));
      }
      const untouched = bytesOf(broken);
      for (const options of [[], ['--repair']]) {
        const { exitCode, stderr } = await run('--store', broken, ...options);
        assert.equal(exitCode, 1, stderr);
        assert.match(stderr, sentence);
        assert.equal(stderr.split('\n').filter((line) => /store/.test(line)).length, 1, stderr);
      }
      assert.deepEqual(bytesOf(broken), untouched);
    });
  }

  test('a store of an earlier version', async () => {
    const old = path.join(folder, 'old');
    mkdirSync(old);
    writeFileSync(path.join(old, 'data.mdb'), 'pages');
    const { exitCode, stderr } = await run('--store', old, '--repair');
    assert.equal(exitCode, 2);
    assert.match(
      stderr,
      /it is a store of an earlier version \(data\.mdb\); load its data again\.$/,
    );
    assert.deepEqual(readdirSync(old), ['data.mdb']);
  });
});

test('an audit that is interrupted says so, and never that the database is clean', async () => {
  const primary = ['accounts', 'Zoe', 'rating'];
  const owner = 'another machine/1/1/1';
  const young = { wallMs: Date.now(), timeToLiveMs: 60_000, heartbeat: 0 };
  const lock = { primary, operation: 'delete', owner, ...young };
  await plant('lock', [{ row: 'Zoe', timestamp: 1e6, value: JSON.stringify(lock) }]);
  // fsck looks at the lock again when its time to live is over, a minute later.
  const words = ['--store', STORE, '--table', 'accounts'];
  const startedMs = performance.now();
  const { exitCode, stdout } = await interruptProgram(PROGRAM, words, 'auditing ...');
  assert.equal(exitCode, 130);
  assert.ok(performance.now() - startedMs < 60_000, 'before the minute is over');
  assert.match(stdout, /^Interrupted: the rest of the database was not audited\.$/m);
  assert.doesNotMatch(stdout, /clean|consistent/i);
});

function bytesOf(store: string): readonly (readonly [name: string, hex: string])[] {
  return readdirSync(store, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .filter((name) => statSync(path.join(store, name)).isFile())
    .map((name) => [name, readFileSync(path.join(store, name), 'hex')]);
}
