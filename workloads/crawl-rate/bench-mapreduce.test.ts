/** The benchmark at smoke size, and its answers to bad input. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { runScript } from '../harness/testing/run-script.ts';

const BENCH = new URL('bench-mapreduce.ts', import.meta.url);

test('a small run prints both rates, reports the same clusters, and leaves no files', async () => {
  const ended = await runScript(BENCH, ['--profile', 'smoke']);
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /^ +MapReduce +([\d.]+ +){3}[\d,]+$/m);
  assert.match(ended.stdout, /^ +map \| sort \| reduce +([\d.]+ +){3}[\d,]+$/m);
  assert.match(ended.stdout, /^Checked: both found the same \d+ clusters in every repeat\.$/m);
  assert.deepEqual(
    ended.record().findings?.tables.map(({ rows }) => rows.length),
    [2, 3],
  );
  assert.ok(!readdirSync(ended.out).includes('work'));
});

test('a wrong option is answered with one sentence that names it, and exit code 2', async () => {
  const wrong: [string[], RegExp][] = [
    [['--documents', '0'], /--documents/],
    [['--workers', 'two'], /--workers/],
    [['--repeats', '1e9'], /--repeats/],
    [['--memory', '-1'], /--memory/],
    [['--speed', '3'], /--speed/],
    [['--directory', 'here'], /There is no --directory: it is now --out/],
    [['--documents', '100000000', '--document-bytes', '1048576'], /--out .* free/],
  ];
  for (const [words, named] of wrong) {
    const ended = await runScript(BENCH, words);
    assert.equal(ended.exitCode, 2, `${words.join(' ')}: ${ended.stdout}`);
    assert.match(ended.stderr, named);
    assert.equal(ended.stderr.trim().split('\n').length, 1);
    assert.ok(!existsSync(ended.out));
  }
});

test('without sort on PATH it says so and ends with exit code 2', async () => {
  const { exitCode, stderr } = await runScript(BENCH, [], { env: { PATH: temporaryFolder() } });
  assert.equal(exitCode, 2);
  assert.match(stderr, /^.*sort is not found on PATH.*$/);
});
