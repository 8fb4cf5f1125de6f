/** The findings of chaos: what a run with skipped rounds has proven, and how to repeat a round. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WORKLOADS } from '../invariants/index.ts';
import { findingsOf } from './findings.ts';
import { type ChaosPlan, settingOf } from './plan.ts';
import type { Round } from './round.ts';

test('a run whose rounds were all skipped has proven nothing', () => {
  const skipped = ['round 1: there is no emulator', 'round 2: there is no emulator'];
  const { check, headline } = findingsOf([], { workloads: [], rounds: 2, skipped });
  assert.equal(check.passed, false);
  assert.match(headline, / Skipped: round 1: there is no emulator Skipped: round 2: /);
});

/** A round in which nothing happened. */
function roundOf(changed: Partial<ChaosPlan>): Round {
  const size = {
    floors: { pairs: 1, runs: 0, folderFaults: 0, cuts: 0 },
    isStrict: true,
    seconds: 1,
  };
  const usual = {
    number: 1,
    seed: 7,
    workloads: WORKLOADS,
    processes: 3,
    regionServers: 3,
    hosts: 0,
    cuts: false,
  };
  const plan = { ...settingOf({ engine: {} }), ...size, ...usual, fsync: true, powerCut: false };
  const verdict = { violations: [], writeSkews: 0 };
  const rest = {
    tallies: new Map(),
    faults: { takeoversMs: [], folder: new Map() },
    engine: {},
    pairs: 0,
    told: { changes: 0, lost: 0 },
    verdict,
  };
  return { plan: { ...plan, folder: '', ...changed }, ...rest } as unknown as Round;
}

test('a round keeps its number when one before it was skipped', () => {
  const planned = { workloads: [], rounds: 2, skipped: ['round 1: there is no emulator'] };
  const { check, tables } = findingsOf([roundOf({ number: 2 })], planned);
  assert.match(check.detail, /: round 2 \(0 of 1 pairs\)$/);
  assert.equal(tables.find(({ name }) => name === 'rounds')?.rows[0]?.[0], 2);
});

test('a round that may test less than it was to is not said to have tested enough', () => {
  const planned = { workloads: [], rounds: 2, skipped: [] };
  const floors = { pairs: 0, runs: 0, folderFaults: 0, cuts: 0 };
  const rounds = [roundOf({ isStrict: false }), roundOf({ number: 2, isStrict: false, floors })];
  const { check } = findingsOf(rounds, planned);
  assert.deepEqual(check, {
    passed: true,
    detail:
      'none of 2 rounds broke a rule, but they tested less than was asked for: round 1 only 0 of 1 pairs',
  });
  assert.deepEqual(findingsOf(rounds.slice(1), { ...planned, rounds: 1 }).check, {
    passed: true,
    detail: 'none of 1 round broke a rule',
  });
});

test('the options of a round are all that it takes to repeat it', () => {
  const optionsOf = (changed: Partial<ChaosPlan>): unknown => {
    const { tables } = findingsOf([roundOf(changed)], { workloads: [], rounds: 1, skipped: [] });
    return tables.find(({ name }) => name === 'rounds')?.rows[0]?.at(-1);
  };
  assert.equal(optionsOf({}), '--seed 7 --store embedded');
  assert.equal(
    optionsOf({ processes: 5, workloads: WORKLOADS.slice(0, 2), fsync: false, powerCut: true }),
    '--seed 7 --store embedded --workloads bank,ring --processes 5 --no-fsync --power-cuts',
  );
  assert.equal(
    optionsOf({ store: 'hbase', regionServers: 1, hosts: 7, cuts: true }),
    '--seed 7 --store hbase --region-servers 1 --hosts 7 --cuts',
  );
});

test('a round whose power cut could destroy nothing has tested too little', () => {
  const planned = { workloads: [], rounds: 2, skipped: [] };
  const cut = { bytesAtRisk: 0, bytesLost: 0, namesAtRisk: 0 };
  const cuts = [cut, { ...cut, bytesAtRisk: 1 }];
  const rounds = cuts.map((one, i) =>
    Object.assign(
      roundOf({
        number: i + 1,
        powerCut: true,
        floors: { pairs: 0, runs: 0, folderFaults: 0, cuts: 0 },
      }),
      {
        cut: one,
      },
    ),
  );
  const { check } = findingsOf(rounds, planned);
  assert.equal(check.passed, false);
  assert.match(check.detail, /: round 1 \(a power cut with nothing at risk\)$/);
});
