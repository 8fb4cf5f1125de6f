/** The benchmark at smoke size, and its answer to bad input. */
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { readRunRecord } from '#results';
import { temporaryFolder } from '#engine/testing';
import { asConfig } from '../../harness/engine-settings.ts';

const TUNED = JSON.stringify(
  asConfig({
    batching: 'on',
    batchDelay: 0,
    batchRows: 64,
    batchInFlight: 8,
    prefetch: 'learn',
    scanners: 2,
  }),
);
const PROGRAM = fileURLToPath(new URL('main.ts', import.meta.url));

test('a small run prints both ratios, reads few versions after collection, and leaves no files', async () => {
  const folder = temporaryFolder();
  const work = join(folder, 'work');
  const out = join(folder, 'run');
  await mkdir(work);
  const config = join(folder, 'config.json');
  await writeFile(config, TUNED);
  const options = ['--directory', work, '--versions', '300', '--reads', '200', '--out', out];
  const small = [...options, '--message-lifetime', '20', '--config', config];
  const { exitCode, stdout } = await execa(process.execPath, [PROGRAM, ...small], {
    reject: false,
  });
  assert.ok(exitCode === 0 || exitCode === 1, stdout); // A run this small may end either way.
  assert.match(stdout, /^without a collector +300 +[\d.]+ µs +[\d.]+ µs +[\d.]+$/m);
  assert.match(stdout, /^with a running collector +1 +[\d.]+ µs +[\d.]+ µs +[\d.]+$/m);
  assert.match(stdout, /^(NOT a|A)ccepted: /m);
  assert.deepEqual(await readdir(work), []);
  const { state, findings, targets, parameters } = readRunRecord(out);
  assert.equal(state, 'finished');
  assert.deepEqual(
    findings?.tables[0]?.rows.map(([label, versions]) => [label, versions]),
    [
      ['without a collector', 300],
      ['with a running collector', 1],
    ],
  );
  assert.equal(targets[0]?.met, exitCode === 0);
  assert.equal(parameters['batching'], 'on');
});

test('a wrong option is answered with one sentence that names it, and exit code 2', async () => {
  const run = await execa(process.execPath, [PROGRAM, '--versions', '0'], { reject: false });
  assert.equal(run.exitCode, 2);
  assert.match(run.stderr, /--versions/);
});
