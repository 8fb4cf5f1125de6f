/**
 * The benchmark at smoke size, on what every machine has, and with a peer if an earlier run has
 * built it: a build would take a minute of processor time. Systems on HBase are left out, because
 * of its start.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { cacheFolder } from '#engine';
import { temporaryFolder } from '#engine/testing';
import {
  interruptOnceMeasured,
  interruptScript,
  runScript,
} from '../harness/testing/run-script.ts';

const BENCH = new URL('main.ts', import.meta.url);
const SMOKE = ['--profile', 'smoke'];

function only(...systems: readonly string[]): readonly string[] {
  return [...SMOKE, ...systems.flatMap((system) => ['--systems', system])];
}

test('a small run measures each system, skips those that are not here, and deletes its temporary files', async () => {
  const words = only('percolator-memory', 'client-go-memory', 'client-go-page-cache');
  const ended = await runScript(BENCH, words, { env: { PATH: temporaryFolder() } });
  assert.equal(ended.exitCode, 0, ended.stderr);
  const skipped = 'client-go-memory and client-go-page-cache skipped: there is no go on PATH';
  assert.equal(ended.stderr.split(`${skipped}.\n`).length, 2, ended.stderr);
  const { findings } = ended.record();
  assert.match(findings?.check.detail ?? '', new RegExp(skipped));
  const [crawl, cells] = findings?.tables ?? [];
  assert.deepEqual(
    [crawl, cells].map((table) => table?.rows.map(([system]) => system)),
    [['percolator-memory'], ['percolator-memory']],
  );
  for (const row of [...(crawl?.rows ?? []), ...(cells?.rows ?? [])]) {
    const [, ...numbers] = row.filter((cell) => cell !== null);
    assert.ok(numbers.length >= 5 && numbers.every((one) => Number(one) > 0), String(row));
  }
  assert.ok(!readdirSync(ended.out).includes('work'));
});

test('a run that finds none of its systems says why, and ends with exit code 2', async () => {
  const words = only('client-go-memory');
  const { exitCode, stderr } = await runScript(BENCH, words, { env: { PATH: temporaryFolder() } });
  assert.equal(exitCode, 2);
  assert.match(stderr, /^--systems: client-go-memory skipped: there is no go on PATH\.$/m);
});

test('an interrupt keeps what was measured', async () => {
  const words = [...only('percolator-memory'), '--repeats', '50', '--seconds', '0.1'];
  const ended = await interruptOnceMeasured(BENCH, words);
  assert.equal(ended.exitCode, 130, ended.stderr);
  const { state, findings } = ended.record();
  assert.equal(state, 'interrupted');
  assert.equal(findings?.tables[0]?.rows.length, 1);
  assert.ok(!readdirSync(ended.out).includes('work'));
});

test('an interrupt ends a build', async (t) => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'go'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  const { PATH = '' } = process.env;
  process.env['PATH'] = [folder, PATH].join(path.delimiter);
  t.after(() => void (process.env['PATH'] = PATH));
  const beganMs = performance.now();
  const ended = await interruptScript(BENCH, only('client-go-memory'), 'Building client-go');
  assert.equal(ended.exitCode, 130, ended.stderr);
  assert.ok(performance.now() - beganMs < 60_000);
});

for (const [name, system] of [
  ['client-go', 'client-go-page-cache'],
  ['differential-dataflow', 'differential-dataflow'],
] as const) {
  test(`${name} clusters the same documents`, async (t) => {
    if (!existsSync(path.join(cacheFolder('peers', process.env), name))) {
      t.skip(`${name} was not built yet: run ./run.sh bench:peers`);
      return;
    }
    const ended = await runScript(BENCH, only(system));
    assert.equal(ended.exitCode, 0, ended.stderr);
    assert.equal(ended.record().findings?.tables[0]?.rows[0]?.[0], system);
  });
}
