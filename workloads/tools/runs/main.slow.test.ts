/** `./run.sh runs`: what is listed, what is removed, and what is never removed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa, execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import {
  bytesIn,
  createRun,
  findRuns,
  REFERENCE_FOLDER,
  readRunRecord,
  type RunRecord,
} from '#results';
import { type Choice, removable, removeRun, removeRuns } from './removable.ts';

const RUNS = path.join(import.meta.dirname, 'main.ts');
const PROJECT = path.resolve(import.meta.dirname, '../../..');
const DAY_MS = 24 * 3_600_000;
const NOTHING: Choice = { unfinished: false, days: undefined, keepLast: undefined };

const temporary = temporaryFolder();
let root: string;
let count = 0;
beforeEach(() => {
  root = path.join(temporary, `runs-${count++}`);
  mkdirSync(root);
});

const HEADER = {
  experiment: 'oracle',
  profile: 'smoke',
  commandLine: './run.sh bench:oracle',
  parameters: {},
  seed: 1,
  repeats: 1,
  store: { name: 'embedded', durability: 'each commit is on the disk' },
} as const;

/**
 * A run that ended this many days ago, with these fields of its record; by default one that
 * finished today.
 */
function addRun(name: string, days = 0, fields: Partial<RunRecord> = {}): string {
  const folder = path.join(root, name);
  const run = createRun(folder, { ...HEADER, experiment: fields.experiment ?? 'oracle' });
  const check = { passed: true, detail: 'all is there' };
  const texts = { kicker: 'A bench', title: 'Rates', headline: `The headline of ${name}.` };
  run.describe({ findings: { ...texts, check, tables: [], charts: [] } });
  run.finish();
  const at = new Date(Date.now() - days * DAY_MS).toISOString();
  const record = { ...readRunRecord(folder), startedAt: at, finishedAt: at, ...fields };
  writeFileSync(path.join(folder, 'run.json'), JSON.stringify(record));
  return folder;
}

/** Names of the runs that a choice removes, with the reason. */
function chosen(choice: Partial<Choice>): readonly string[] {
  return removable(findRuns(root), { ...NOTHING, ...choice }, Date.now()).map(
    ({ run, why }) => `${run.name}: ${why}`,
  );
}

async function runs(...words: readonly string[]) {
  const { exitCode, stdout, stderr } = await execaNode(RUNS, words, { reject: false });
  return { exitCode, stdout, stderr };
}

