/** The benchmark of the simulator at its smallest. Its speed is not tested. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interruptScript, runScript } from '../../harness/testing/run-script.ts';
import { speedFindings } from './findings.ts';

const BENCH = new URL('bench.ts', import.meta.url);

test('bench:simulate says how many transactions a second it simulates, and what is enough', async () => {
  const { exitCode, stdout, stderr } = await runScript(BENCH, ['--profile', 'smoke']);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^ {2}the processor +[1-9][\d,]* +[1-9][\d.,]*$/m);
  assert.match(stdout, /^ {2}messages +% simulating +% judging\n +[1-9][\d.]* +\d+ +\d\d?$/m);
  assert.match(stdout, /^Checked: none of \d+ runs broke a rule\.$/m);
  assert.match(stdout, /^ {2}not judged {2}transactions a second of the processor: .*20,000/m);
});

test('bench:simulate has no numbers if it is interrupted', async () => {
  const ran = await interruptScript(BENCH, ['--seconds', '600'], 'warming up');
  assert.equal(ran.exitCode, 130, ran.stderr);
  const { state, findings } = ran.record();
  assert.deepEqual([state, findings?.tables], ['interrupted', []]);
});

test('bench:simulate has no numbers if a run broke a rule', () => {
  const times = { transactions: 9, messages: 9, wallMs: 9, cpuMs: 9, judgingMs: 1 };
  const warm = { ...times, runs: 2, broken: [7] };
  const { check, tables, targets } = speedFindings(warm, { ...times, runs: 3, broken: [] });
  assert.equal(check.detail, '1 of 5 runs broke a rule: seed 7');
  assert.deepEqual([check.passed, tables, targets], [false, [], []]);
});
