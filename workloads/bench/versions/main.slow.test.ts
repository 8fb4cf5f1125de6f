/** The benchmark at smoke size, and its answer to bad input. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { asConfig } from '../../harness/engine-settings.ts';
import { runScript } from '../../harness/testing/run-script.ts';

const BENCH = new URL('main.ts', import.meta.url);

test('a small run compares reads without and with a collector, which leaves one version, and deletes its temporary files', async () => {
  const config = path.join(temporaryFolder(), 'config.json');
  const batch = { batchDelay: 0, batchRows: 64, batchInFlight: 8 } as const;
  const tuned = { ...batch, batching: 'on', prefetch: 'learn', scanners: 2 } as const;
  writeFileSync(config, JSON.stringify(asConfig(tuned)));
  const ended = await runScript(BENCH, ['--profile', 'smoke', '--config', config]);
  assert.equal(ended.exitCode, 0, ended.stderr);
  assert.match(ended.stdout, /^ +without a collector +300( +[\d.,]+){4}$/m);
  assert.match(ended.stdout, /^ +with a running collector +1( +[\d.,]+){4}$/m);
  const { state, findings, targets, parameters } = ended.record();
  assert.equal(state, 'finished');
  assert.deepEqual(
    findings?.tables[0]?.rows.map(([label, versions]) => [label, versions]),
    [
      ['without a collector', 300],
      ['with a running collector', 1],
    ],
  );
  assert.equal(targets[0]?.met, null);
  assert.equal(parameters['batching'], 'on');
  assert.ok(!readdirSync(ended.out).includes('work'));
});
