/** The findings of bench:web-index state no mean age that rests on a short part of the time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatencyHistogram, type FindingsParts } from '#results';
import { findingsOf } from './findings.ts';
import { AGES, type Freshness } from './freshness.ts';

const kind = { operations: 1, rpcs: 1 };
const counts = { reads: kind, scans: kind, conditionals: kind, blind: kind };

/** The same age at each of the last moments of the measured time, and none before them. */
function freshness(moments: number, meanAgeSeconds: number): Freshness {
  const latencies = createLatencyHistogram();
  for (let i = 1; i <= 600; i++) latencies.recordValue(1_000 * i);
  const ages = Array.from({ length: moments }, (_, i) => {
    return { seconds: 60 - moments + i, meanAgeSeconds };
  });
  return { latencies, lost: 0, ages };
}

/** The findings of a run whose batch has an age at this many moments. */
function findings(moments: number): FindingsParts {
  const load = { seconds: 10, counts };
  const fresh = freshness(AGES, 5);
  const pipeline = { ...fresh, load, counts, findings: [], lagP99Ms: 1 };
  const batch = { ...freshness(moments, 10), runSeconds: [1], findings: [] };
  return findingsOf({ documents: 884, recrawled: 100, perSecond: 10, pipeline, batch });
}

test('an age needs pages with a known age for half of the measured time', () => {
  const half = Math.ceil(AGES / 2);
  const enough = findings(half);
  assert.deepEqual(enough.tables[1]?.rows[1], ['batch', 10, 5]);
  assert.match(enough.headline, /The pages found are 50 % younger/);
  assert.equal(enough.targets[0]?.met, true);
  const short = findings(half - 1);
  assert.deepEqual(short.tables[1]?.rows[1], ['batch', null, null]);
  assert.match(short.headline, /^No headline: the measured time was too short\. /);
  const { measured, met, reason } = short.targets[0] ?? {};
  assert.deepEqual([measured, met], ['not known', null]);
  assert.equal(reason, 'the measured time was too short');
});
