/** The planner as a user starts it. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { interruptProgram, runProgram } from '../../harness/testing/run-script.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const CRAWL = '--calibration paper-2010 --documents-per-second 300 --repository 200000'.split(' ');

test('a load has a plan that its own check confirms; a second run prints the same plan in words', async () => {
  const [json, words] = await Promise.all([
    runProgram(PROGRAM, [...CRAWL, '--json']),
    runProgram(PROGRAM, CRAWL),
  ]);
  assert.equal(json.exitCode, 0, json.stderr);
  const plan = JSON.parse(json.stdout) as {
    readonly perSecond: number;
    readonly tabletServers: number;
    readonly workerMachines: number | null;
    readonly fullFirst: { readonly place: string; readonly fullAt: number };
    readonly check: { readonly share: number; readonly isFastEnough: boolean };
  };
  assert.equal(plan.perSecond, 300);
  assert.ok(plan.tabletServers >= 1 && plan.tabletServers < 5, String(plan.tabletServers));
  assert.equal(plan.workerMachines, null); // The paper's workers are on the same machines.
  // 30 % of the time free; a rounding error may cost a little of that.
  assert.ok(plan.fullFirst.fullAt > 0.999 * (300 / 0.7), String(plan.fullFirst.fullAt));
  assert.deepEqual([plan.check.share, plan.check.isFastEnough], [1, true]);

  assert.equal(words.exitCode, 0, words.stderr);
  const fullAt = Number(plan.fullFirst.fullAt.toPrecision(3)).toLocaleString('en-US');
  for (const sentence of [
    /^300 documents a second into a repository of 200,000 .* at the costs of paper-2010:$/m,
    new RegExp(
      `^${plan.tabletServers} machines?, each with a tablet server and a worker, of 4 `,
      'm',
    ),
    new RegExp(`^Full first: .*, at ${fullAt} documents a second, [\\d.]+ times the load\\.$`, 'm'),
    /^Margin: tablet servers and workers are to be free 30 % of the time/m,
    /^Checked by a simulation of the planned cluster: median [\d.]+ ms, /m,
    /^How sure: /m,
  ]) {
    assert.match(words.stdout, sentence);
  }
});

test('a brokerage has a plan', async () => {
  const words = ['--workload', 'brokerage', '--trade-results-per-second', '2.5'];
  const ended = await runProgram(PROGRAM, [...words, '--calibration', 'paper-2010']);
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /^2\.5 Trade-Results a second, 90 % of them done within 1,000 ms, /);
  assert.match(ended.stdout, /^\d tablet servers? of 4 cores, 1 client machine of 4 cores:$/m);
});

test('a latency below that of an idle cluster is one sentence, and exit code 1', async () => {
  const ended = await runProgram(PROGRAM, [...CRAWL, '--latency', '5']);
  assert.deepEqual([ended.exitCode, ended.stdout], [1, '']);
  assert.match(ended.stderr, /^No cluster at the costs of paper-2010 does that: .*\.$/m);
});

test('a load that the one oracle cannot do is one sentence, and exit code 1', async () => {
  // With a large margin each machine has little to do, and a trial is short.
  const words =
    '--calibration paper-2010 --documents-per-second 10000000 --repository 200000 --margin 90';
  const ended = await runProgram(PROGRAM, [...words.split(' '), '--check-seconds', '0']);
  assert.deepEqual([ended.exitCode, ended.stdout], [1, '']);
  assert.match(
    ended.stderr,
    /^No cluster at the costs of paper-2010 does that: its one oracle is full at .*\.$/m,
  );
});

test('ctrl-C ends the search', async () => {
  const ended = await interruptProgram(PROGRAM, CRAWL, 'simulating');
  assert.deepEqual([ended.exitCode, ended.stdout], [130, '']);
});
