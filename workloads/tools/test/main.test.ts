/** `./run.sh test` without what it needs. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { runProgram } from '../../harness/testing/run-script.ts';

test('without npm, which runs the checks, no test begins, and one sentence says why', async () => {
  const program = path.join(import.meta.dirname, 'main.ts');
  const { exitCode, stdout, stderr } = await runProgram(program, [], { env: { PATH: '/nowhere' } });
  assert.deepEqual([exitCode, stdout], [2, '']);
  assert.match(stderr, /^npm is needed to check the code, and is not on PATH; .*\.$/);
});
