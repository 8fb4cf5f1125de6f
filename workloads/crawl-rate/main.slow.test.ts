/** The experiment at smoke size, run as a user would run it. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { execaNode } from 'execa';
import { openStore } from '#engine';
import { numberIn, pointsOf, readRunRecord } from '#results';
import { temporaryFolder } from '#engine/testing';
import { childrenOf, mostPrograms } from '../harness/testing/child-processes.ts';
import { emulatorOrReason } from '../harness/testing/emulator.ts';
import { interruptOnceMeasured, runProgram } from '../harness/testing/run-script.ts';

const MAIN = path.join(import.meta.dirname, 'main.ts');
const folder = temporaryFolder();

const run = (...words: string[]) => runProgram(MAIN, words);

const smokeFolder = path.join(folder, 'smoke');
const smoke = await run('--profile', 'smoke', '--out', smokeFolder);

describe('the smoke profile', () => {
  const out = smokeFolder;
  const { exitCode, stdout, stderr } = smoke;

  test('succeeds, and prints a table and the path of the report', () => {
    assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
    assert.match(stdout, /by crawl rate:\n +% per hour .*\n +MapReduce median ms /);
    assert.match(stdout, /Report: .*report\.html/);
    assert.match(stdout, /^ +not judged +throughput of the engine: /m);
    assert.doesNotMatch(stdout, /NOT met/);
    assert.match(
      stderr,
      /^Plan: 2,000 documents, 2 crawl rates on both systems, 1 repeat of each point; about /m,
    );
  });

  test('leaves a finished record in which every point passed its check', () => {
    const record = readRunRecord(out);
    assert.equal(record.state, 'finished');
    assert.equal(pointsOf(record).length, 4);
    const { check } = record.findings;
    assert.ok(check.passed, check.detail);
  });

  test('finds the 221 contents that 442 pages of two hosts share', () => {
    const record = readRunRecord(out);
    const crawled = (what: string) => numberIn(record, 'real-crawl', 'number', what);
    assert.deepEqual([crawled('pages'), crawled('distinct contents')], [442, 221]);
    const duplicates = record.findings.tables.find(({ name }) => name === 'duplicates');
    assert.ok((duplicates?.rows.length ?? 0) > 0);
  });

  test('leaves only the results', () => {
    // A smoke run may be too short for a model of its batch.
    const files = readdirSync(out).filter((name) => !name.startsWith('normalised.'));
    assert.deepEqual(files.toSorted(), [
      'backlog.csv',
      'backlog.png',
      'backlog.svg',
      'capacity.csv',
      'cost.png',
      'cost.svg',
      'distribution.csv',
      'distribution.png',
      'distribution.svg',
      'duplicates.csv',
      'figure-7-dark.png',
      'figure-7.csv',
      'figure-7.png',
      'figure-7.svg',
      'medians.csv',
      'points.csv',
      'real-crawl.csv',
      'report.html',
      'repository.csv',
      'run.json',
    ]);
  });

  test('does not overwrite a run', async () => {
    const record = (): string => readFileSync(path.join(out, 'run.json'), 'utf8');
    const before = record();
    const again = await run('--profile', 'smoke', '--out', out);
    assert.equal(again.exitCode, 2);
    assert.match(again.stderr, /^--out must be a new or an empty folder, .* holds \S+\.$/);
    assert.equal(record(), before);
  });
});

test('--processes 2 gives a right answer from oracle, lock service, loader and two workers', async () => {
  const out = path.join(folder, 'processes');
  const options = ['--profile', 'smoke', '--rates', '5000', '--processes', '2', '--out', out];
  const child = execaNode(MAIN, options, { reject: false });
  const most = await mostPrograms(child);
  const { exitCode, stdout, stderr } = await child;
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  const parts = ['loader', 'lock-service', 'oracle', 'worker', 'worker'];
  if (existsSync('/proc')) assert.deepEqual(most, parts);
  const record = readRunRecord(out);
  assert.equal(record.parameters['processes'], 2);
  assert.ok(record.findings.check.passed, record.findings.check.detail);
  assert.ok(pointsOf(record).some(({ system }) => system === 'percolator'));
});

test('--store emulator loads the repository anew for each point, and drops it at the end', async (t) => {
  const out = path.join(folder, 'emulator');
  const emulator = await emulatorOrReason();
  if (typeof emulator === 'string') return t.skip(emulator);
  await using _ = emulator;
  const { address } = emulator;
  const size = ['--repository', '1000', '--seconds', '1', '--warm-up', '0.1'];
  const options = ['--profile', 'smoke', ...size, '--rates', '2000,4000', '--store', 'emulator'];
  const env = { BIGTABLE_EMULATOR_HOST: address };
  const { exitCode, stdout, stderr } = await runProgram(MAIN, [...options, '--out', out], { env });
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  await using left = await openStore({ kind: 'emulator', address });
  const tables = await left.listTables();
  assert.ok(tables.length > 0, 'the engine has tables of its own');
  assert.deepEqual(
    tables.filter((table) => table.startsWith('crawl-')),
    [],
  );
  const record = readRunRecord(out);
  assert.equal(record.store.name, 'emulator');
  assert.ok(record.findings.check.passed, record.findings.check.detail);
  const ours = pointsOf(record).filter(({ system }) => system === 'percolator');
  assert.deepEqual(
    ours.map((point) => point.cpuSecondsPerDocument),
    [null, null],
    'the time of an emulator that already ran is not known',
  );
});

test('--sweep repository says what a document costs in a small repository and in a larger one', async () => {
  const out = path.join(folder, 'sweep');
  const options = ['--sweep', 'repository', '--profile', 'smoke', '--repeats', '2'];
  const { exitCode, stdout, stderr } = await run(...options, '--out', out);
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);
  assert.match(
    stderr,
    /^Plan: new documents at full speed in repositories of 2 sizes up to 2,000 /m,
  );
  const { experiment, findings, parameters } = readRunRecord(out);
  assert.equal(experiment, 'crawl-rate-repository');
  assert.equal(parameters['repository'], 2_000);
  assert.equal(parameters['batching'], 'off');
  for (const unused of ['input', 'rates', 'store', 'documentBytes', 'workers']) {
    assert.equal(parameters[unused], undefined, unused);
  }
  const [small, large] = findings?.tables[0]?.rows ?? [];
  assert.deepEqual([small?.slice(0, 1), large?.slice(0, 1)], [['1,000'], ['2,000']]);
  for (const row of [small, large]) assert.ok(Number(row?.[4]) > 0, 'the cost of a document');
  assert.doesNotMatch(stdout, /From crawled to clustered/);
  assert.match(stdout, /^ +not judged +cost of a document by the size of the repository: /m);
});

test('a sweep that is interrupted keeps the repeats that it has measured', async () => {
  const options = ['--sweep', 'repository', '--profile', 'smoke', '--repeats', '20'];
  const ended = await interruptOnceMeasured(MAIN, options);
  assert.equal(ended.exitCode, 130, ended.stderr);
  const { state, findings } = ended.record();
  assert.equal(state, 'interrupted');
  const turns = findings?.tables[0]?.rows.map((row) => Number(row[2])) ?? [];
  assert.equal(turns.length, 2);
  for (const count of turns) assert.ok(count > 0 && count === turns[0], String(turns));
});

test('the plan counts the documents of the warm-up, too, which are on the disk', async () => {
  const noCrawl = path.join(folder, 'no-crawl.warc.gz');
  writeFileSync(noCrawl, 'this ends a run after its plan');
  const plannedMb = async (warmUp: string): Promise<number> => {
    const options = ['--profile', 'smoke', '--rates', '1', '--warm-up', warmUp];
    const out = path.join(folder, 'only-planned');
    const { stderr } = await run(...options, '--input', noCrawl, '--out', out);
    return Number(/^Plan: .* up to (\d+) MB /.exec(stderr)?.[1]);
  };
  // A warm-up has at least 200 documents of 1 KB a second, and the disk holds each several times.
  const addedMb = (await plannedMb('100')) - (await plannedMb('0'));
  assert.ok(addedMb > 100, `${addedMb} MB`);
});

test('a repository of ten million documents can be crawled at the rates of the full profile', async () => {
  const noCrawl = path.join(folder, 'no-full-crawl.warc.gz');
  writeFileSync(noCrawl, 'this ends a run after its plan');
  const options = ['--profile', 'full', '--repository', '10000000', '--input', noCrawl];
  const { stderr } = await run(...options, '--out', path.join(folder, 'only-planned'));
  assert.match(stderr, /^(?:Plan: 10,000,000 documents|--out must be on a disk with )/);
});

describe('bad input', () => {
  test('a corrupt crawl is answered with one sentence and exit code 2, and leaves no files', async () => {
    const corrupt = path.join(folder, 'corrupt.warc.gz');
    writeFileSync(corrupt, 'this is not a crawl');
    const out = path.join(folder, 'from-corrupt');
    const options = ['--profile', 'smoke', '--input', corrupt, '--out', out];
    const { exitCode, stderr } = await run(...options);
    assert.equal(exitCode, 2, stderr);
    assert.match(stderr, /^Plan: .*\n.*corrupt\.warc\.gz.*$/);
    assert.equal(existsSync(out), false);
  });
});

test('an interrupt keeps the measurements and leaves neither work files nor processes', async () => {
  const out = path.join(folder, 'interrupted');
  const options = ['--profile', 'smoke', '--seconds', '60', '--out', out];
  const child = execaNode(MAIN, options, { reject: false });
  // The first batch point ends within a second, and no Percolator point within a minute.
  const measuredOne = Promise.withResolvers<void>();
  child.stderr.on('data', (text: Buffer) => {
    if (text.includes('MapReduce at')) measuredOne.resolve();
  });
  await measuredOne.promise;
  const workers = childrenOf(child.pid);
  child.kill('SIGINT');
  const { exitCode } = await child;
  assert.equal(exitCode, 130);
  assert.equal(existsSync(path.join(out, 'work')), false);
  if (existsSync('/proc')) assert.notDeepEqual(workers, []);
  assert.deepEqual(
    workers.filter((pid) => existsSync(`/proc/${pid}`)),
    [],
  );
  const record = readRunRecord(out);
  assert.equal(record.state, 'interrupted');
  assert.equal(pointsOf(record).length, 1);
});
