/** A point of bench:oracle: its processes, and what it makes of the results of its clients. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import { createLatencyHistogram, createRun } from '#results';
import { temporaryFolder } from '#engine/testing';
import { Crew, startOracle } from '../../harness/processes/index.ts';
import { processesNaming } from '../../harness/testing/processes-naming.ts';
import {
  type CallersResult,
  clientOptionsOf,
  findingsOf,
  measurePoint,
  pointOf,
} from './measure.ts';

const LOAD = { clients: 1, callers: 64, warmUpSeconds: 0, seconds: 0.1 };
const RESULT: CallersResult = {
  timestamps: 64,
  smallest: 1,
  largest: 64,
  wallMs: 150,
  cpuMs: 20,
  latencies: encodeIntoCompressedBase64(createLatencyHistogram()),
};

test('a point in which no caller got a second timestamp has a rate, no latency, and a record', () => {
  const point = pointOf(LOAD, [RESULT]);
  assert.deepEqual([point.samples, point.p50Ms, point.p99Ms], [0, null, null]);
  assert.equal(Math.round(point.perSecond), 427);
  const { targets, ...found } = findingsOf([point], point);
  const run = createRun(temporaryFolder(), {
    experiment: 'oracle',
    profile: 'custom',
    commandLine: '',
    parameters: {},
    seed: 0,
    repeats: 1,
    store: { name: 'embedded', durability: '' },
  });
  run.describe({ findings: { kicker: '', title: '', ...found }, targets });
  assert.equal(run.record.findings?.tables[0]?.rows[0]?.[6], null);
});

test('a point whose clients got the same timestamps is refused', () => {
  assert.throws(() => pointOf(LOAD, [RESULT, RESULT]), /handed out twice/);
});

test('the clients of a point together have as many callers as it shows', () => {
  for (const [clients, callers] of [
    [1, 5],
    [4, 4],
    [8, 60_001],
  ] as const) {
    const options = clientOptionsOf('', { ...LOAD, clients, callers });
    assert.equal(options.length, clients);
    const sum = options.reduce((total, one) => total + one.callers, 0);
    assert.equal(sum, callers);
    assert.ok(options.every((one) => one.callers > 0));
  }
});

test('a client that ends early fails the point, and no other client is left', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has a /proc to find the clients in');
  let address = '';
  {
    await using crew = new Crew(new AbortController().signal);
    address = await startOracle(crew, { kind: 'embedded', folder: temporaryFolder() });
    const measured = measurePoint(crew, address, { ...LOAD, clients: 2, seconds: 60 });
    const failed = assert.rejects(measured, /client \d \(process \d+\) was ended by SIGKILL/);
    while (processesNaming(address).length < 2) await setTimeout(20);
    process.kill(Number(processesNaming(address)[0]), 'SIGKILL');
    await failed;
  }
  return assert.deepEqual(processesNaming(address), []);
});
