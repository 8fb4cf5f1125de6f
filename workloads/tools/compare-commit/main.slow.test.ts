/** Comparing with an older commit, as a user runs it. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { runProgram } from '../../harness/testing/run-script.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
/** Its comma also separates the runs of a side in a comparison. */
const TMPDIR = path.join(temporaryFolder(), 'a,b');
mkdirSync(TMPDIR);

test('both versions are run in the folder of the caller and compared, and nothing is left over', async () => {
  const caller = temporaryFolder();
  writeFileSync(path.join(caller, 'settings.json'), '{"profile": "smoke"}');
  const words = ['HEAD', '--run', 'bench:oracle --config settings.json', '--repeats', '1'];
  const env = { TMPDIR, npm_lifecycle_event: 'compare:commit', INIT_CWD: caller };
  const { stdout, stderr, exitCode } = await runProgram(PROGRAM, words, { env });
  assert.match(stderr, /run 1 of 1, before: bench:oracle/);
  assert.match(stderr, /run 1 of 1, now: bench:oracle/);
  assert.match(stdout, /timestamps/);
  assert.equal(exitCode, 2, stderr);
  assert.match(stderr, /^No metric has a verdict, because .*: set --repeats to 3 or more\.$/m);
  assert.deepEqual(readdirSync(TMPDIR), []);
  const { stdout: trees } = await execa('git', ['worktree', 'list'], { cwd: import.meta.dirname });
  assert.ok(!trees.includes(path.basename(TMPDIR)), trees);
});

test('a script that cannot be started is reported with the reason', async () => {
  const { commit, env } = await commitWithoutRunSh();
  const words = [commit, '--run', 'bench:oracle'];
  const { stderr, exitCode } = await runProgram(PROGRAM, words, { env: { TMPDIR, ...env } });
  assert.equal(exitCode, 2, stderr);
  assert.match(
    stderr,
    /^--run is .*; in the older one it could not be started: .*run\.sh ENOENT\.$/m,
  );
  assert.deepEqual(readdirSync(TMPDIR), []);
});

/** A commit of this repository whose new objects are in a folder of their own. */
async function commitWithoutRunSh(): Promise<{
  readonly commit: string;
  /** With it, git finds the commit. */
  readonly env: Readonly<Record<string, string>>;
}> {
  const folder = temporaryFolder();
  const inRepository = { cwd: path.resolve(import.meta.dirname, '../../..') };
  const where = ['rev-parse', '--path-format=absolute', '--git-path', 'objects'];
  const { stdout: objects } = await execa('git', where, inRepository);
  const env = { GIT_OBJECT_DIRECTORY: folder, GIT_ALTERNATE_OBJECT_DIRECTORIES: objects };
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  const git = async (...words: string[]): Promise<string> => {
    const index = { GIT_INDEX_FILE: path.join(folder, 'index') };
    const all = [...author, ...words];
    return (await execa('git', all, { ...inRepository, env: { ...env, ...index } })).stdout;
  };
  await git('read-tree', 'HEAD');
  await git('update-index', '--force-remove', 'run.sh');
  const tree = await git('write-tree');
  return { commit: await git('commit-tree', tree, '-m', 'without run.sh'), env };
}

const NO_RUN = /^--run must be a script that measures or proves and its options, /;

for (const [name, words, sentence] of [
  [
    'a commit that does not exist',
    ['no-such', '--run', 'x'],
    /^<commit> is "no-such", and must be a com/,
  ],
  [
    'an option in place of the commit',
    ['--run', 'x', '--', '--all'],
    /^<commit> is "--all", and must be a com/,
  ],
  ['no script', ['HEAD'], /^--run must be given/],
  ['nothing', ['HEAD', '--run', ' '], NO_RUN],
  ['no script of this repository', ['HEAD', '--run', 'rm -rf x'], NO_RUN],
  ['a script without a record', ['HEAD', '--run', 'fsck --store x'], NO_RUN],
  [
    'an argument in quotes',
    ['HEAD', '--run', 'bench:oracle "x'],
    /^--run must be without quotes .*/,
  ],
  ['a folder', ['HEAD', '--run', 'bench:oracle --out x'], /^--run must be without --out, .*/],
  [
    'a script that fails',
    ['HEAD', '--run', 'bench:oracle --secconds 1'],
    /^--run is "bench:oracle --secconds 1", .* exit code 2/m,
  ],
] as const) {
  test(`${name} is reported in a sentence, and nothing is left over`, async () => {
    const { stderr, exitCode } = await runProgram(PROGRAM, words, { env: { TMPDIR } });
    assert.equal(exitCode, 2, stderr);
    assert.match(stderr, sentence);
    assert.deepEqual(readdirSync(TMPDIR), []);
  });
}
