/** The benchmark at smoke size, and its answers to bad input. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { interruptOnceMeasured, runScript } from '../harness/testing/run-script.ts';

const BENCH = new URL('bench-mapreduce.ts', import.meta.url);

test('a small run prints all rates, reports the same clusters, and deletes its temporary files', async () => {
  const ended = await runScript(BENCH, ['--profile', 'smoke']);
  assert.equal(ended.exitCode, 0, ended.stderr);
  for (const engine of ['MapReduce', 'sort', 'DuckDB']) {
    assert.match(ended.stdout, new RegExp(`^ +${engine} +2 +([\\d.]+ +){3}[\\d,]+ `, 'm'));
  }
  assert.match(ended.stdout, /^Checked: all 3 engines found the same clusters in every run\.$/m);
  assert.equal(ended.record().findings?.tables[0]?.rows.length, 3);
  assert.ok(!readdirSync(ended.out).includes('work'));
});

test('an interrupt keeps the repeats that were measured', async () => {
  const ended = await interruptOnceMeasured(BENCH, ['--profile', 'smoke', '--repeats', '20']);
  assert.equal(ended.exitCode, 130, ended.stderr);
  const { state, findings } = ended.record();
  assert.equal(state, 'interrupted');
  const runs = findings?.tables[0]?.rows.map((row) => Number(row[1])) ?? [];
  assert.equal(runs.length, 3);
  for (const count of runs) assert.ok(count > 0 && count === runs[0], String(runs));
});

test('without sort on PATH it says so and ends with exit code 2', async () => {
  const { exitCode, stderr } = await runScript(BENCH, [], { env: { PATH: temporaryFolder() } });
  assert.equal(exitCode, 2);
  assert.match(stderr, /^.*sort is not found on PATH.*$/);
});
