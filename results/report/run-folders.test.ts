/** Which runs have a page that links to the page of all runs. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { isMeasuredHere, refuseAsReference } from './run-folders.ts';
import type { RunRecord } from './run-record.ts';
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

test('a run of uncommitted changes, or of no commit, is no reference', () => {
  const folder = temporaryFolder();
  const refuse = (out: string, dirty: boolean | null): void => {
    const commit = dirty === null ? null : { hash: 'abc', dirty };
    const environment = { commit } as RunRecord['environment'];
    refuseAsReference(path.join(folder, out), { environment }, path.join(folder, 'reference'));
  };
  const changes =
    /^UsageError: --out .*figure-7 would be a reference, .* has uncommitted changes: /;
  assert.throws(() => refuse('reference/figure-7', true), changes);
  assert.throws(() => refuse('reference/group/figure-7', true), changes);
  assert.throws(() => refuse('reference/figure-7', null), /this is not a git checkout/);
  refuse('reference/figure-7', false);
  refuse('runs/figure-7', true);
  refuse('reference-of-others/figure-7', null);
});
