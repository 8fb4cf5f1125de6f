/** The benchmark at smoke size, run as a user would run it. Speed is not tested. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { readRunRecord, type ResultTable } from '#results';
import { temporaryFolder } from '#engine/testing';
import { mostPrograms } from '../harness/testing/child-processes.ts';
import { processesNaming } from '../harness/testing/processes-naming.ts';
import { tryPostgres } from './postgres/postgres.fixture.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const PLANTED = new URL('planted-mistake.fixture.ts', import.meta.url).href;
const folder = temporaryFolder();
chmodSync(folder, 0o755); // If we are root, PostgreSQL runs under another account.

const SMOKE = ['--profile', 'smoke'];
/** For runs whose numbers do not matter. */
const SHORT = [...SMOKE, '--warm-up', '0.1', '--seconds', '0.3'];
const OURS = ['--system', 'percolator', '--store', 'embedded'];

async function run(
  options: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<{ exitCode: number | undefined; stdout: string; stderr: string }> {
  const ended = await execaNode(MAIN, options, { reject: false, nodeOptions });
  return { exitCode: ended.exitCode, stdout: ended.stdout, stderr: ended.stderr };
}

async function whyNone(): Promise<string | false> {
  await using tried = await tryPostgres();
  return tried.skip;
}

function tableOf(out: string, name: string): ResultTable | undefined {
  return readRunRecord(out).findings?.tables.find((table) => table.name === name);
}

const noPostgres = await whyNone();
const ladderFolder = path.join(folder, 'ladder');
const systems = ['--store', 'embedded', '--paced', '--unpaced', '--rates', '2,6,20'];
const ladder = await run([...systems, ...SMOKE, '--out', ladderFolder]);

describe('the ladder', () => {
  const out = ladderFolder;
  const { exitCode, stdout, stderr } = ladder;
  const names = [
    'Percolator, embedded',
    ...(noPostgres === false ? ['PostgreSQL, functions'] : []),
  ];

  test('succeeds, with a line for each system and load, and every target', () => {
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    assert.match(stderr, /^Plan: 100 customers, 0\.25 days of trades, on embedded, postgres;/m);
    // Read from the record: the output transposes a table that is too wide, as on a busy machine.
    const loads = tableOf(out, 'ladder')?.rows.map((row) => row.slice(0, 2)) ?? [];
    assert.deepEqual(
      loads,
      names.flatMap((name) => [2, 6, 20].map((rate) => [name, rate])),
    );
    assert.deepEqual(
      tableOf(out, 'unpaced')?.rows.map((row) => row.slice(0, 2)),
      names.map((name) => [name, 4]),
      'four users, unpaced',
    );
    for (const name of names) {
      assert.match(stdout, new RegExp(`^ +not judged +${name}: a straight line: `, 'm'));
    }
    assert.match(stdout, /^ +paper +- +- +1,339 +30$/m);
    assert.match(stdout, /^ +not judged +throughput of the embedded store: .*; this run had 100/m);
    assert.match(stdout, /^Checked: .*embedded/m);
    assert.doesNotMatch(stdout, /tpsE/);
  });

  test(
    'says that PostgreSQL was not measured if there is none',
    { skip: noPostgres === false },
    () => {
      assert.match(readRunRecord(out).limitations[0] ?? '', /^Not measured: PostgreSQL\. /);
    },
  );

  test('leaves a finished record with the tables, the chart and nothing else', () => {
    const { state, findings } = readRunRecord(out);
    assert.equal(state, 'finished');
    assert.equal(findings?.check.passed, true);
    const tables = findings?.tables.map(({ name }) => name);
    assert.deepEqual(tables, ['cost', 'unpaced', 'lines', 'transactions', 'ladder']);
    const files = readdirSync(out).filter((file) => !/\.(?:csv|png|svg)$/.test(file));
    assert.deepEqual(files.toSorted(), ['report.html', 'run.json']);
    assert.ok(existsSync(path.join(out, 'figure-9.png')));
  });

  test('has the transactions of each system that kept up with the highest load, and data maintenance', () => {
    const rows = tableOf(out, 'transactions')?.rows ?? [];
    // The rows are those of the highest load that the system kept up with: on a busy machine a low
    // one, which may lack a type.
    const kept = names.filter((name) =>
      tableOf(out, 'ladder')?.rows.some(
        (row) => row[0] === name && Number(row[1]) === 20 && row.at(-1) === 'yes',
      ),
    );
    for (const name of kept) {
      const titles = new Set(rows.flatMap(([system, title]) => (system === name ? [title] : [])));
      for (const title of ['Trade-Order', 'Trade-Result', 'Market-Watch']) {
        assert.ok(titles.has(title), `${name}: ${title}`);
      }
    }
    // Data-Maintenance runs once, at the start of the seconds for which a load is measured. On a
    // busy machine it may end after them, so a system may lack it.
    assert.ok(
      rows.some(([, title]) => title === 'Data-Maintenance'),
      'some system has maintained its data in time',
    );
  });
});

test('reads saved and broker modes: each variant is run, counted and checked', async () => {
  const out = path.join(folder, 'variants');
  // With the default systems, of which these parts need one; only the ladder is repeated.
  // Longer than SHORT: the reads saved are those of the transactions that a busy machine completes.
  const longer = [...SMOKE, '--warm-up', '0.1', '--seconds', '2'];
  const options = ['--reads', '--brokers', '--repeats', '3', ...longer, '--out', out];
  const { exitCode, stdout, stderr } = await run(options);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  assert.match(stderr, /^Plan: 100 customers, 0\.25 days of trades, on embedded;/m);
  const { store, repeats: times, parameters } = readRunRecord(out);
  assert.deepEqual([store?.name, times, parameters['repeats']], ['embedded', 1, 1]);
  const reads = tableOf(out, 'reads')?.rows ?? [];
  const variants = reads.map(([name]) => name);
  assert.deepEqual(variants, ['everything off', 'prefetching', 'batching', 'both']);
  const calls = (variant: number): number => Number(reads[variant]?.[2]);
  assert.ok(calls(0) > 1 && calls(3) < calls(0), `${calls(0)} to ${calls(3)}`);
  const modes = tableOf(out, 'brokers')?.rows.map(([mode]) => mode);
  assert.deepEqual(modes, ['omit', 'inline', 'side-table']);
  assert.match(stdout, / reads of the store saved by batching and prefetching: /);
  assert.match(stdout, /^Checked: .*broker side-table/m);
});

test('--processes 2 gives right results from oracle, lock service and two clients', async () => {
  const out = path.join(folder, 'processes');
  const options = [...OURS, '--unpaced', '--broker', 'side-table', '--processes', '2'];
  const child = execaNode(MAIN, [...options, ...SHORT, '--out', out], { reject: false });
  const most = await mostPrograms(child);
  const { exitCode, stdout, stderr } = await child;
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  const parts = ['client', 'client', 'lock-service', 'oracle'];
  if (existsSync('/proc')) assert.deepEqual(most, parts);
  assert.equal(readRunRecord(out).parameters['processes'], 2);
});

test('a mistake in a transaction leaves no numbers, and exit code 1', async () => {
  const out = path.join(folder, 'planted');
  const options = [...OURS, '--unpaced', ...SHORT, '--out', out];
  const { exitCode, stdout } = await run(options, ['--import', PLANTED]);
  assert.equal(exitCode, 1, stdout);
  assert.match(stdout, /^No numbers, because the check failed: embedded: balances: /m);
  assert.doesNotMatch(stdout, /CPU ms per TR/);
  const { findings, targets } = readRunRecord(out);
  assert.equal(findings?.check.passed, false);
  assert.deepEqual([findings?.tables, findings?.charts, targets], [[], [], []]);
});

describe('bad input', () => {
  test('a PostgreSQL that does not answer is reported, and is an error if it is the only system', async () => {
    const out = path.join(folder, 'unreachable');
    const options = ['--system', 'postgres', '--unpaced', ...SMOKE, '--out', out];
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/unreachable' };
    const { exitCode, stderr } = await execaNode(MAIN, options, { reject: false, env });
    assert.equal(exitCode, 2);
    assert.match(stderr, /^Not measured: PostgreSQL\. DATABASE_URL .*$/m);
    assert.equal(existsSync(out), false);
  });
});

test('an interrupt leaves a record without numbers, no work files and no processes', async () => {
  const out = path.join(folder, 'interrupted');
  const options = ['--store', 'embedded', '--unpaced', ...SMOKE, '--seconds', '60', '--out', out];
  const child = execaNode(MAIN, options, { reject: false });
  const measuring = Promise.withResolvers<void>();
  child.stderr.on('data', (text: Buffer) => {
    if (text.includes('at full speed')) measuring.resolve();
  });
  await Promise.race([measuring.promise, child]);
  const others = processesNaming(out).filter((pid) => pid !== String(child.pid));
  child.kill('SIGINT');
  const { exitCode, stdout } = await child;
  assert.equal(exitCode, 130, stdout);
  const record = readRunRecord(out);
  assert.equal(record.state, 'interrupted');
  assert.deepEqual(record.findings?.tables, []);
  assert.equal(existsSync(path.join(out, 'work')), false);
  if (existsSync('/proc')) assert.notDeepEqual(others, []);
  assert.deepEqual(processesNaming(out), []);
});
