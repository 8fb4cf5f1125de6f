/** The benchmark at smoke size, and its answers to bad input. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { temporaryFolder } from '#engine/testing';

const PROGRAM = fileURLToPath(new URL('bench-mapreduce.ts', import.meta.url));

const folder = temporaryFolder();

async function bench(
  options: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<{ exitCode: number | undefined; stdout: string; stderr: string }> {
  const command = [PROGRAM, '--directory', folder, ...options];
  const result = await execa(process.execPath, command, { reject: false, env: environment });
  return { exitCode: result.exitCode, stdout: result.stdout, stderr: result.stderr };
}

test('a small run prints both rates, reports the same clusters, and leaves no files', async () => {
  const { exitCode, stdout } = await bench(['--documents', '2000', '--repeats', '2']);
  assert.ok(exitCode === 0 || exitCode === 1, stdout); // A run this small may end either way.
  assert.match(stdout, /^MapReduce +[\d.]+ s +[\d,]+ documents\/s/m);
  assert.match(stdout, /^map \| sort \| reduce +[\d.]+ s +[\d,]+ documents\/s/m);
  assert.match(stdout, /^clusters +\d+, the same from both in every repeat/m);
  assert.deepEqual(await readdir(folder), []);
});

test('a wrong option is answered with one sentence that names it, and exit code 2', async () => {
  const wrong: [string[], RegExp][] = [
    [['--documents', '0'], /--documents/],
    [['--workers', 'two'], /--workers/],
    [['--repeats', '1e9'], /--repeats/],
    [['--memory', '-1'], /--memory/],
    [['--speed', '3'], /--speed/],
    [['--directory', '/proc/nowhere'], /--directory/],
    [['--documents', '100000000', '--document-bytes', '1048576'], /--directory .* free/],
  ];
  for (const [options, named] of wrong) {
    const { exitCode, stderr, stdout } = await bench(options);
    assert.equal(exitCode, 2, `${options.join(' ')}: ${stdout}`);
    assert.match(stderr, named);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
  assert.deepEqual(await readdir(folder), []);
});

test('without sort on PATH it says so and ends with exit code 2', async () => {
  const { exitCode, stderr } = await bench([], { PATH: folder });
  assert.equal(exitCode, 2);
  assert.match(stderr, /sort is not found on PATH/);
});
