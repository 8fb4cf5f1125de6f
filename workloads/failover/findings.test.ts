/** The findings of bench:failover: their words, runs without numbers, and missed targets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { createRun } from '#results';
import { SCALES } from '../brokerage/model/scale.ts';
import type { Arrival } from './attempts.ts';
import type { FailoverResult, Marks } from './experiment.ts';
import { findingsOf } from './findings.ts';

const MARKS: Marks = { killed: 2, detected: 3, reassigned: 4, started: 7, returned: 8 };

interface FailoverLoad {
  /** From when a document is due until it is completed. */
  readonly latencyMs?: number;
  /** Length of the run. */
  readonly seconds?: number;
  /** Documents due from the failure until this second are completed only then; default: no dip. */
  readonly dipUntil?: number;
}

/** Ten documents a second. */
function arrivalsOf({
  latencyMs = 50,
  seconds = 10,
  dipUntil = 0,
}: FailoverLoad): readonly Arrival[] {
  return Array.from({ length: 10 * seconds }, (_, i) => {
    const dueMs = i * 100;
    const isInDip = dueMs >= 1000 * MARKS.killed && dueMs < 1000 * dipUntil;
    return {
      dueMs,
      attempts: [{ beganMs: dueMs, endedMs: dueMs + 9, outcome: 'committed' }],
      acknowledgedMs: dueMs + 9,
      completedMs: isInDip ? 1000 * dipUntil : dueMs + latencyMs,
    };
  });
}

function run(given: Partial<FailoverResult> = {}, load: FailoverLoad = {}): FailoverResult {
  const { seconds = 10 } = load;
  const parts = {
    workload: 'crawl-rate',
    kill: 'region-servers',
    pause: false,
    cut: false,
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
    plan: { ...plan, warmUp: 0, before: 2, down: 5, after: seconds - 7, concurrency: 1, seed: 1 },
    capacity: undefined,
    perSecond: 10,
    killed: ['region-server-1'],
    fromMs: 0,
    arrivals: arrivalsOf(load),
    followers: [],
    marks: MARKS,
    regions: 3,
    dropped: undefined,
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
  const { check, headline, targets } = findingsOf(run());
  assert.equal(check.passed, true);
  assert.match(headline, / was back 0\.0 s after the detection\.$/);
  assert.equal(targets?.[1]?.measured, 'after 0.0 s');
  assert.deepEqual(met(run()), [true, true, true]);
});

test('a rate that is back only after 15 seconds, or not for good, misses its target', () => {
  // The master finds the servers dead one second after the kill.
  const inTime = { seconds: 30, dipUntil: MARKS.killed + 1 + 15 };
  const late = { seconds: 30, dipUntil: MARKS.killed + 1 + 16 };
  // No five whole seconds are left after the dip.
  const never = { dipUntil: 6 };
  for (const [load, isMet, measured, headline] of [
    [inTime, true, 'after 15.0 s', / was back 15\.0 s after the detection\.$/],
    [late, false, 'after 16.0 s', / was back 16\.0 s after the detection\.$/],
    [never, false, 'never', / fell to 0 % at the lowest, and did not come back for good\.$/],
  ] as const) {
    const found = findingsOf(run({}, load));
    const rate = found.targets?.[1];
    assert.deepEqual([rate?.met, rate?.measured], [isMet, measured]);
    assert.match(found.headline, headline);
  }
});

test('a run whose servers were not found dead, or had no region, fails its check', () => {
  const unseen = run({ marks: { ...MARKS, detected: undefined } });
  assert.equal(findingsOf(unseen).check.passed, false);
  assert.equal(findingsOf(run({ regions: 0 })).check.passed, false);
});

