/** Claims about when two versions share their packages: only if nothing would install them anew. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
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

async function isShared(ours: string, theirs: string): Promise<boolean> {
  await sharePackages(ours, theirs);
  return existsSync(path.join(theirs, 'node_modules'));
}

test('versions with the same dependencies share packages that run.sh has installed', async () => {
  const scripts = { test: 'x' };
  assert.equal(await isShared(treeOf(PROJECT, [STAMP]), treeOf({ ...PROJECT, scripts })), true);
});

test('packages that the other run.sh would install anew are not shared: it would empty ours', async () => {
  const allowScripts = { node: true, other: true };
  assert.equal(
    await isShared(treeOf(PROJECT, [STAMP]), treeOf({ ...PROJECT, allowScripts })),
    false,
  );
  assert.equal(await isShared(treeOf(PROJECT, ['a']), treeOf(PROJECT)), false);
});
