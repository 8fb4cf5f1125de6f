/** Files of tests that would never end are ended, fail, and say why. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('standstill.fixture.ts', import.meta.url));

for (const [claim, STANDSTILL, says] of [
  [
    'a test that loops without waiting is ended, although no timer can fire',
    'loop',
    /A test loops without waiting for anything: its process is killed\./,
  ],
  [
    'a file that something keeps alive after its tests is ended',
    'open',
    /A file of tests does not end: its process is killed\./,
  ],
] as const) {
  test(claim, () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { status, stdout } = spawnSync(process.execPath, ['--test', FILE], {
      env: { ...env, STANDSTILL },
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(stdout, says);
  });
}
