/** Reference runs are made again by their own commands, and replaced only by whole runs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { findRuns, readRunRecord, REFERENCE_FOLDER } from '#results';
import { assertRefused, runProgram } from '../../harness/testing/run-script.ts';
import { type Reference, referencesOf, Remaking } from './remaking.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const CHECKOUT = path.join(import.meta.dirname, '../../..');

/** A checkout whose `run.sh` puts a record into `--out`, which is its last word, and exits so. */
function tree(exitCode: number, change: object = {}) {
  const root = temporaryFolder();
  const references = path.join(root, 'results/reference');
  mkdirSync(path.join(references, 'group/one'), { recursive: true });
  cpSync(
    path.join(REFERENCE_FOLDER, 'web-index/run.json'),
    path.join(references, 'group/one/run.json'),
  );
  writeFileSync(path.join(references, 'group/one/old.csv'), '');
  const made = {
    ...readRunRecord(path.join(REFERENCE_FOLDER, 'web-index')),
    label: 'exploratory',
    ...change,
  };
  writeFileSync(path.join(root, 'made.json'), JSON.stringify(made));
  const script = `#!/bin/sh\nfor out; do :; done\nmkdir -p "$out" && cp "${root}/made.json" "$out/run.json"\necho why >&2\nexit ${exitCode}\n`;
  writeFileSync(path.join(root, 'run.sh'), script);
  chmodSync(path.join(root, 'run.sh'), 0o755);
  const remaking = new Remaking(references, path.join(root, 'work'), root);
  return { references, make: () => remaking.make(oneOf(references), new AbortController().signal) };
}

function oneOf(references: string): Reference {
  const [one, ...others] = referencesOf(findRuns(references));
  assert.ok(one !== undefined && others.length === 0);
  return one;
}

test('a whole run takes the place of the old one with all its files', async () => {
  const { references, make } = tree(0);
  assert.equal(await make(), null);
  const folder = path.join(references, 'group/one');
  assert.equal(readRunRecord(folder).label, 'exploratory');
  assert.ok(!existsSync(path.join(folder, 'old.csv')));
  assert.deepEqual(
    findRuns(references).map(({ name }) => name),
    ['group/one'],
  );
});

test('a run that is not whole leaves the old one, and says why', async () => {
  const { findings, environment } = readRunRecord(path.join(REFERENCE_FOLDER, 'web-index'));
  const commit = { hash: environment.commit?.hash, dirty: true };
  for (const [exitCode, change, reason] of [
    [0, { state: 'interrupted' }, 'the run is interrupted'],
    [
      1,
      {
        findings: { ...findings, check: { passed: false, detail: 'lost' }, tables: [], charts: [] },
      },
      'its check failed: lost',
    ],
    [0, { environment: { ...environment, commit } }, 'the code was changed while it ran'],
    [1, {}, 'why'],
  ] as const) {
    const { references, make } = tree(exitCode, change);
    const before = readFileSync(path.join(references, 'group/one/run.json'), 'utf8');
    assert.equal(await make(), reason);
    assert.equal(readFileSync(path.join(references, 'group/one/run.json'), 'utf8'), before);
  }
});

test('a reference is current as long as no code has changed since its commit', () => {
  const remaking = new Remaking(REFERENCE_FOLDER, temporaryFolder(), CHECKOUT);
  const git = (...words: string[]): string =>
    execFileSync('git', words, { cwd: CHECKOUT, encoding: 'utf8' }).trim();
  const one = oneOf(tree(0).references);
  const lastOfCode = git('log', '-1', '--format=%H', '--', 'engine');
  const before = git('log', '-1', '--format=%H', `${lastOfCode}~1`, '--', 'engine');
  assert.equal(remaking.isCurrent({ ...one, commit: before }), false);
  assert.equal(remaking.isCurrent({ ...one, commit: null }), false);
  assert.equal(remaking.isCurrent({ ...one, commit: 'f'.repeat(40) }), false);
});

test('the list has each reference with its command; an unknown name is refused', async () => {
  const { stdout, exitCode } = await runProgram(PROGRAM, ['--list']);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^\d+ to be made again, about .*; \d+ are of this code\.$/m);
  const says =
    /^--only must name runs in results\/reference \(.*figure-7.*\), but names "figure-77"\.$/;
  await assertRefused(PROGRAM, [[['--only', 'figure-7,figure-77'], says]]);
});
