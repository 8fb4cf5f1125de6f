/**
 * The findings of bench:web-index state no mean age that rests on a short part of the time, and
 * judge no system by what its schedule decides.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatencyHistogram, type FindingsParts } from '#results';
import { findingsOf } from './findings.ts';
import { AGES, type Freshness } from './freshness.ts';

const kind = { operations: 1, rpcs: 1 };
const counts = { reads: kind, scans: kind, conditionals: kind, blind: kind };

/** The same age at each of the last moments of the measured time, and none before them. */
function freshness(moments: number, meanAgeSeconds: number, late: string | null = null): Freshness {
  const latencies = createLatencyHistogram();
  for (let i = 1; i <= 600; i++) latencies.recordValue(1_000 * i);
  const ages = Array.from({ length: moments }, (_, i) => {
    return { seconds: 60 - moments + i, meanAgeSeconds };
  });
  return { latencies, lost: 0, late, ages };
}

/** The findings of a run whose batch has an age at this many moments. */
function findings(moments: number, recrawled = 20, late: string | null = null): FindingsParts {
  const load = { seconds: 10, counts };
  const fresh = freshness(AGES, 4, late);
  const pipeline = { ...fresh, load, counts, findings: [], lagP99Ms: 1 };
  const batch = { ...freshness(moments, 10), runSeconds: [1], findings: [] };
  return findingsOf({ documents: 884, recrawled, perSecond: 10, pipeline, batch });
}

test('an age needs pages with a known age for half of the measured time', () => {
  const half = Math.ceil(AGES / 2);
  const enough = findings(half);
  assert.deepEqual(enough.tables[1]?.rows[1], ['batch', 10, 9, null]);
  assert.match(enough.headline, /are 60 % younger \(the paper: 50 %; with no delay at all: 90 %\)/);
  assert.equal(enough.targets[0]?.met, true);
  const short = findings(half - 1);
  assert.deepEqual(short.tables[1]?.rows[1], ['batch', null, null, null]);
  assert.match(short.headline, /^No headline: the measured time was too short\. /);
  const { measured, met, reason } = short.targets[0] ?? {};
  assert.deepEqual([measured, met], ['not known', null]);
  assert.equal(reason, 'the measured time was too short');
});

test('a schedule that keeps every system from being 50 % younger judges none', () => {
  // Each page is crawled every 12 s, so the floor is 6 s, of the batch's 10.
  const { tables, charts, targets } = findings(AGES, 120);
  assert.deepEqual(tables[1]?.rows[2], ['no delay', 6, 0, 40]);
  assert.match(tables[1]?.caption ?? '', /no system can be below 6\.0 s/);
  assert.deepEqual(
    charts[0]?.series[0]?.points.map(({ y }) => y),
    [6, 6],
  );
  assert.equal(targets[0]?.met, null);
  assert.match(targets[0]?.reason ?? '', /^with no delay at all it would be 40 %, /);
  assert.equal(findings(AGES, 100).targets[0]?.met, true, 'just within reach');
});

test('a system that did not keep up has no latency, no age, and no verdict', () => {
  const { headline, tables, targets } = findings(AGES, 20, 'the backlog grew by 300');
  assert.equal(headline, 'No headline: the observers did not keep up (the backlog grew by 300).');
  assert.deepEqual(tables[0]?.rows[0]?.slice(3), [null, null, null, null]);
  assert.deepEqual(tables[1]?.rows[0], ['observers', null, null, null]);
  assert.equal(targets[0]?.reason, 'the observers did not keep up (the backlog grew by 300)');
});
