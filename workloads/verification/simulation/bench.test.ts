/** The benchmark of the simulator at its smallest. Its speed is not tested. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';

const BENCH = path.join(import.meta.dirname, 'bench.ts');

test('bench:simulate says how many transactions a second it simulates, and whether that is enough', async () => {
  const ended = await execaNode(BENCH, ['--seconds', '1'], { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /\d+ runs, [\d,]+ transactions in \d+\.\d s, one thread/);
  assert.match(ended.stdout, /of the processor +[\d,]+ transactions a second, [1-9][\d.]* µs each/);
  assert.match(ended.stdout, /messages +[1-9][\d.]* a transaction/);
  assert.match(ended.stdout, /judging +[1-9]\d? % of the time/);
  assert.match(ended.stdout, /^(Met: at least|NOT met:) 20,000 transactions a second/m);
});
