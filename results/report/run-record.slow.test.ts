/** A run's record is read back as written, and no other file is accepted as a run. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { execa, execaNode } from 'execa';
import * as fc from 'fast-check';
import { createLatencyHistogram, mergeHistograms, percentileMs } from './histogram.ts';
import { captureEnvironment, commitOf, mayBeMeasuring } from './environment.ts';
import { RECORD_FILE, readRunRecord, recordText } from './record-file.ts';
import { createRun, defaultRunFolder } from './run-in-progress.ts';
import { createFindingsRun } from './testing/sample-findings.ts';
import { createSampleRun } from './testing/sample-run.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';
import { UsageError } from './usage-error.ts';

describe('a run record', () => {
  test('is read back as written', () => {
    const folder = temporaryFolder();
    const run = createFindingsRun(folder);
    assert.deepEqual(readRunRecord(folder), run.record);
  });

  test('is on disk from the start, so an interrupted run keeps its measurements', () => {
    const folder = temporaryFolder();
    const run = createSampleRun(folder);
    const read = readRunRecord(folder);
    assert.equal(read.state, 'running');
    assert.equal(read.finishedAt, null);
    assert.equal(read.findings.tables.length, run.record.findings.tables.length);
  });

  test('names the process that measures, until it is closed', () => {
    const folder = temporaryFolder();
    const run = createSampleRun(folder);
    assert.equal(run.record.process?.pid, process.pid);
    assert.ok(mayBeMeasuring(run.record));
    run.finish();
    assert.equal(run.record.process, null);
    assert.ok(!mayBeMeasuring(run.record));
  });

  test('of a killed process does not count as being measured, even if its number is in use again', async () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(folder);
    const own = record.process;
    assert.ok(own !== null);
    const ended = execa(process.execPath, ['--version']);
    const pid = ended.pid ?? 0;
    await ended;
    const of = (fields: Partial<typeof own>, startedAt = record.startedAt): boolean =>
      mayBeMeasuring({ state: 'running', process: { ...own, ...fields }, startedAt });
    assert.equal(of({ pid, started: '1' }), false);
    assert.equal(of({ pid, started: null }), false, 'no process has the number');
    assert.equal(of({ started: null }), true, 'a process has the number');
    assert.equal(of({ started: '1' }), false, 'the number, but another start');
    assert.equal(of({ host: 'another machine', pid }), true, 'it cannot be asked');
    assert.equal(of({ namespace: 1, pid }), true, 'a container of this machine');
    assert.equal(of({ namespace: null, pid }), false, 'a record of an earlier version');
  });

  test('of an earlier version, which names no process, counts as being measured for a day', () => {
    const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3.6e6).toISOString();
    const at = (startedAt: string): boolean =>
      mayBeMeasuring({ state: 'running', process: null, startedAt });
    assert.equal(at(hoursAgo(23)), true);
    assert.equal(at(hoursAgo(25)), false);
  });

  test('with a number that JSON cannot represent is refused when written', () => {
    const folder = temporaryFolder();
    const { record } = createSampleRun(folder);
    assert.throws(
      () => recordText({ ...record, seed: Number.NaN }),
      /seed must be a number, but is null/,
    );
  });

  test('that cannot be written at first leaves no file and no folder', () => {
    const { record } = createSampleRun(temporaryFolder());
    const folder = path.join(temporaryFolder(), 'run');
    assert.throws(
      () => createRun(folder, { ...record, subject: record.findings, seed: Number.NaN }),
      /seed must be a number/,
    );
    assert.equal(existsSync(folder), false);
  });

  test('is never overwritten by another run', () => {
    const folder = temporaryFolder();
    createSampleRun(folder);
    assert.throws(() => createSampleRun(folder), UsageError);
  });

  test('of another run, whose folder was put in the place of this one, is not overwritten', () => {
    const folder = path.join(temporaryFolder(), 'run');
    const run = createSampleRun(folder);
    renameSync(folder, `${folder}-moved`);
    createSampleRun(folder);
    const before = readFileSync(path.join(folder, 'run.json'), 'utf8');
    assert.throws(() => run.close('finished'), /"[^"]*run" was moved, removed or replaced during/);
    assert.equal(readFileSync(path.join(folder, 'run.json'), 'utf8'), before);
  });

  test('belongs to one of two runs that begin at once in one folder', async () => {
    const folder = temporaryFolder();
    const ready = temporaryFolder();
    const sample = JSON.stringify(
      pathToFileURL(path.join(import.meta.dirname, 'testing/sample-run.ts')),
    );
    const begin = `
      import { mkdtempSync, readdirSync, statSync } from 'node:fs';
      const ready = ${JSON.stringify(ready)};
      const { createSampleRun } = await import(${sample});
      mkdtempSync(ready + '/');
      while (readdirSync(ready).length < 2); // Until both have loaded their code.
      const beginMs = statSync(ready).mtimeMs + 100; // The same in both.
      while (Date.now() < beginMs);
      createSampleRun(${JSON.stringify(folder)});
    `;
    const options = { reject: false, timeout: 300_000 } as const;
    const both = await Promise.all(
      [1, 2].map(() => execaNode('--input-type=module', ['--eval', begin], options)),
    );
    assert.equal(both.filter(({ exitCode }) => exitCode === 0).length, 1);
    const refused = both.find(({ exitCode }) => exitCode !== 0);
    assert.match(refused?.stderr ?? '', /UsageError: The output folder must be new/);
  });

  test('leaves no temporary file', () => {
    const folder = temporaryFolder();
    createSampleRun(folder);
    assert.deepEqual(readdirSync(folder).toSorted(), ['run.json']);
  });
});

test('a run goes to results/runs of the project, and names the commit of the project', () => {
  const root = path.resolve(import.meta.dirname, '../..');
  assert.equal(
    path.dirname(path.resolve(defaultRunFolder('oracle'))),
    path.join(root, 'results/runs'),
  );
  const { commit } = captureEnvironment(root);
  if (existsSync(path.join(root, '.git'))) assert.match(commit?.hash ?? '', /^[0-9a-f]{40}$/);
});

/** Git then has no settings of the user, who may sign commits, and no repository but the test's. */
const WITHOUT_SETTINGS = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
};

