/** The benchmark of the oracle at its smallest size. Its speed is not tested. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord } from '#results';
import { interruptOnceMeasured } from '../../harness/testing/run-script.ts';

const BENCH = path.join(import.meta.dirname, 'main.ts');
const SMOKE = ['--clients', '1,2', '--callers', '1000', '--seconds', '0.2', '--warm-up', '0.1'];

test('bench:oracle measures each number of clients, then few callers, and does not judge its target at so small a load', async () => {
  const folder = temporaryFolder();
  const out = path.join(folder, 'run');
  const ended = await execaNode(BENCH, [...SMOKE, '--out', out], { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  const { state, findings, targets, parameters } = readRunRecord(out);
  assert.equal(state, 'finished');
  assert.deepEqual(
    findings?.tables[0]?.rows.map(([clients, callers]) => [clients, callers]),
    [
      [1, 1_000],
      [2, 1_000],
      [1, 100],
    ],
  );
  assert.deepEqual(
    [targets[0]?.met, targets[0]?.reason],
    [null, 'fewer than 60,000 callers asked'],
  );
  assert.match(ended.stdout, /^ +1 +1,000 +[1-9][\d,]+ /m);
  assert.deepEqual(parameters['clients'], [1, 2]);
});

test('bench:oracle keeps the points that it measured before it was interrupted', async () => {
  const words = ['--clients', '1,2,3,4', '--callers', '1000', '--seconds', '0.3', '--warm-up', '0'];
  const ended = await interruptOnceMeasured(BENCH, words);
  assert.equal(ended.exitCode, 130, ended.stderr);
  const { state, findings, targets } = ended.record();
  assert.equal(state, 'interrupted');
  assert.equal(targets[0]?.reason, 'not all points were measured');
  assert.deepEqual(findings?.tables[0]?.rows[0]?.slice(0, 2), [1, 1_000]);
});
