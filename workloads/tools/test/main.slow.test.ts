/** `./run.sh test`: it finds test files in any folder, and says so if npm is missing. */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { runProgram } from '../../harness/testing/run-script.ts';
import { patternOf } from './slow.ts';

test('a test file is found in a folder of any name', () => {
  for (const name of ['[paper] (2)', '{a,b}', 'what?*', '!+@(x)', ']a[']) {
    const folder = path.join(temporaryFolder(), name);
    mkdirSync(folder);
    const file = path.join(folder, 'tests.ts');
    writeFileSync(file, '');
    assert.deepEqual(globSync(patternOf(file)), [file]);
  }
});

test('without npm, which runs the checks, no test begins, and one sentence says why', async () => {
  const program = path.join(import.meta.dirname, 'main.ts');
  const { exitCode, stdout, stderr } = await runProgram(program, [], { env: { PATH: '/nowhere' } });
  assert.deepEqual([exitCode, stdout], [2, '']);
  assert.match(stderr, /^npm is needed to check the code, and is not on PATH; .*\.$/);
});
