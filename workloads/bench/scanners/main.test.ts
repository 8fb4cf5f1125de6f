/** The benchmark of scanners at its smallest size. Their speed is not tested. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord } from '#results';
import { asConfig } from '../../harness/engine-settings.ts';

const BENCH = path.join(import.meta.dirname, 'main.ts');
const SMOKE = ['--scanners', '2', '--rows', '60', '--think', '5', '--repeats', '1'];

test('bench:scanners cleans every row in each mode, and reports the value of locks and jumps', async () => {
  const folder = temporaryFolder();
  const [out, config] = ['run', 'config.json'].map((name) => path.join(folder, name));
  const batch = { batchDelay: 0, batchRows: 64, batchInFlight: 8 } as const;
  const tuned = { ...batch, batching: 'on', prefetch: 'learn', scanners: 1 } as const;
  writeFileSync(config ?? '', JSON.stringify(asConfig(tuned)));
  const options = [...SMOKE, '--config', config ?? '', '--out', out ?? ''];
  const ended = await execaNode(BENCH, options, { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  for (const mode of ['no locks', 'locks, skipping ahead', 'locks, jumping elsewhere']) {
    const line = new RegExp(
      `^${mode} +[1-9][\\d,]* +\\d+\\.\\d\\d × +[1-9]\\d*\\.\\d\\d +[\\d,]+$`,
      'm',
    );
    assert.match(ended.stdout, line);
  }
  const { state, findings, parameters } = readRunRecord(out ?? '');
  assert.equal(state, 'finished');
  assert.deepEqual([parameters['batching'], parameters['scanners']], ['on', 2]);
  for (const { rows } of findings?.tables ?? []) assert.equal(rows.length, 3);
  assert.equal(findings?.tables.length, 2);
});

test('a mistake on the command line is one sentence, and exit code 2', async () => {
  const ended = await execaNode(BENCH, ['--scanners', '0'], { reject: false });
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /--scanners/);
});
