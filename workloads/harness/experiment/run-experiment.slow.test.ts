/** Every script that measures or proves has one shape: these are its claims. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { type FindingsParts, noNumbers, readRunRecord, type RunRecord } from '#results';
import { tableLines } from './result-lines.ts';
import { measureChecked, verdictOf } from './run-experiment.ts';

const FOUND = `{
  headline: 'Ten rows.',
  check: { passed: true, detail: 'all are there' },
  tables: [{ name: 't', title: 'Rows', caption: 'All.', columns: ['a', 'b'], rows: [['x', 1234.5]] }],
  charts: [],
  targets: [{ name: 'many', target: 'at least 20', measured: '10', met: false }],
}`;

describe('a script that measures', () => {
  test('prints its plan and progress on standard error, and its result on standard output', async () => {
    const ran = await runSample(`progress.phase('counting', 1); return ${FOUND};`);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(ran.stderr, /^Plan: 10 rows; about 5 minutes\.\ncounting \.\.\.\ncounting: /);
    assert.equal(
      ran.stdout.replaceAll(/^DOUBTFUL: .*\n/gm, ''), // The tests themselves keep the machine busy.
      [
        'Rows:',
        '  a      b',
        '  x  1,235',
        '',
        'Ten rows.',
        'Checked: all are there.',
        '',
        'Targets:',
        '  NOT met     many: 10 (target: at least 20)',
        '',
        `Report: ${path.join(ran.out, 'report.html')}`,
      ].join('\n'),
    );
    const { state, experiment, profile, seed, repeats, parameters, commandLine } = ran.record();
    assert.deepEqual([state, experiment, profile, seed], ['finished', 'sample', 'quick', 7]);
    assert.deepEqual([repeats, parameters], [1, { rows: 10, extra: 300, seed: 7 }]);
    assert.equal(commandLine, './run.sh bench:sample --seed 7');
    assert.deepEqual(readdirSync(ran.out).toSorted(), ['report.html', 'run.json', 't.csv']);
  });

  test('prints nothing but the record on standard output with --json', async () => {
    const ran = await runSample(`progress.note('hello'); return ${FOUND};`, ['--json']);
    assert.equal(`${ran.stdout}\n`, readFileSync(path.join(ran.out, 'run.json'), 'utf8'));
    assert.match(ran.stderr, /hello/);
  });

  test('exits with 1 for a missed target only if asked to', async () => {
    const ran = await runSample(`return ${FOUND};`, ['--fail-on-target']);
    assert.equal(ran.exitCode, 1);
    assert.match(ran.stderr, /--fail-on-target: NOT met: many\.$/);
    assert.equal(ran.record().state, 'finished');
  });

  test('judges no target in a smoke run', async () => {
    const ran = await runSample(`return ${FOUND};`, ['--fail-on-target', '--profile', 'smoke']);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(
      ran.stdout,
      /^ {2}not judged {2}many: 10 \(target: .*; a smoke run is too small\)$/m,
    );
  });

  test('records its profile as custom if a value differs from that of the profile', async () => {
    const body = `console.error(JSON.stringify(options)); return ${FOUND};`;
    const ran = await runSample(body, ['--rows', '11', '--profile', 'full']);
    assert.equal(ran.record().profile, 'custom');
    assert.match(ran.stderr, /^Plan: 11 rows; about 2 hours\.$/m);
    const same = await runSample(body, ['--rows', '100', '--profile', 'full']);
    assert.equal(same.record().profile, 'full');
  });

  test('exits with 1 if its check failed, and says that there are no numbers', async () => {
    const ran = await runSample(
      `return { ...${FOUND}, tables: [], check: { passed: false, detail: 'a row is missing' } };`,
    );
    assert.equal(ran.exitCode, 1);
    assert.match(ran.stdout, /^No numbers, because the check failed: a row is missing\.$/m);
  });

  test('is refused with one sentence before anything is written if the disk is too small', async () => {
    const ran = await runSample(`return ${FOUND};`, ['--rows', '1000000000']);
    assert.equal(ran.exitCode, 2);
    assert.match(
      ran.stderr,
      /^--out must be on a disk with .* GB free for a run of this size, but/m,
    );
    assert.ok(!existsSync(ran.out));
  });

  test('removes its temporary files and says that it failed if an error ends it', async () => {
    const ran = await runSample(`keep(${FOUND}); throw new Error('boom');`);
    assert.deepEqual([ran.exitCode, ran.stdout], [1, '']);
    assert.match(ran.stderr, /^Error: boom$/m);
    assert.deepEqual([ran.record().state, ran.record().findings?.tables.length], ['failed', 1]);
    assert.ok(!existsSync(path.join(ran.out, 'work')));
  });

  test('that cannot remove its temporary files says so, and keeps what it found', async () => {
    const keepWork = `const fs = (await import('node:fs')).default;
      const { rmSync } = fs;
      fs.rmSync = (file, options) => {
        if (file.endsWith('work')) throw new Error('EBUSY');
        rmSync(file, options);
      };
      (await import('node:module')).syncBuiltinESMExports();`;
    const ran = await runSample(`${keepWork} return ${FOUND};`);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(ran.stderr, /^The temporary files in .*work cannot be removed: EBUSY\.$/m);
    assert.deepEqual([ran.record().state, ran.record().findings?.tables.length], ['finished', 1]);
    const failed = await runSample(`${keepWork} throw new Error('boom');`);
    assert.match(failed.stderr, /^Error: boom$/m);
  });

  test('removes its temporary files even if an error in a callback ends it at once', async () => {
    const ran = await runSample(
      `setImmediate(() => { throw new Error('late') }); await new Promise(() => {});`,
    );
    assert.deepEqual([ran.exitCode, existsSync(path.join(ran.out, 'work'))], [1, false]);
    const { state, findings } = ran.record();
    assert.deepEqual([state, findings?.check.detail], ['failed', 'the run has no result']);
  });

  test('says that it was interrupted, and leaves no temporary files, after a second interrupt', async () => {
    const ran = await runSample(
      `setInterval(() => process.kill(process.pid, 'SIGINT'), 10);
       await new Promise(() => {});`,
    );
    assert.deepEqual([ran.exitCode, existsSync(path.join(ran.out, 'work'))], [130, false]);
    assert.equal(ran.record().state, 'interrupted');
  });

  test('reports the error that ended it, not that its page cannot be written', async () => {
    const ran = await runSample(
      `(await import('node:fs')).mkdirSync(run.folder + '/report.html'); throw new Error('boom');`,
    );
    assert.equal(ran.exitCode, 1);
    assert.match(ran.stderr, /^Error: boom$/m);
  });

  test('leaves no folder for an error that the user can repair', async () => {
    const ran = await runSample(`throw new UsageError('There is no emulator.');`);
    assert.deepEqual([ran.exitCode, existsSync(ran.out)], [2, false]);
    assert.match(ran.stderr, /^There is no emulator\.$/m);
  });

  test('keeps what it had found when it is interrupted, and says so', async () => {
    const ran = await runSample(
      `keep(${FOUND});
       setInterval(() => {}, 1000);
       setImmediate(() => process.kill(process.pid, 'SIGINT'));
       await new Promise((resolve) => signal.addEventListener('abort', resolve));
       signal.throwIfAborted();`,
    );
    assert.equal(ran.exitCode, 130, ran.stderr);
    assert.match(ran.stdout, /^Interrupted: this is what was found until then\.\n\nRows:/);
    assert.deepEqual(
      [ran.record().state, ran.record().findings?.tables.length],
      ['interrupted', 1],
    );
    assert.ok(!existsSync(path.join(ran.out, 'work')));
  });

  test('has no numbers when it is interrupted before it had any', async () => {
    const ran = await runSample(
      `setInterval(() => {}, 1000);
       setImmediate(() => process.kill(process.pid, 'SIGINT'));
       await new Promise((resolve) => signal.addEventListener('abort', resolve));
       throw new Error('cancelled');`,
    );
    assert.equal(ran.exitCode, 130, ran.stderr);
    assert.match(ran.stdout, /^There are no numbers\.\nNo numbers: the run has no result\.$/m);
    assert.match(
      ran.stderr,
      /^Interrupted; stopping in good order \(press again to stop at once\)\.$/m,
    );
    assert.doesNotMatch(ran.stderr, /cancelled/);
  });

  test('takes a file with settings of the engine for which it has no option', async () => {
    const folder = temporaryFolder();
    const config = path.join(folder, 'config.json');
    writeFileSync(config, '{"batching": "on", "rows": 12}');
    const ran = await runSample(`return ${FOUND};`, ['--config', config]);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(ran.stderr, /without effect here: batching\./);
    assert.equal(ran.record().parameters['rows'], 12);
  });
});

describe('a script that proves', () => {
  const parts = `subject: { kind: 'proof', kicker: 'A test', title: 'Rows' },`;

  test('keeps its counts if it finds a violation, and exits with 1', async () => {
    const body = `return { ...${FOUND}, targets: [], check: verdictOf({
      unit: 'rows', planned: 3, done: 3, fault: 'is missing', found: ['row 2'] }) };`;
    const ran = await runSample(body, [], parts);
    assert.equal(ran.exitCode, 1);
    assert.match(ran.stdout, /^Rows:\n[^]*^NOT proven: 1 of 3 rows is missing: row 2\.$/m);
    assert.equal(ran.record().findings?.tables.length, 1);
  });

  test('has no option about targets', async () => {
    const ran = await runSample(`return ${FOUND};`, ['--fail-on-target'], parts);
    assert.equal(ran.exitCode, 2);
    assert.match(ran.stderr, /Unknown option '--fail-on-target'/);
  });

  test('answers an option that asks for something else, without a plan and a record', async () => {
    const instead = `instead: { seed: async ({ seed }) => console.log('seed ' + seed) },`;
    const body = `throw new Error('must not run')`;
    const ran = await runSample(body, [], parts + instead);
    assert.deepEqual([ran.exitCode, ran.stdout, ran.stderr], [0, 'seed 7', '']);
    assert.ok(!existsSync(ran.out));
    const json = await runSample(body, ['--json'], parts + instead);
    assert.deepEqual([json.exitCode, json.stdout], [2, '']);
    assert.equal(json.stderr, '--json prints the record of a run, but with --seed there is none.');
  });
});

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
  readonly out: string;
  readonly record: () => RunRecord;
}

/**
 * Runs an experiment that measures with `body`, in a process of its own.
 * @param parts properties of the experiment that replace those below, as text
 */
