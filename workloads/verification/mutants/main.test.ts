/** `./run.sh mutants` as a user runs it. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';

const MUTANTS = path.join(import.meta.dirname, 'main.ts');

test('mutants hunts the named mutant, and says which judge convicted it', async () => {
  const only = ['--only', 'no-write-check', '--seeds', '20'];
  const ended = await execaNode(MUTANTS, only, { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /^P14 +no-write-check +\S.*\d+ \(seed \d+\)$/m);
  assert.match(ended.stdout, /1 of 1 mutants were caught\./);
});

test('mutants ends with 1 if one gets away', async () => {
  const one = ['--only', 'no-second-look-at-leases', '--seeds', '1', '--from', '18'];
  const ended = await execaNode(MUTANTS, one, { reject: false });
  assert.equal(ended.exitCode, 1);
  assert.match(ended.stdout, /GOT AWAY/);
});

test('mutants refuses an unknown name in one sentence', async () => {
  const ended = await execaNode(MUTANTS, ['--only', 'unknown'], { reject: false });
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /--only must name a mutant/);
});
