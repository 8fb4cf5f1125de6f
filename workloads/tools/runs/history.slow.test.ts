/** The history of metrics, Bencher's format, and what a user says of a run. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { findRuns, readRunRecord, REFERENCE_FOLDER, trendTable } from '#results';
import { runProgram } from '../../harness/testing/run-script.ts';
import { bencherOf, trendOf } from './history.ts';
import { noteRun, readableNotes } from './notes.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const METRIC = 'figure-8: embedded, read: relative';

/** A copy of the record of figure 8, measured on this day from this commit. */
function addRun(root: string, day: number, hash: string, fields: object = {}): string {
  const folder = path.join(root, `micro-${day}`);
  mkdirSync(folder, { recursive: true });
  const record = readRunRecord(path.join(REFERENCE_FOLDER, 'figure-8'));
  const environment = { ...record.environment, commit: { hash, dirty: day === 3 } };
  const startedAt = `2027-01-0${day}T00:00:00.000Z`;
  const text = JSON.stringify({ ...record, environment, startedAt, ...fields });
  writeFileSync(path.join(folder, 'run.json'), text);
  return folder;
}

describe('a trend', () => {
  test('has the finished runs of one command, the oldest first, with commit, interval and tags', () => {
    const root = temporaryFolder();
    for (const [day, hash] of [
      [3, 'ccccccccc'],
      [1, 'aaaaaaaaa'],
      [2, 'bbbbbbbbb'],
    ] as const) {
      addRun(root, day, hash);
    }
    addRun(root, 4, 'ddddddddd', { state: 'interrupted' });
    noteRun(path.join(root, 'micro-2'), { tags: ['new-disk'], note: null });
    const lines = trendOf(findRuns(root), METRIC.toUpperCase());
    const line = lines.find(({ metric }) => metric === METRIC);
    assert.deepEqual(
      line?.points.map(({ commit, tags }) => [commit, tags]),
      [
        ['aaaaaaa', []],
        ['bbbbbbb', ['new-disk']],
        ['ccccccc+', []],
      ],
    );
    assert.ok(line.points.every(({ interval }) => interval !== null));
  });

  test('does not join runs of two commands, or of two machines', () => {
    const root = temporaryFolder();
    addRun(root, 1, 'aaaaaaaaa');
    addRun(root, 2, 'bbbbbbbbb', { commandLine: './run.sh bench:micro --rows 7' });
    const { environment } = readRunRecord(path.join(root, 'micro-1'));
    addRun(root, 4, 'ddddddddd', { environment: { ...environment, cores: 64 } });
    const lines = trendOf(findRuns(root), METRIC).filter(({ metric }) => metric === METRIC);
    assert.deepEqual(
      lines.map(({ points }) => points.length),
      [1, 1, 1],
    );
    const captions = lines.map((line) => trendTable(line).caption);
    assert.equal(new Set(captions).size, 3, 'a reader can tell them apart');
  });

  test('is printed, and drawn on a page in the folder of the runs', async () => {
    const root = temporaryFolder();
    addRun(root, 1, 'aaaaaaaaa');
    addRun(root, 2, 'bbbbbbbbb');
    const { stdout, exitCode } = await runProgram(PROGRAM, ['--in', root, '--trend', METRIC]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /aaaaaaa .*\n.*bbbbbbb /);
    const page = readFileSync(path.join(root, 'trend.html'), 'utf8');
    assert.match(page, /<canvas[^>]*id="trend-1"/);
    const wrong = await runProgram(PROGRAM, ['--in', root, '--trend', 'no such metric']);
    assert.equal(wrong.exitCode, 2);
    assert.match(
      wrong.stderr,
      /^--trend must be a part of the name of a metric .*"no such metric"\.$/,
    );
  });

  test('of the reference leaves no page in it', async () => {
    const words = ['--in', REFERENCE_FOLDER, '--trend', METRIC, '--json'];
    const { stdout, exitCode } = await runProgram(PROGRAM, words);
    assert.equal(exitCode, 0);
    assert.ok((JSON.parse(stdout) as readonly unknown[]).length > 0);
    assert.ok(!existsSync(path.join(REFERENCE_FOLDER, 'trend.html')));
  });
});

test('the metrics of a run in Bencher’s format have its slugs, and intervals where there are', () => {
  const report = bencherOf(readRunRecord(path.join(REFERENCE_FOLDER, 'figure-8')));
  const read = report['micro: figure-8: embedded, read'];
  assert.ok(read !== undefined);
  const measures = Object.values(report).flatMap((one) => Object.keys(one));
  assert.deepEqual(
    measures.filter((slug) => !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(slug)),
    [],
  );
  const { value = 0, lower_value = 1, upper_value = -1 } = read['relative'] ?? {};
  assert.ok(lower_value <= value && value <= upper_value);
  const numbers = Object.values(report).flatMap((one) => Object.values(one).map((m) => m.value));
  assert.ok(numbers.every(Number.isFinite));
});

describe('what a user says of a run', () => {
  test('is next to the record, which stays as it is, and is listed', async () => {
    const root = temporaryFolder();
    const folder = addRun(root, 1, 'aaaaaaaaa');
    const before = readFileSync(path.join(folder, 'run.json'), 'utf8');
    const words = ['note', folder, '--tag', 'new-disk', '--tag', 'slow', '--note', 'cold cache'];
    const said = await runProgram(PROGRAM, words);
    assert.match(said.stdout, /: new-disk, slow; cold cache$/, said.stderr);
    assert.deepEqual(noteRun(folder, { tags: ['-slow'], note: null }), {
      tags: ['new-disk'],
      note: 'cold cache',
    });
    assert.equal(readFileSync(path.join(folder, 'run.json'), 'utf8'), before);
    const { stdout } = await runProgram(PROGRAM, ['--in', root]);
    assert.match(stdout, /\[new-disk\] cold cache:/);
  });

  test('is refused of the reference, of what is no run, and if its file is damaged', () => {
    const nothing = { tags: [], note: null };
    assert.throws(() => noteRun(path.join(REFERENCE_FOLDER, 'figure-8'), nothing), /reference/);
    assert.throws(() => noteRun(temporaryFolder(), nothing), /must hold a run\.json/);
    const folder = addRun(temporaryFolder(), 1, 'aaaaaaaaa');
    cpSync(path.join(folder, 'run.json'), path.join(folder, 'notes.json'));
    assert.throws(() => noteRun(folder, nothing), /notes .* are damaged/);
    assert.match(readableNotes(folder).note ?? '', /damaged/, 'and the list of runs shows it');
  });

  test('needs a run, and listing needs none', async () => {
    const ended = await Promise.all([
      runProgram(PROGRAM, ['note', '--tag', 'a']),
      runProgram(PROGRAM, ['list', temporaryFolder()]),
    ]);
    assert.deepEqual(
      ended.map(({ stderr }) => stderr),
      ['note must be given the folder of a run.', 'list must be given no run.'],
    );
  });
});