async function runSample(body: string, words: readonly string[] = [], parts = ''): Promise<Ran> {
  const folder = temporaryFolder();
  const file = path.join(folder, 'script.mjs');
  const module = pathToFileURL(path.join(import.meta.dirname, '../index.ts')).href;
  writeFileSync(
    file,
    `import { integer, runExperiment, seedOption, UsageError, verdictOf } from ${JSON.stringify(module)};
     const sizes = {
       smoke: { rows: 1, extra: 5 }, quick: { rows: 10, extra: 300 },
       standard: { rows: 50, extra: 1800 }, full: { rows: 100, extra: 7200 },
     };
     await runExperiment({
       script: 'bench:sample',
       subject: { kicker: 'A test', title: 'Rows' },
       description: 'Counts.',
       sizes,
       options: {
         rows: integer({ description: 'rows', min: 1, max: 1e9 }),
         seed: seedOption('the rows'),
       },
       examples: [],
       plan: ({ rows, extra }) => ({
         about: rows + ' rows',
         seconds: extra,
         ...(rows > 1e6 && { diskBytes: rows * 1e9 }),
         store: { name: 'none', durability: 'nothing is stored' },
         limitations: [],
       }),
       ${parts}
     }, async (options, { run, keep, progress, signal, work }) => { ${body} });`,
  );
  const out = path.join(folder, 'out');
  const { stdout, stderr, exitCode } = await execa(
    process.execPath,
    [file, '--out', out, '--seed', '7', ...words],
    { reject: false, timeout: 300_000 },
  );
  return {
    stdout,
    stderr,
    exitCode,
    out,
    record: () => readRunRecord(out),
  };
}