test('the output folder of a run is no change of the code, nor is a reference run', () => {
  const root = temporaryFolder();
  const git = (...words: string[]): string =>
    execFileSync('git', ['-C', root, ...words], { encoding: 'utf8', env: WITHOUT_SETTINGS });
  git('init', '--quiet');
  const committer = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
  git(...committer, 'commit', '--quiet', '--allow-empty', '--message=first');
  const output = path.join(root, 'found', '[new] run');
  mkdirSync(output, { recursive: true });
  writeFileSync(path.join(output, RECORD_FILE), '');
  assert.equal(commitOf(root, output)?.dirty, false);
  const reference = path.join(root, 'results/reference/figure-7');
  mkdirSync(reference, { recursive: true });
  writeFileSync(path.join(reference, RECORD_FILE), '');
  assert.equal(commitOf(root, output)?.dirty, false);
  writeFileSync(path.join(root, 'found', 'code.ts'), '');
  assert.equal(commitOf(root, output)?.dirty, true);
  assert.equal(commitOf(root, temporaryFolder())?.dirty, true);
});

describe('./run.sh report on a folder that is not a run says so in one sentence and exits 2', () => {
  const damages: readonly (readonly [string, (folder: string) => void, RegExp])[] = [
    [
      'a pipe in place of the record',
      (folder) => {
        rmSync(path.join(folder, RECORD_FILE));
        execFileSync('mkfifo', [path.join(folder, RECORD_FILE)]);
      },
      /run\.json cannot be read/,
    ],
    [
      'missing record',
      (folder) => rmSync(path.join(folder, RECORD_FILE)),
      /must hold a run\.json, but .*run\.json cannot be read: there is none\.$/,
    ],
    [
      'half a record',
      (folder) => truncate(path.join(folder, RECORD_FILE)),
      /run\.json cannot be used/,
    ],
    [
      'a record with a field of the wrong kind',
      (folder) => edit(path.join(folder, RECORD_FILE), '"passed": true', '"passed": "yes"'),
      /findings\.check\.passed must be true or false, but is "yes"/,
    ],
    [
      'a record of a newer format',
      (folder) => edit(path.join(folder, RECORD_FILE), '"formatVersion": 1', '"formatVersion": 99'),
      /a newer version of this project wrote it in format 99, and this version reads 1\.$/,
    ],
    [
      'a record of a format that never existed',
      (folder) => edit(path.join(folder, RECORD_FILE), '"formatVersion": 1', '"formatVersion": 0'),
      /formatVersion must be 1, but is 0/,
    ],
    [
      'a number that is read as infinity',
      (folder) => edit(path.join(folder, RECORD_FILE), '"seed": 7', '"seed": 1e999'),
      /seed must be a number, but is null/,
    ],
  ];
  for (const [name, damage, sentence] of damages) {
    test(name, async () => {
      const folder = temporaryFolder();
      createSampleRun(folder);
      damage(folder);
      const before = readdirSync(folder);
      const { stderr, exitCode } = await runReport(folder);
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, sentence);
      assert.equal(stderr.split('\n').length, 1, 'one line');
      assert.deepEqual(readdirSync(folder), before, 'no file is half-written');
    });
  }

  test('a folder that does not exist', async () => {
    const { stderr, exitCode } = await runReport('no/such/folder');
    assert.equal(exitCode, 2);
    assert.match(stderr, /^<folder> must be a folder .* "no\/such\/folder" does not exist/);
  });
});

describe('a histogram', () => {
  const latencies = fc.array(fc.integer({ min: 0, max: 1e11 }), { minLength: 1, maxLength: 200 });

  test('merged from several equals the histogram of all their values', () => {
    fc.assert(
      fc.property(fc.array(latencies, { minLength: 1, maxLength: 4 }), (repeats) => {
        const merged = mergeHistograms(repeats.map(histogramOf));
        const whole = histogramOf(repeats.flat());
        for (const p of [0, 25, 50, 99, 100]) {
          assert.equal(percentileMs(merged, p), percentileMs(whole, p));
        }
      }),
      { numRuns: 30 },
    );
  });
});

function histogramOf(values: readonly number[]): ReturnType<typeof createLatencyHistogram> {
  const histogram = createLatencyHistogram();
  for (const value of values) histogram.recordValue(value);
  return histogram;
}

function runReport(folder: string): Promise<{ stderr: string; exitCode?: number | undefined }> {
  const script = path.join(import.meta.dirname, '../../workloads/tools/report/main.ts');
  return execa(process.execPath, [script, folder], { reject: false });
}

function truncate(file: string): void {
  const content = readFileSync(file);
  writeFileSync(file, content.subarray(0, content.length / 2));
}

function edit(file: string, from: string, to: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
}
