/**
 * The tables of the reference runs, as they are in git, are what `./run.sh report` makes of their
 * records.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { reportOf } from './report.ts';
import { findRuns, REFERENCE_FOLDER } from './run-folders.ts';

const runs = findRuns(REFERENCE_FOLDER);

test('there are reference runs, and none is damaged', () => {
  assert.ok(runs.length > 0);
  assert.deepEqual(
    runs.flatMap(({ damage }) => damage ?? []),
    [],
  );
});

/** They wait to be made again: remove them here then. */
const FROM_CHANGED_CODE = ['verification/simulate'];

test('each reference run can be repeated from its commit, but for those that wait to be made again', () => {
  const changed = runs.filter(({ record }) => record?.environment.commit?.dirty !== false);
  assert.deepEqual(changed.map(({ name }) => name).toSorted(), FROM_CHANGED_CODE);
});

for (const { name, folder } of runs) {
  // Pictures are left out: drawing takes longer than all else.
  test(`the tables of ${name} are current`, () => {
    for (const [file, content] of reportOf(folder).tables) {
      const stored = readFileSync(path.join(folder, file), 'utf8');
      assert.ok(stored === String(content), `${file} is old: ./run.sh report ${folder}`);
    }
  });
}
