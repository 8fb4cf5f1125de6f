/**
 * Claims about versions that share packages: they do so only if run.sh would not install others,
 * and git does not see the shared ones.
 */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { sharePackages } from './share-packages.ts';

const folder = temporaryFolder();
const STAMP = '.set-up-by-run.sh';
const PROJECT = { dependencies: { a: '1.0.0' }, allowScripts: { node: true }, scripts: {} };

/** A working tree; with packages if `installed` has files. */
function treeOf(project: object, installed: readonly string[] = []): string {
  const tree = mkdtempSync(path.join(folder, 'tree-'));
  writeFileSync(path.join(tree, 'package.json'), JSON.stringify(project));
  writeFileSync(path.join(tree, 'package-lock.json'), '{}');
  if (installed.length > 0) mkdirSync(path.join(tree, 'node_modules'));
  for (const name of installed) writeFileSync(path.join(tree, 'node_modules', name), '');
  return tree;
}

/** Shares the packages of `ours` if that is safe, and resolves to whether it did. */
async function tryToShare(ours: string, theirs: string): Promise<boolean> {
  await sharePackages(ours, theirs);
  return existsSync(path.join(theirs, 'node_modules'));
}

test('versions with the same dependencies share packages that run.sh has installed', async () => {
  const scripts = { test: 'x' };
  assert.equal(await tryToShare(treeOf(PROJECT, [STAMP]), treeOf({ ...PROJECT, scripts })), true);
});

test('git sees no change in a tree with shared packages, so its records are not called dirty', async () => {
  const theirs = treeOf(PROJECT);
  copyFileSync(path.join(import.meta.dirname, '../../../.gitignore'), `${theirs}/.gitignore`);
  assert.equal(await tryToShare(treeOf(PROJECT, [STAMP]), theirs), true);
  const git = (...words: string[]): Promise<{ readonly stdout: string }> =>
    execa('git', words, { cwd: theirs });
  await git('init', '--quiet');
  assert.equal((await git('status', '--porcelain', '--', 'node_modules')).stdout, '');
});

test('an installation over shared packages leaves ours alone', async () => {
  const [ours, theirs] = [treeOf(PROJECT, [STAMP]), treeOf(PROJECT)];
  const program = path.join(ours, 'node_modules/a/program');
  mkdirSync(path.dirname(program));
  writeFileSync(program, '');
  assert.equal(await tryToShare(ours, theirs), true);
  // npm ci begins like this.
  for (const name of readdirSync(path.join(theirs, 'node_modules'))) {
    rmSync(path.join(theirs, 'node_modules', name), { recursive: true, force: true });
  }
  assert.ok(existsSync(program));
});

test('packages that the other run.sh would install anew, or that run.sh did not install, are not shared', async () => {
  const others = [
    { allowScripts: { node: true, other: true } },
    { dependencies: { a: '2.0.0' } },
    { devDependencies: { b: '1.0.0' } },
  ];
  for (const other of others) {
    const theirs = treeOf({ ...PROJECT, ...other });
    assert.equal(await tryToShare(treeOf(PROJECT, [STAMP]), theirs), false, JSON.stringify(other));
  }
  const locked = treeOf(PROJECT);
  writeFileSync(path.join(locked, 'package-lock.json'), '{"other": true}');
  assert.equal(await tryToShare(treeOf(PROJECT, [STAMP]), locked), false, 'another lockfile');
  assert.equal(await tryToShare(treeOf(PROJECT, ['a']), treeOf(PROJECT)), false, 'no stamp');
});
