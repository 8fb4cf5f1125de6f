/** The benchmark at smoke size, run as a user would run it. Speed is not tested. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { readRunRecord } from '#results';
import { temporaryFolder } from '#engine/testing';
import { asConfig } from '../harness/engine-settings.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const folder = temporaryFolder();

async function run(
  options: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ exitCode: number | undefined; stdout: string; stderr: string }> {
  const ended = await execaNode(MAIN, options, { reject: false, env });
  return { exitCode: ended.exitCode, stdout: ended.stdout, stderr: ended.stderr };
}

const smokeFolder = path.join(folder, 'smoke');
const smoke = await run(['--profile', 'smoke', '--out', smokeFolder]);

test('conditional mutations that share an RPC are measured off and on, or there is a limitation', async () => {
  const out = path.join(folder, 'conditional');
  const options = ['--profile', 'smoke', '--figure-only'];
  const { exitCode, stdout, stderr } = await run([...options, '--conditional-batch', '--out', out]);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  const { findings, limitations } = readRunRecord(out);
  assert.match(limitations[0] ?? '', /^Not measured: (?:emulator\.|conditional .* on emulator)/);
  assert.match(stderr, /^Not measured: (?:emulator\.|conditional .* on emulator)/m);
  const tables = findings?.tables ?? [];
  const rows = tables.find(({ name }) => name === 'conditional-batch')?.rows ?? [];
  assert.deepEqual(
    rows.map((row) => row.slice(0, 3)),
    [
      ['embedded', 1, 'off'],
      ['embedded', 4, 'off'],
      ['embedded', 1, 'on'],
      ['embedded', 4, 'on'],
    ],
  );
  for (const [, , , off, on] of rows) assert.ok(Number(off) > 0 && Number(on) > 0);
});

describe('the smoke profile', () => {
  const out = smokeFolder;
  const { exitCode, stdout, stderr } = smoke;
  const stores = stderr.includes('Not measured: emulator')
    ? ['embedded']
    : ['embedded', 'emulator'];

  test('prints our table next to the paper’s, and every target', () => {
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    assert.match(stderr, /^Plan: embedded and emulator, 600 rows, 3 repeats of each case/m);
    assert.match(stdout, /^ +paper +read +15,513 +14,590 +0\.941/m);
    assert.match(stdout, /^ +paper +write +31,003 +7,232 +0\.233/m);
    assert.match(stdout, /^ +paper +write +1 raw read \+ 2 raw writes +129 +138 +9\.30 +0\.933/m);
    for (const store of stores) {
      assert.match(stdout, new RegExp(`^ +${store} +read +[\\d,]+ +[\\d,]+ +\\d`, 'm'));
      for (const what of ['reads', 'writes']) {
        assert.match(stdout, new RegExp(`^ +not judged +${store}, ${what}: `, 'm'));
      }
    }
    assert.match(stdout, /^Checked: on every store/m);
  });

  test('leaves a finished record with tables for every store', () => {
    const record = readRunRecord(out);
    assert.equal(record.state, 'finished');
    assert.equal(record.findings?.check.passed, true);
    const tables = new Map(record.findings?.tables.map((table) => [table.name, table]));
    for (const name of ['figure-8', 'decomposition', 'processor', 'messages', 'cells', 'readers']) {
      const named = new Set(tables.get(name)?.rows.map(([store]) => store));
      for (const store of stores) assert.ok(named.has(store), `${name}: ${store}`);
    }
    for (const { name, columns, rows } of tables.values()) {
      assert.ok(
        rows.every((row) => row.length === columns.length),
        name,
      );
    }
  });

  test('counts two conditional mutations for a transaction of one cell, and one read for a read', () => {
    const calls = (of: string): number => callsOf(out, of);
    assert.equal(calls('raw read'), 1);
    assert.equal(calls('raw write'), 1);
    // Now and then the database renews the lease that keeps what its snapshots read.
    assert.ok(calls('Percolator read') >= 1 && calls('Percolator read') < 1.1);
    assert.ok(calls('Percolator write') >= 2 && calls('Percolator write') < 2.1);
  });

  test('leaves the results and nothing else', () => {
    const files = readdirSync(out).toSorted();
    assert.ok(files.includes('figure-8.png') && files.includes('figure-8.csv'));
    assert.deepEqual(
      files.filter((file) => !/\.(?:csv|png|svg)$/.test(file)),
      ['report.html', 'run.json'],
    );
  });
});

describe('a run', () => {
  test('with --profile-cpu reports where the time goes, and keeps the profiles', async () => {
    const out = path.join(folder, 'profiled');
    const options = ['--profile', 'smoke', '--store', 'embedded', '--figure-only', '--profile-cpu'];
    const { exitCode, stdout, stderr } = await run([...options, '--out', out]);
    assert.equal(exitCode, 0, stderr);
    const [, columns] = /^Where the client’s CPU time goes:\n(.*)$/m.exec(stdout) ?? [];
    assert.match(columns ?? '', /storage client +engine +.*client CPU us +server CPU us/);
    assert.match(stdout, /^ +embedded +Percolator write +[\d.]+ +[1-9]/m);
    assert.ok(existsSync(path.join(out, 'embedded-percolator-write.cpuprofile')));
    assert.doesNotMatch(stdout, /Transactions that conflict/);
  });

  test('with the config of ./run.sh tune reads for several callers in one call', async () => {
    const out = path.join(folder, 'tuned');
    const config = path.join(folder, 'config.json');
    const tuned = { batchDelay: 1, batchRows: 256, batchInFlight: 8, scanners: 2 } as const;
    const values = asConfig({ ...tuned, batching: 'on', prefetch: 'learn' });
    writeFileSync(config, JSON.stringify(values));
    const options = ['--profile', 'smoke', '--store', 'embedded', '--figure-only'];
    const { exitCode, stderr } = await run([...options, '--config', config, '--out', out]);
    assert.equal(exitCode, 0, stderr);
    assert.ok(callsOf(out, 'Percolator read') < 0.5);
  });

  test('reports a store that does not answer in one line, and the others keep their numbers', async () => {
    const out = path.join(folder, 'missing');
    const options = ['--profile', 'smoke', '--figure-only', '--out', out];
    const unreachable = { BIGTABLE_EMULATOR_HOST: '127.0.0.1:1' };
    const { exitCode, stdout, stderr } = await run(options, unreachable);
    assert.equal(exitCode, 0, stderr);
    assert.match(stderr, /^Not measured: emulator\. .*127\.0\.0\.1:1/m);
    assert.match(readRunRecord(out).limitations[0] ?? '', /^Not measured: emulator\./);
    assert.match(stdout, /^ +embedded +read/m);

    const alone = [...options, '--store', 'emulator', '--out', path.join(folder, 'alone')];
    const refused = await run(alone, unreachable);
    assert.equal(refused.exitCode, 2);
    assert.match(refused.stderr, /^--store: no Bigtable answers at 127\.0\.0\.1:1: .*$/);
    assert.equal(existsSync(path.join(folder, 'alone')), false);
  });
});

/** Calls of the embedded store per operation, according to the record. */
function callsOf(out: string, operation: string): number {
  const table = readRunRecord(out).findings?.tables.find(({ name }) => name === 'messages');
  const row = table?.rows.find(([store, name]) => store === 'embedded' && name === operation);
  return Number(row?.[2]);
}