const failing = (): Promise<number> => Promise.reject(new Error('two rows were cleaned twice'));

test('a part that fails leaves no numbers of the parts before it, and says why', async () => {
  const kept: FindingsParts[] = [];
  const { signal } = new AbortController();
  const keep = (findings: FindingsParts): void => void kept.push(findings);
  assert.equal(await measureChecked({ keep, signal }, async () => 5), 5);
  await assert.rejects(measureChecked({ keep, signal }, failing), /cleaned twice/);
  assert.deepEqual(kept, [noNumbers('two rows were cleaned twice')]);
});

test('an interrupt leaves what was measured before it', async () => {
  const kept: FindingsParts[] = [];
  const keep = (findings: FindingsParts): void => void kept.push(findings);
  await assert.rejects(measureChecked({ keep, signal: AbortSignal.abort() }, failing));
  assert.deepEqual(kept, []);
});

const RUNS = { unit: 'runs', planned: 2_000, done: 2_000, fault: 'broke a rule', found: [] };

test('a proof holds if everything was looked at and nothing was found', () => {
  assert.deepEqual(verdictOf(RUNS), { passed: true, detail: 'none of 2,000 runs broke a rule' });
  assert.equal(verdictOf({ ...RUNS, planned: 1, done: 1 }).detail, 'none of 1 run broke a rule');
});

