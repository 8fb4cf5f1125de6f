/** The benchmark of notifications at its smallest size. Their speed is not tested. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { asConfig } from '../../harness/engine-settings.ts';
import { runScript } from '../../harness/testing/run-script.ts';

const BENCH = path.join(import.meta.dirname, 'main.ts');

test('bench:notify-latency measures each rate, and the cost of an idle worker', async () => {
  const config = path.join(temporaryFolder(), 'config.json');
  const batch = { batchDelay: 0, batchRows: 64, batchInFlight: 8 } as const;
  const tuned = { ...batch, batching: 'on', prefetch: 'learn', scanners: 2 } as const;
  writeFileSync(config, JSON.stringify(asConfig(tuned)));
  const words = ['--profile', 'smoke', '--no-fsync', '--config', config];
  const ended = await runScript(BENCH, words);
  assert.equal(ended.exitCode, 0, ended.stderr);
  // So few writes have a median and a maximum, but no other percentile.
  const number = String.raw` +\d[\d.,]*`;
  for (const [rate, writes] of [
    ['50', 25],
    ['100', 50],
  ]) {
    const cells = `${number} +- +-(?:${number}){3} +-`;
    assert.match(ended.stdout, new RegExp(`^ +${rate} +${writes}${cells}$`, 'm'));
  }
  assert.match(ended.stdout, /An idle worker takes \d+\.\d\d % of a core\.$/m);
  const { state, findings, targets, parameters, store } = ended.record();
  assert.equal(state, 'finished');
  assert.match(store.durability, /power failure|not wait|no fsync/i);
  assert.deepEqual([parameters['batching'], parameters['scanners']], ['on', 2]);
  assert.deepEqual(
    findings?.tables[0]?.rows.map(([rate]) => rate),
    [50, 100],
  );
  assert.deepEqual(
    targets.map(({ met }) => met),
    [null, null],
  );
});