describe('list', () => {
  test('shows each run in a line, the newest first, and damaged ones with the reason', async () => {
    addRun('older', 3);
    addRun('newer', 1);
    addRun('killed', 2, { state: 'running', finishedAt: null });
    mkdirSync(path.join(root, 'damaged'));
    writeFileSync(path.join(root, 'damaged', 'run.json'), '{');
    mkdirSync(path.join(root, 'notes'));
    const { stdout, exitCode } = await runs('list', '--in', root);
    assert.equal(exitCode, 0);
    const lines = stdout.split('\n').filter((line) => /^ {2}\w/.test(line));
    assert.deepEqual(
      lines.map((line) => line.trim().split(/ {2,}/).slice(0, 4)),
      [
        ['name', 'experiment', 'profile', 'state'],
        ['newer', 'oracle', 'smoke', 'finished'],
        ['killed', 'oracle', 'smoke', 'killed'],
        ['older', 'oracle', 'smoke', 'finished'],
        ['damaged', '-', '-', 'damaged'],
      ],
    );
    assert.match(stdout, /newer .* \d+ kB +The headline of newer\.$/m);
    assert.match(stdout, /damaged .* The run record .*…$/m);
  });

  test('shows each run in a line, whatever control characters its name has', async () => {
    addRun('red \u001b[31m\n  one');
    const { stdout } = await runs('list', '--in', root);
    const clean = await runs('clean', '--keep-last', '0', '--in', root);
    for (const text of [stdout, clean.stdout]) {
      assert.match(text, /red \\u001b\[31m\\u000a {2}one\b/);
      assert.ok(!text.includes('\u001b'));
    }
  });

  test('as JSON has every field', async () => {
    const folder = addRun('one');
    const { stdout } = await runs('--in', root, '--json');
    const [only] = JSON.parse(stdout);
    assert.deepEqual(Object.keys(only), [
      'folder',
      'name',
      'experiment',
      'profile',
      'state',
      'commit',
      'date',
      'bytes',
      'tags',
      'note',
      'headline',
    ]);
    assert.equal(only.folder, folder);
    assert.equal(only.headline, 'The headline of one.');
    assert.ok(only.bytes > 1000);
  });

  test('also shows the reference, whose headlines are those of its pages', async () => {
    const { stdout } = await runs();
    assert.match(stdout, /^ {2}figure-7 +crawl-rate .* At a crawl rate of/m);
    assert.match(stdout, /^ {2}figure-9 +brokerage /m);
    assert.match(stdout, /^ {2}verification\/mutants +mutants /m);
  });

  test('shows a run that cannot be read, and why', async () => {
    mkdirSync(path.join(root, 'unreadable'));
    const record = path.join(root, 'unreadable', 'run.json');
    symlinkSync(record, record); // The superuser may read everything but this.
    const { stdout, exitCode } = await runs('list', '--in', root);
    assert.equal(exitCode, 0);
    assert.doesNotMatch(stdout, /no runs/);
    assert.match(stdout, /damaged/);
    const { stdout: json } = await runs('list', '--in', root, '--json');
    assert.match(json, /"headline": "The run record .*unreadable.* cannot be read: ELOOP/);
  });

  test('of an empty folder says that there are no runs', async () => {
    const { stdout, exitCode } = await runs('list', '--in', root);
    assert.equal(exitCode, 0);
    assert.match(stdout, /: no runs$/m);
  });
});

describe('the size of a run', () => {
  test('counts a link as itself, and not what it leads to', () => {
    const folder = addRun('linking');
    const before = bytesIn(folder);
    mkdirSync(path.join(root, 'large'));
    writeFileSync(path.join(root, 'large', 'file'), Buffer.alloc(100_000));
    symlinkSync(path.join(root, 'large'), path.join(folder, 'link'), 'dir');
    assert.ok(bytesIn(folder) - before < 10_000);
  });

  test('can be computed while its folders come and go', async () => {
    const folder = addRun('measuring');
    const program = `
      import { mkdirSync, rmSync } from 'node:fs';
      for (;;) {
        mkdirSync('work/a/b', { recursive: true });
        rmSync('work', { recursive: true });
      }`;
    const options = ['--input-type=module', '--eval', program];
    const measuring = execa(process.execPath, options, { cwd: folder, reject: false });
    try {
      while (!existsSync(path.join(folder, 'work'))) await sleep(1);
      for (let i = 0; i < 5_000; i++) assert.ok(bytesIn(folder) > 1_000);
    } finally {
      measuring.kill('SIGKILL');
      await measuring;
    }
  });
});

describe('clean chooses', () => {
  test('unfinished runs if no option says more', () => {
    addRun('finished', 100);
    addRun('interrupted', 2, { state: 'interrupted' });
    addRun('failed', 3, { state: 'failed' });
    addRun('killed', 4, { state: 'running' });
    const all = ['interrupted: interrupted', 'failed: failed', 'killed: killed'];
    assert.deepEqual(chosen({}), all);
    assert.deepEqual(chosen({ unfinished: true }), all);
  });

  test('runs older than this many days', () => {
    addRun('young', 2);
    addRun('old', 4);
    assert.deepEqual(chosen({ days: 3 }), ['old: older than 3 days']);
    assert.deepEqual(chosen({ days: 0 }).length, 2);
  });

  test('all but the newest finished ones of each experiment', () => {
    addRun('oracle-1', 1);
    addRun('oracle-2', 2);
    addRun('oracle-0', 0, { state: 'interrupted' });
    addRun('micro-1', 9, { experiment: 'micro' });
    const why = 'not among the newest 1 that finished';
    assert.deepEqual(chosen({ keepLast: 1 }), [`oracle-0: ${why}`, `oracle-2: ${why}`]);
    assert.equal(chosen({ keepLast: 0 }).length, 4);
    symlinkSync(path.join(root, 'oracle-1'), path.join(root, 'latest'), 'dir');
    assert.equal(chosen({ keepLast: 1 }).length, 2, 'a link is no run to keep');
  });

  test('with --days and --keep-last only what both choose', () => {
    addRun('a', 1);
    addRun('b', 10);
    addRun('c', 20);
    const why = 'older than 5 days, not among the newest 2 that finished';
    assert.deepEqual(chosen({ days: 5, keepLast: 2 }), [`c: ${why}`]);
  });
});

describe('clean removes', () => {
  test('nothing without --yes, and says what it would remove', async () => {
    const folder = addRun('killed', 2, { state: 'running' });
    const { stdout, exitCode } = await runs('clean', '--in', root);
    assert.equal(exitCode, 0);
    assert.match(
      stdout,
      /killed: killed, \d+ kB\nWould be removed: 1 run, \d+ kB; --yes removes\.$/,
    );
    assert.ok(existsSync(path.join(folder, 'report.html')));
  });

  test('with --yes the whole folder, and nothing else', async () => {
    addRun('killed', 2, { state: 'running' });
    addRun('finished', 2);
    writeFileSync(path.join(root, 'index.html'), '');
    const { stdout, exitCode } = await runs('clean', '--in', root, '--yes', '--json');
    assert.equal(exitCode, 0);
    const { removed, runs: gone } = JSON.parse(stdout);
    assert.equal(removed, true);
    assert.deepEqual(
      gone.map(({ why }: { readonly why: string }) => why),
      ['killed'],
    );
    assert.deepEqual(readdirSync(root), ['finished', 'index.html']);
  });
});

describe('clean never removes', () => {
  const everything: Choice = { unfinished: true, days: 0, keepLast: 0 };

  test('a run that is being measured, until its process is killed', async () => {
    const program = `
      import { createRun } from '#results';
      createRun(${JSON.stringify(path.join(root, 'busy'))}, ${JSON.stringify(HEADER)});
      console.log('running');
      setInterval(() => {}, 1000);`;
    const options = ['--input-type=module', '--eval', program];
    const measuring = execa(process.execPath, options, { cwd: PROJECT, reject: false });
    try {
      await once(measuring.stdout, 'data');
      assert.deepEqual(chosen(everything), []);
    } finally {
      measuring.kill('SIGKILL');
      await measuring;
    }
    assert.deepEqual(chosen({}), ['busy: killed']);
  });

  for (const [how, change] of [
    ['it is another run', { runId: 'another' }],
    ['it has finished', { state: 'finished' }],
    ['it may be measured again', { startedAt: new Date().toISOString() }],
  ] as const) {
    test(`a run that was chosen, but has changed since: ${how}`, () => {
      const before = { state: 'running', runId: 'chosen' } as const;
      const folder = addRun('killed', 2, before);
      const [only] = removable(findRuns(root), everything, Date.now());
      assert.ok(only !== undefined);
      rmSync(folder, { recursive: true });
      addRun('killed', 2, { ...before, ...change });
      assert.throws(() => removeRun(only.run), /has changed or is gone, so it was not removed\.$/);
      assert.ok(existsSync(path.join(folder, 'run.json')));
    });
  }

  test('a run that has changed since, but removes the runs before and after it', () => {
    for (const name of ['c', 'b', 'a']) addRun(name, 2, { state: 'failed' });
    const all = removable(findRuns(root), everything, Date.now());
    rmSync(path.join(root, 'b'), { recursive: true });
    addRun('b', 2, { state: 'failed', runId: 'another' });
    const { removed, failures } = removeRuns(all);
    assert.deepEqual(removed.map(({ run }) => run.name).toSorted(), ['a', 'c']);
    assert.match(failures.join(), /has changed or is gone, so it was not removed/);
    assert.deepEqual(readdirSync(root), ['b']);
  });

  test('a link, nor what it leads to', () => {
    const elsewhere = addRun('elsewhere', 2, { state: 'failed' });
    const linked = path.join(root, 'linked');
    mkdirSync(linked);
    symlinkSync(elsewhere, path.join(linked, 'link'), 'dir');
    const runsThere = findRuns(linked);
    assert.equal(runsThere.length, 1);
    assert.deepEqual(removable(runsThere, everything, Date.now()), []);
  });

  test('what a link inside a run leads to', () => {
    const folder = addRun('failed', 2, { state: 'failed' });
    const kept = path.join(temporary, 'kept');
    mkdirSync(kept);
    writeFileSync(path.join(kept, 'precious'), 'text');
    symlinkSync(kept, path.join(folder, 'link'), 'dir');
    const [only] = removable(findRuns(root), NOTHING, Date.now());
    assert.ok(only !== undefined);
    removeRun(only.run);
    assert.equal(existsSync(folder), false);
    assert.equal(readFileSync(path.join(kept, 'precious'), 'utf8'), 'text');
  });

  test('a folder that is no run of this project, or a run of a newer version', () => {
    for (const [name, text] of [
      ['theirs', '{"name": "something else"}'],
      ['empty', ''],
      ['newer', '{"formatVersion": 99}'],
    ] as const) {
      mkdirSync(path.join(root, name));
      writeFileSync(path.join(root, name, 'run.json'), text);
    }
    mkdirSync(path.join(root, 'folder', 'run.json'), { recursive: true });
    writeFileSync(path.join(root, 'run.json'), '');
    assert.deepEqual(chosen(everything), []);
  });

  test('the reference, by whatever name', async () => {
    const link = path.join(root, 'link');
    symlinkSync(REFERENCE_FOLDER, link, 'dir');
    for (const folder of [
      REFERENCE_FOLDER,
      path.join(REFERENCE_FOLDER, 'figure-7'),
      path.dirname(REFERENCE_FOLDER),
      link,
    ]) {
      // Without --yes, because a clean that does not refuse it would remove the reference.
      const { exitCode, stderr } = await runs('clean', '--in', folder, '--days', '0');
      assert.equal(exitCode, 2);
      assert.match(stderr, /^--in must not be, hold or be in the reference, .*\.$/);
    }
  });
});

test('options of clean with list, a missing folder and an unknown action are refused in one sentence', async () => {
  for (const [words, sentence] of [
    [['list', '--unfinished'], /^--unfinished has an effect only with <action> clean/],
    [['list', '--days', '3'], /^--days has an effect only with <action> clean/],
    [['list', '--keep-last', '3'], /^--keep-last has an effect only with <action> clean/],
    [['list', '--yes'], /^--yes has an effect only with <action> clean/],
    [['list', '--in', 'no/such'], /^--in must be a folder that can be read/],
    [['clean', '--in', 'no/such'], /^--in must be a folder that can be read/],
    [['remove'], /^<action> must be one of list, clean, note, bencher, but is "remove"\.$/],
  ] as const) {
    const { exitCode, stderr } = await runs(...words);
    assert.equal(exitCode, 2, words.join(' '));
    assert.match(stderr, sentence);
    assert.equal(stderr.split('\n').length, 1);
  }
});
