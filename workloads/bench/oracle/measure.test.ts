/** A point of bench:oracle: what it makes of the results of its clients. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRun } from '#results';
import { temporaryFolder } from '#engine/testing';
import { findingsOf } from './findings.ts';
import { pointOf } from './measure.ts';
import type { ClientResult } from './messages.ts';

const LOAD = { clients: 1, callers: 64, warmUpSeconds: 0, seconds: 0.1 };
const RESULT: ClientResult = {
  kind: 'measured',
  timestamps: 64,
  smallest: 1,
  largest: 64,
  wallMs: 150,
  cpuMs: 20,
  latencies: [],
};

test('a point in which no caller got a second timestamp has a rate, no latency, and a record', () => {
  const point = pointOf(LOAD, [RESULT]);
  assert.deepEqual([point.samples, point.p50Ms, point.p99Ms], [0, null, null]);
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