test('a run that fails its check has a record that says why, and no numbers', () => {
  const lost = run({ check: { wrong: ['two orders are lost'], right: '', warnings: new Map() } });
  const { targets, ...found } = findingsOf(lost);
  assert.deepEqual(met(lost), [false]);
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
  const unanswered = { ...open, completedMs: 9 };
  for (const [late, detail] of [
    [
      run({ check: undefined, arrivals: [...arrivals, open] }),
      /^1 document not completed two minutes /,
    ],
    [run({ check: undefined, arrivals: slow }), /^2 documents not completed two minutes /],
    [run({ check: undefined }), /^observers still had work two minutes after the end$/],
    [
      run({ check: undefined, arrivals: [...arrivals, unanswered] }),
      /^writers had no answer two minutes after the end$/,
    ],
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

test('the recovery is not judged if less than 95 % of the load was completed before the kill', () => {
  assert.deepEqual(met(run({}, { latencyMs: 1_500 })), [true, null, true]);
});

test('a rate that was just too low before the failure is not said to have been enough', () => {
  const few = run({ perSecond: 10.56 }); // 20 of 21.12 in two seconds are 94.7 %.
  const rate = findingsOf(few).targets?.[1];
  assert.deepEqual([rate?.met, rate?.reason], [null, 'only 94 % was completed before the failure']);
});

test('the headline calls one killed server "it", and several "them"', () => {
  const two = { killed: ['region-server-1', 'region-server-2'] };
  assert.match(findingsOf(run()).headline, / was killed .* The master found it dead after /);
  assert.match(findingsOf(run(two)).headline, / were killed .* The master found them dead after /);
});

test('the rate is shown up to 1.5 times what is offered, between events with names', () => {
  const { y, spans } = findingsOf(run()).charts[0] ?? {};
  assert.equal(y?.max, 1.5 * run().perSecond);
  const names = spans?.map(({ label }) => label);
  assert.deepEqual(names, [
    'before',
    'killed',
    'found dead',
    'reassigned',
    'started again',
    'back',
  ]);
});

test('a transaction that stays unknown misses a target', () => {
  assert.deepEqual(met(run({ settled: { committed: 0, rolledBack: 0, open: 1 } })), [
    true,
    true,
    false,
  ]);
});

test('a transaction that has not ended misses a target, although its work was completed', () => {
  const open = { dueMs: 0, attempts: [], acknowledgedMs: undefined, completedMs: 50 };
  for (const given of [{ arrivals: [...run().arrivals, open] }, { followers: [open] }]) {
    assert.deepEqual(met(run(given)), [true, true, false]);
    const { measured } = findingsOf(run(given)).targets?.[2] ?? {};
    assert.match(measured ?? '', /; 1 transaction not ended$/);
  }
});

test('the recovery of region servers counts from when the master found them dead', () => {
  const { headline, tables, targets } = findingsOf(run({}, { dipUntil: 4 }));
  assert.match(
    headline,
    / after 1\.0 s; the rate fell to 0 % .* rate was back 1\.0 s after the detection\.$/,
  );
  const [marks] = tables;
  assert.match(marks?.caption ?? '', /^The master of HBase says in its log /);
  const back = marks?.rows.filter(([what]) => String(what).startsWith('95 % of the rate is back'));
  assert.deepEqual(
    back?.map(([what, seconds]) => [what, seconds]),
    [
      ['95 % of the rate is back, after the failure', 2],
      ['95 % of the rate is back, after detection', 1],
    ],
  );
  const rate = targets?.[1];
  assert.match(rate?.target ?? '', / s after the detection$/);
  assert.deepEqual([rate?.met, rate?.measured], [true, 'after 1.0 s']);
});

test('the recovery of any other process counts from the kill, and no master is said to find it dead', () => {
  const marks = { ...MARKS, detected: undefined, reassigned: undefined };
  const oracle = { ...run().plan, kill: 'oracle' } as const;
  const given = { plan: oracle, killed: ['oracle-1'], marks, regions: 0 };
  const killed = findingsOf(run(given, { dipUntil: 4 }));
  assert.equal(killed.check.passed, true);
  assert.match(
    killed.headline,
    /^The timestamp oracle was killed at 10 .* The rate fell to 0 % at the lowest, and 95 % of the offered rate was back 2\.0 s after the failure\.$/,
  );
  assert.doesNotMatch(killed.tables[0]?.caption ?? '', /master/);
  const rate = killed.targets?.[1];
  assert.match(rate?.target ?? '', / s after the failure$/);
  assert.equal(rate?.measured, 'after 2.0 s');
  const stopped = findingsOf(run({ plan: { ...oracle, pause: true }, marks, regions: 0 }));
  assert.match(stopped.headline, /^The timestamp oracle was stopped for 5 s at/);
});
