/** Which runs have a page that links to the page of all runs. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { isMeasuredHere } from './run-folders.ts';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';

test('a run in results/runs was measured here, even if results/runs is a link', () => {
  const folder = temporaryFolder();
  const [disk, linked, missing] = ['disk', 'runs', 'missing'].map((name) =>
    path.join(folder, name),
  ) as [string, string, string];
  mkdirSync(path.join(disk, 'run'), { recursive: true });
  symlinkSync(disk, linked, 'dir');
  for (const runsFolder of [disk, linked]) {
    assert.ok(isMeasuredHere(path.join(disk, 'run'), runsFolder));
    assert.ok(isMeasuredHere(path.join(linked, 'run'), runsFolder));
    assert.ok(!isMeasuredHere(disk, runsFolder));
  }
  assert.ok(!isMeasuredHere(path.join(disk, 'run'), missing));
});
