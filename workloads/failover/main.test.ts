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

test('a mistake on the command line is one sentence, and exit code 2', async () => {
  const mistakes = [
    [['--region-servers', '2'], /^--region-servers must be .* from 3 to 24, but is "2"\.$/],
    [['--down', '1'], /^--down must be .*, but is "1"\.$/],
    [
      ['--rate', '100', '--capacity-seconds', '60'],
      /^--capacity-seconds has an effect only with no --rate, but --rate is 100\.$/,
    ],
    [['--repository', '500'], /^--repository has an effect only with --workload crawl-rate, but/],
  ] as const;
  for (const [words, sentence] of mistakes) {
    const ended = await runScript(BENCH, words, { env });
    assert.equal(ended.exitCode, 2);
    assert.match(ended.stderr, sentence);
  }
});

test('without Java there is one sentence, and exit code 2', async () => {
  const ended = await runScript(BENCH, ['--profile', 'smoke'], { env });
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /^bench:failover cannot run here: a local HBase needs Java 11 .*\.$/);
  assert.equal(ended.stdout, '');
});
