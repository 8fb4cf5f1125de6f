/** The benchmark of notifications at its smallest size. Their speed is not tested. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';
import { readRunRecord } from '#results';
import { asConfig } from '../../harness/engine-settings.ts';

const BENCH = path.join(import.meta.dirname, 'main.ts');
const SMOKE = ['--rates', '50,100', '--seconds', '0.5', '--idle-seconds', '0.5', '--no-fsync'];

test('bench:notify-latency measures each rate, and the cost of an idle worker', async () => {
  const folder = temporaryFolder();
  const [out, config] = ['run', 'config.json'].map((name) => path.join(folder, name));
  const batch = { batchDelay: 0, batchRows: 64, batchInFlight: 8 } as const;
  const tuned = { ...batch, batching: 'on', prefetch: 'learn', scanners: 2 } as const;
  writeFileSync(config ?? '', JSON.stringify(asConfig(tuned)));
  const options = [...SMOKE, '--config', config ?? '', '--out', out ?? ''];
  const ended = await execaNode(BENCH, options, { reject: false });
  assert.equal(ended.exitCode, 0, ended.stderr);
  // No percentile other than the median, of so few writes.
  const number = String.raw` +\d+\.\d`;
  for (const [rate, writes] of [
    ['50', 25],
    ['100', 50],
  ]) {
    const cells = `${number} +- +-(?:${number}){3} +-`;
    assert.match(ended.stdout, new RegExp(`^ +${rate} +${writes}${cells}$`, 'm'));
  }
  assert.match(ended.stdout, /^An idle worker: \d+\.\d\d % of a core\.$/m);
  assert.match(ended.stdout, /^(Met|NOT met): a median of at most 10 ms/m);
  const { state, findings, targets, parameters } = readRunRecord(out ?? '');
  assert.equal(state, 'finished');
  assert.deepEqual([parameters['batching'], parameters['scanners']], ['on', 2]);
  assert.deepEqual(
    findings?.tables[0]?.rows.map(([rate]) => rate),
    [50, 100],
  );
  assert.equal(targets.length, 2);
});

test('a mistake on the command line is one sentence, and exit code 2', async () => {
  const ended = await execaNode(BENCH, ['--store', 'floppy'], { reject: false });
  assert.equal(ended.exitCode, 2);
  assert.match(ended.stderr, /floppy/);
  assert.equal(ended.stderr.split('\n').length, 1);
});
