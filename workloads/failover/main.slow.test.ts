/**
 * The failure of region servers, as a user starts it. The run itself takes more than a minute, and
 * is not among the tests: `./run.sh bench:failover --profile smoke`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runScript } from '../harness/testing/run-script.ts';

const BENCH = new URL('main.ts', import.meta.url);
/** Without Java, an option that is wrongly accepted starts no HBase. */
const env = { JAVA_HOME: '/nowhere' };

test('without Java there is one sentence, and exit code 2', async () => {
  const ended = await runScript(BENCH, ['--profile', 'smoke'], { env });
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /^bench:failover cannot run here: a local HBase needs Java 11 .*\.$/);
  assert.equal(ended.stdout, '');
});

for (const [words, sentence] of [
  [['--cut', '--pause'], /^--cut and --pause exclude each other: /],
  [
    ['--cut', '--kill', 'oracle'],
    /^--cut has an effect only with --kill region-servers, but --kill is oracle\.$/,
  ],
  [
    ['--hosts', '3'],
    /^--hosts: bench:failover kills servers of an HBase that it starts on this machine; /,
  ],
] as const) {
  test(`${words.join(' ')} is refused in a sentence`, async () => {
    const ended = await runScript(BENCH, words, { env });
    assert.equal(ended.exitCode, 2);
    assert.match(ended.stderr, sentence);
    assert.equal(ended.stdout, '');
  });
}
