/** The benchmark of scanners at its smallest size. Their speed is not tested. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { asConfig } from '../../harness/engine-settings.ts';
import { interruptScript, runScript } from '../../harness/testing/run-script.ts';

const BENCH = new URL('main.ts', import.meta.url);

test('bench:scanners cleans every row in each mode, and reports the value of locks and jumps', async () => {
  const config = path.join(temporaryFolder(), 'config.json');
  const batch = { batchDelay: 0, batchRows: 64, batchInFlight: 8 } as const;
  const tuned = { ...batch, batching: 'on', prefetch: 'learn', scanners: 1 } as const;
  writeFileSync(config, JSON.stringify(asConfig(tuned)));
  // The option prevails over the one scanner of the file.
  const words = ['--profile', 'smoke', '--scanners', '2', '--config', config];
  const ended = await runScript(BENCH, words);
  assert.equal(ended.exitCode, 0, ended.stderr);
  for (const mode of ['no locks', 'locks, skipping ahead', 'locks, jumping elsewhere']) {
    const line = new RegExp(`^  ${mode} +[1-9][\\d,]* +[\\d.]+ +[\\d.]+ +[\\d,]+$`, 'm');
    assert.match(ended.stdout, line);
  }
  const { state, findings, parameters } = ended.record();
  assert.equal(state, 'finished');
  assert.deepEqual([parameters['batching'], parameters['scanners']], ['on', 2]);
  for (const { rows } of findings?.tables ?? []) assert.equal(rows.length, 3);
  assert.equal(findings?.tables.length, 2);
});

test('bench:scanners keeps the modes that it measured before it was interrupted', async () => {
  const second = 'locks, skipping ahead, 1 of 1 ...';
  const ended = await interruptScript(BENCH, ['--profile', 'smoke'], second);
  assert.equal(ended.exitCode, 130, ended.stderr);
  const { state, findings } = ended.record();
  assert.equal(state, 'interrupted');
  for (const { rows } of findings?.tables ?? []) {
    assert.deepEqual(
      rows.map(([mode]) => mode),
      ['no locks'],
    );
  }
  assert.equal(findings?.tables.length, 2);
});
