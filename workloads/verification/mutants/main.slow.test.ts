/** `./run.sh mutants` as a user runs it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runScript } from '../../harness/testing/run-script.ts';

const MAIN = new URL('main.ts', import.meta.url);

describe('mutants', () => {
  test('hunts the named mutant, and says which judge convicted it', async () => {
    const ran = await runScript(MAIN, ['--only', 'no-write-check', '--seeds', '20']);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(ran.stderr, /^Plan: 1 mutant, up to 20 seeds of each; about /);
    assert.match(ran.stdout, /^ {2}P14 +no-write-check +\S.* \d+ +\d+ +prewrite-after-commit$/m);
    assert.match(ran.stdout, / seed  explore --link$/m);
    assert.match(ran.stdout, /^Checked: none of 1 mutant got away\.$/m);
    assert.equal(ran.record().parameters['only'], 'no-write-check');
  });

  test('has proven nothing if one gets away', async () => {
    const one = ['--only', 'no-second-look-at-leases', '--seeds', '1', '--seed', '18'];
    const ran = await runScript(MAIN, one);
    assert.equal(ran.exitCode, 1);
    assert.match(ran.stdout, /GOT AWAY/);
    assert.match(ran.stdout, /^NOT proven: 1 of 1 mutant got away: no-second-look-at-leases\.$/m);
  });
});
