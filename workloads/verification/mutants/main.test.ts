/** `./run.sh mutants` as a user runs it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { interruptScript, runScript } from '../../harness/testing/run-script.ts';

const MAIN = new URL('main.ts', import.meta.url);

describe('mutants', () => {
  test('hunts the named mutant, and says which judge convicted it', async () => {
    const ran = await runScript(MAIN, ['--only', 'no-write-check', '--seeds', '20']);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(ran.stderr, /^Plan: 1 mutant, up to 20 seeds of each; about /);
    assert.match(ran.stdout, /^ {2}P14 +no-write-check +\S.* \d+ +\d+$/m);
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

  test('ends at once when it is interrupted, and says how many hunts have ended', async () => {
    // Its first conviction takes half a minute.
    const endless = ['--only', 'no-second-look-at-leases', '--seeds', '1000000'];
    const ran = await interruptScript(MAIN, endless, 'hunting ...');
    assert.equal(ran.exitCode, 130, ran.stderr);
    assert.match(ran.stdout, /^NOT proven: none of the 0 of 1 mutant that ended got away\.$/m);
    assert.equal(ran.record().state, 'interrupted');
  });

  for (const option of [['--update'], ['--seed', '77']]) {
    test(`refuses ${option.join(' ')} if it tries only the seeds that are known`, async () => {
      const ran = await runScript(MAIN, option);
      assert.equal(ran.exitCode, 2);
      assert.match(
        ran.stderr,
        /^--(?:update|seed) needs --seeds of at least 1, .* --seeds is 0\.$/,
      );
    });
  }

  test('refuses an unknown name in one sentence', async () => {
    const ran = await runScript(MAIN, ['--only', 'unknown']);
    assert.equal(ran.exitCode, 2);
    assert.match(ran.stderr, /^--only must name a mutant, .* but is "unknown"\.$/);
  });
});
