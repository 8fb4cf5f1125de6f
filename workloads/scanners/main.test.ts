/** The benchmark of scanners at its smallest. How fast they are, is not tested. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';

const BENCH = path.join(import.meta.dirname, 'main.ts');
const SMOKE = ['--scanners', '2', '--rows', '60', '--think', '5', '--repeats', '1'];

test('bench:scanners cleans every row in each mode, and says what locks and jumps were worth', async () => {
  const ended = await execaNode(BENCH, SMOKE, { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  for (const mode of ['no locks', 'locks, going on behind', 'locks, jumping elsewhere']) {
    const line = new RegExp(
      `^${mode} +[1-9][\\d,]* +\\d+\\.\\d\\d × +[1-9]\\d*\\.\\d\\d +[\\d,]+$`,
      'm',
    );
    assert.match(ended.stdout, line);
  }
});

test('a mistake on the command line is one sentence, and exit code 2', async () => {
  const ended = await execaNode(BENCH, ['--scanners', '0'], { reject: false });
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /--scanners/);
});
