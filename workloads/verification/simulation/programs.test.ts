/** The programs of simulation as their user starts them. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';

const SIMULATE = path.join(import.meta.dirname, 'main.ts');
const MUTANTS = path.join(import.meta.dirname, '../mutants/main.ts');

test('simulate says what it has simulated, and succeeds', async () => {
  const ended = await execaNode(SIMULATE, ['--seeds', '8', '--from', '40'], { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /Seeds 40 to 47/);
  assert.match(ended.stdout, /8 runs, [\d,]+ transactions in /);
  assert.match(ended.stdout, /No run broke a rule\./);
});

test('simulate lists the faults that never occurred in these runs', async () => {
  const ended = await execaNode(SIMULATE, ['--seeds', '1', '--from', '18'], { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /NOT COVERED, because they never happened: .*loseRequest/);
});

test('simulate tells the story of a seed', async () => {
  const ended = await execaNode(SIMULATE, ['--story', '--from', '3'], { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /ms {2}last: /);
});

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
