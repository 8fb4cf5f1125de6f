/** Hosts have the same version if they have the same code: a change without a commit is another. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { codeVersionOf } from './code-version.ts';

/** A checkout of one commit, which is the same each time. */
function checkout(): {
  readonly root: string;
  readonly write: (file: string, text: string) => void;
} {
  const root = temporaryFolder();
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  };
  for (const folder of ['engine', 'workloads', 'mapreduce-baseline', 'results/report', 'docs']) {
    write(`${folder}/a.ts`, 'one');
  }
  write('package-lock.json', '{}');
  const author = { NAME: 'x', EMAIL: 'x@example.org', DATE: '2026-01-01T00:00:00Z' };
  // Settings of the user, who may sign commits, are not for this one.
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
  };
  for (const [key, value] of Object.entries(author)) {
    env[`GIT_AUTHOR_${key}`] = value;
    env[`GIT_COMMITTER_${key}`] = value;
  }
  for (const words of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-qm', 'first'],
  ]) {
    execFileSync('git', ['-C', root, ...words], { env });
  }
  return { root, write };
}

test('a changed file, and a new one, are another version; the same changes are the same', () => {
  const [one, other] = [checkout(), checkout()];
  const clean = codeVersionOf(one.root);
  assert.match(clean, /^[0-9a-f]{40}$/);
  assert.equal(codeVersionOf(other.root), clean);
  one.write('docs/a.ts', 'two');
  assert.equal(codeVersionOf(one.root), clean, 'a page is no code');
  const seen = [clean];
  for (const [file, text] of [
    ['engine/a.ts', 'two'],
    ['engine/a.ts', 'three'],
    ['workloads/new.ts', 'one'],
    ['workloads/new.ts', 'two'],
  ] as const) {
    for (const { write } of [one, other]) write(file, text);
    const version = codeVersionOf(one.root);
    assert.match(version, /^[0-9a-f]{40} with the uncommitted changes [0-9a-f]{12}$/);
    assert.equal(codeVersionOf(other.root), version);
    assert.ok(!seen.includes(version), version);
    seen.push(version);
  }
});

test('a file that is gone is a change, too', () => {
  const { root } = checkout();
  const clean = codeVersionOf(root);
  rmSync(path.join(root, 'engine/a.ts'));
  assert.notEqual(codeVersionOf(root), clean);
});

test('two archives are the same version only if their code is', () => {
  const [one, other] = [checkout(), checkout()];
  for (const { root } of [one, other]) rmSync(path.join(root, '.git'), { recursive: true });
  const version = codeVersionOf(one.root);
  assert.match(version, /^an archive with the code [0-9a-f]{12}$/);
  for (const { write } of [one, other]) write('docs/a.ts', 'two');
  assert.equal(codeVersionOf(other.root), version);
  other.write('engine/deep/a.ts', 'two');
  assert.notEqual(codeVersionOf(other.root), version);
});

test('a folder of another checkout, and one that git refuses, is an archive', () => {
  const { root } = checkout();
  assert.match(codeVersionOf(path.join(root, 'engine')), /^an archive/);
  writeFileSync(path.join(root, '.git/HEAD'), 'damaged');
  assert.match(codeVersionOf(root), /^an archive with the code [0-9a-f]{12}$/);
});