test('a proof does not hold if something is left, whether or not something was found', () => {
  const detail = 'none of the 12 of 2,000 runs that ended broke a rule';
  assert.deepEqual(verdictOf({ ...RUNS, done: 12 }), { passed: false, detail });
  assert.deepEqual(verdictOf({ ...RUNS, done: 12, found: ['seed 3'] }), {
    passed: false,
    detail: '1 of the 12 of 2,000 runs that ended broke a rule: seed 3',
  });
});

test('a verdict names the first violations, and counts the others', () => {
  const found = Array.from({ length: 12 }, (_, i) => `seed ${i + 1}`);
  const { passed, detail } = verdictOf({ ...RUNS, found });
  assert.equal(passed, false);
  assert.match(detail, /^12 of 2,000 runs broke a rule: seed 1, .*, seed 10, and 2 more$/);
});

test('a table is turned if only its indent makes it too wide for the terminal', (t) => {
  Reflect.set(process.stdout, 'columns', 40);
  t.after(() => Reflect.deleteProperty(process.stdout, 'columns'));
  const columns = ['a'.repeat(18), 'b'.repeat(19)]; // 39 wide, and 22 when turned.
  const lines = tableLines({ title: 'Times', columns, rows: [[1, 2]] });
  assert.deepEqual(lines.slice(1, 3), [`  ${columns[0]}   1`, `  ${columns[1]}  2`]);
});

test('a number is printed without an exponent on both sides of a thousand', () => {
  const rows = [999.4, 999.5, 999.96, 1_000, -999.7].map((one) => [one]);
  const [, , ...lines] = tableLines({ title: 'Rates', columns: ['a second'], rows });
  assert.deepEqual(
    lines.map((line) => line.trim()).filter((line) => line !== ''),
    ['999', '1,000', '1,000', '1,000', '-1,000'],
  );
});
