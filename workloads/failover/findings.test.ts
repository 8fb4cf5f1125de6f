/** The findings of bench:failover say what a run has not shown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { createRun } from '#results';
import { SCALES } from '../brokerage/model/index.ts';
import type { FailoverResult, Marks } from './experiment.ts';
import { findingsOf } from './findings.ts';

const MARKS: Marks = { killed: 2, detected: 3, reassigned: 4, started: 7, returned: 8 };

/** Ten documents a second for ten seconds, each completed `latencyMs` after it was due. */
function run(given: Partial<FailoverResult> = {}, latencyMs = 50): FailoverResult {
  const arrivals = Array.from({ length: 100 }, (_, i) => ({
    dueMs: i * 100,
    attempts: [{ beganMs: i * 100, endedMs: i * 100 + 9, outcome: 'committed' }],
    acknowledgedMs: i * 100 + 9,
    completedMs: i * 100 + latencyMs,
  }));
  const parts = {
    workload: 'crawl-rate',
    kill: 'region-servers',
    pause: false,
    workers: 3,
  } as const;
  const plan = {
    ...parts,
    regionServers: 3,
    repository: 0,
    documentBytes: 1,
    scale: SCALES.smoke,
    rate: 10,
    capacitySeconds: 1,
  };
  return {
    plan: { ...plan, warmUp: 0, before: 2, down: 5, after: 3, concurrency: 1, seed: 1 },
    capacity: undefined,
    perSecond: 10,
    killed: ['region-server-1'],
    fromMs: 0,
    arrivals,
    followers: [],
    marks: MARKS,
    regions: 3,
    settled: { committed: 0, rolledBack: 0, open: 0 },
    lagP99Ms: 1,
    sinceKill: { conflicts: 0, unknown: 0, rolledForward: 0, rolledBack: 0 },
    check: { wrong: [], right: 'all is well', warnings: new Map() },
    ...given,
  };
}

function met(result: FailoverResult): readonly (boolean | null)[] {
  return (findingsOf(result).targets ?? []).map((target) => target.met);
}

test('a run without a dip meets its targets', () => {
  assert.equal(findingsOf(run()).check.passed, true);
  assert.deepEqual(met(run()), [true, true, true]);
});

test('a run whose servers were not found dead, or had no region, fails its check', () => {
  const unseen = run({ marks: { ...MARKS, detected: undefined } });
  assert.equal(findingsOf(unseen).check.passed, false);
  assert.equal(findingsOf(run({ regions: 0 })).check.passed, false);
});

test('a run that fails its check has a record that says why, and no numbers', () => {
  const lost = run({ check: { wrong: ['two orders are lost'], right: '', warnings: new Map() } });
  const { targets, ...found } = findingsOf(lost);
  const recorded = createRun(temporaryFolder(), {
    experiment: 'failover',
    profile: 'custom',
    commandLine: '',
    parameters: {},
    seed: 1,
    repeats: 1,
    store: { name: 'hbase', durability: '' },
  });
  recorded.describe({ findings: { kicker: '', title: '', ...found }, targets });
  const { findings } = recorded.record;
  assert.equal(findings?.check.detail, 'two orders are lost');
  assert.deepEqual([findings.tables, findings.charts], [[], []]);
});

test('a run that did not come to rest fails its check, and is not said to have lost anything', () => {
  const { arrivals } = run();
  const open = { dueMs: 0, attempts: [], acknowledgedMs: undefined, completedMs: undefined };
  const slow = [...arrivals, open, open];
  for (const [late, detail] of [
    [run({ check: undefined, arrivals: slow }), /^2 documents were not completed two minutes /],
    [run({ check: undefined }), /^observers still had work two minutes after the end$/],
  ] as const) {
    const { check, targets } = findingsOf(late);
    assert.equal(check.passed, false);
    assert.match(check.detail, detail);
    const [loss] = targets ?? [];
    assert.deepEqual([loss?.measured, loss?.met], ['not checked', null]);
  }
});

test('a run whose failure came after its end has no numbers', () => {
  const paused = run({ marks: { ...MARKS, killed: 10, detected: 11 } });
  const { check, tables } = findingsOf(paused);
  assert.equal(check.detail, 'the failure came only after the end of the measurement');
  assert.deepEqual(tables, []);
});

test('the recovery of a load that was not kept up before the kill is not judged', () => {
  assert.deepEqual(met(run({}, 1_500)), [true, null, true]);
});

test('a transaction that stays unknown misses a target', () => {
  assert.deepEqual(met(run({ settled: { committed: 0, rolledBack: 0, open: 1 } })), [
    true,
    true,
    false,
  ]);
});

test('region servers recover from when the master found them dead', () => {
  const { headline, tables, targets } = findingsOf(run());
  assert.match(
    headline,
    / after 1\.0 s; the rate .* 95 % of the offered rate was back .* the detection\.$/,
  );
  assert.match(tables[0]?.caption ?? '', /^The master of HBase says in its log /);
  assert.match(targets?.[1]?.target ?? '', / s after the detection$/);
});

test('what is not a region server is not found dead by the master, and recovers from the kill', () => {
  const marks = { ...MARKS, detected: undefined, reassigned: undefined };
  const oracle = { ...run().plan, kill: 'oracle' } as const;
  const killed = findingsOf(run({ plan: oracle, killed: ['oracle-1'], marks, regions: 0 }));
  assert.equal(killed.check.passed, true);
  assert.match(
    killed.headline,
    /^The timestamp oracle was killed at 10 .* The rate fell to \d+ % at the lowest, and 95 % of the offered rate was back .* s after the failure\.$/,
  );
  assert.doesNotMatch(killed.tables[0]?.caption ?? '', /master/);
  assert.match(killed.targets?.[1]?.target ?? '', / s after the failure$/);
  const stopped = findingsOf(run({ plan: { ...oracle, pause: true }, marks, regions: 0 }));
  assert.match(stopped.headline, /^The timestamp oracle was stopped for 5 s at/);
});
