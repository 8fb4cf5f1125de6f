/** `percolator changes`, `backup` and `restore`, as users call them while other processes write. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { text as textFrom } from 'node:stream/consumers';
import { test } from 'node:test';
import { openPercolator } from '../percolator.ts';
import { cell, put, temporaryFolder, until } from '../testing/index.ts';
import { MAIN } from './program.fixture.ts';

interface Line {
  readonly kind?: string;
  readonly row?: string;
  readonly value?: unknown;
  readonly cursor: string;
  readonly op?: string;
}

async function linesOf(folder: string, ...words: readonly string[]): Promise<readonly Line[]> {
  const { lines, exited } = start(folder, words);
  const all = (await Array.fromAsync(lines)).map((line) => JSON.parse(line) as Line);
  assert.deepEqual(await exited, [0, null]);
  return all;
}

function start(folder: string, words: readonly string[]) {
  const { child, exited } = startUnread(folder, words);
  return { child, lines: createInterface(child.stdout), exited };
}

function startUnread(folder: string, words: readonly string[]) {
  const all = [MAIN, 'changes', ...words, '--store', path.join(folder, 'data')];
  const child = spawn(process.execPath, all, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  return { child, exited: once(child, 'exit') };
}

test('percolator changes prints lines, goes on from a cursor, and follows until it is interrupted', async () => {
  const folder = temporaryFolder();
  await using percolator = await openPercolator({ folder: path.join(folder, 'data') });
  await percolator.createTable('t');
  const write = (values: Parameters<typeof put>[1]): Promise<void> =>
    percolator.transact(async (transaction) => put(transaction, values));
  await write({ x: 'one', y: 'two' });
  await percolator.transact(async (transaction) =>
    transaction.set(cell('x'), new Uint8Array([255])),
  );
  const all = await linesOf(folder, 't', '--from', '0');
  assert.deepEqual(
    all.map(({ kind, row, value }) => [kind, row, value]),
    [
      ['change', 'x', 'one'],
      ['change', 'y', 'two'],
      ['change', 'x', { base64: '/w==' }],
      ['resolved', undefined, undefined],
    ],
  );
  const [first] = all;
  assert.ok(first !== undefined);
  const envelopes = await linesOf(folder, 't', '--from', first.cursor, '--debezium');
  assert.deepEqual(
    envelopes.map(({ op, kind }) => op ?? kind),
    ['c', 'u', 'resolved'],
  );
  const { child, lines, exited } = start(folder, ['t', '--follow']);
  const reader = lines[Symbol.asyncIterator]();
  await reader.next(); // It has begun.
  await write({ z: 'three' });
  let line = JSON.parse((await reader.next()).value as string) as Line;
  while (line.kind !== 'change') line = JSON.parse((await reader.next()).value as string) as Line;
  assert.deepEqual([line.row, line.value], ['z', 'three']);
  child.kill('SIGINT');
  assert.deepEqual(await exited, [0, null]);
});

test('percolator changes without a beginning says that there is only the cursor of now', async () => {
  const folder = temporaryFolder();
  const store = ['--store', path.join(folder, 'data')];
  await output(folder, 'tables', 'create', 't', ...store);
  const { text, errors, code } = await output(folder, 'changes', 't', ...store);
  assert.equal(code, 0);
  assert.match(text, /^\{"kind":"resolved",.*\}\n$/, 'once');
  assert.equal(
    errors,
    'percolator changes: this is the cursor of now; --from 0 prints all changes that are kept, and --follow those to come.\n',
  );
});

test('percolator changes is interrupted also while nothing reads what it prints', async () => {
  const folder = temporaryFolder();
  await using percolator = await openPercolator({ folder: path.join(folder, 'data') });
  await percolator.createTable('t');
  const rows = Array.from({ length: 2_000 }, (_, i) => [`row ${i}`, 'x'.repeat(1_000)] as const);
  await percolator.transact(async (transaction) => put(transaction, Object.fromEntries(rows)));
  const { child, exited } = startUnread(folder, ['t', '--from', '0', '--follow']);
  await once(child.stdout, 'readable');
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});

test('percolator backup makes a series, and restore brings it back, also as of an earlier time', async () => {
  const folder = temporaryFolder();
  const store = (name: string): readonly string[] => ['--store', path.join(folder, name)];
  const write = async (values: Parameters<typeof put>[1]): Promise<void> => {
    await using percolator = await openPercolator({ folder: path.join(folder, 'data') });
    await percolator.createTable('t');
    await percolator.transact(async (transaction) => put(transaction, values));
  };
  await write({ x: 'one' });
  const series = path.join(folder, 'backups');
  const first = await output(
    folder,
    'backup',
    '--to',
    series,
    '--keep-hours',
    '1',
    ...store('data'),
  );
  const [, at = ''] = /full up to (\d+), 1 cells, \d+ bytes/.exec(first.text) ?? [];
  assert.ok(at !== '', first.text);
  await write({ x: 'two', y: 'three' });
  const second = await output(folder, 'backup', '--to', series, ...store('data'));
  assert.match(second.text, /changes since \d+ up to \d+, 2 cells/);
  const now = await output(folder, 'restore', '--from', series, ...store('again'));
  assert.match(now.text, /^1 tables as of \d+, 2 cells: t\n$/);
  const earlier = await output(
    folder,
    'restore',
    '--from',
    series,
    '--at',
    at,
    ...store('earlier'),
  );
  assert.match(earlier.text, /1 cells/);
  const scanned = await output(folder, 'scan', 't', ...store('earlier'));
  assert.equal(scanned.text, 'x\tc\tone\n');
  const refused = await output(folder, 'restore', '--from', series, ...store('again'));
  assert.equal(refused.code, 2);
  assert.match(refused.errors, /table t exists: restore into another database/);
});

test('percolator backup that is interrupted leaves nothing', async () => {
  const folder = temporaryFolder();
  const store = path.join(folder, 'data');
  {
    await using percolator = await openPercolator({ folder: store });
    await percolator.createTable('t');
    const rows = Array.from({ length: 4_000 }, (_, i) => [`row ${i}`, 'x'.repeat(5_000)] as const);
    await percolator.transact(async (transaction) => put(transaction, Object.fromEntries(rows)));
  }
  const series = path.join(folder, 'backups');
  const child = spawn(process.execPath, [MAIN, 'backup', '--to', series, '--store', store]);
  const [exited, told] = [once(child, 'exit'), textFrom(child.stderr)];
  // As soon as its file is there: most of it is still to be written.
  await until(() => existsSync(series) && readdirSync(series).length > 0);
  child.kill('SIGINT');
  const [code] = (await exited) as [number | null];
  const isTooLate = code === 0; // On a machine that is fast enough.
  if (!isTooLate) {
    assert.equal(code, 1);
    assert.equal(await told, 'percolator backup: it was interrupted, and nothing is left of it.\n');
  }
  assert.equal(readdirSync(series).length, isTooLate ? 1 : 0);
});

test('percolator restore makes no store for what cannot be restored', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'one.backup');
  writeFileSync(file, 'no backup\n');
  const store = path.join(folder, 'data');
  const { code, errors } = await output(folder, 'restore', '--from', file, '--store', store);
  assert.equal(code, 1);
  assert.match(errors, /one\.backup cannot be used: line 1 is not what was written/);
  assert.ok(!existsSync(store));
});

async function output(
  folder: string,
  ...words: readonly string[]
): Promise<{ readonly text: string; readonly errors: string; readonly code: number | null }> {
  const child = spawn(process.execPath, [MAIN, ...words], { cwd: folder });
  let [text, errors] = ['', ''];
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { text, errors, code };
}
