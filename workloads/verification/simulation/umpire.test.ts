/** What the umpire says of reads below the deletion horizon when several are in progress. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planOf } from './plan.ts';
import { Umpire } from './umpire.ts';

const CLAIM = 'leases: read below the deletions';

function umpireBelow10(): Umpire {
  const umpire = new Umpire(planOf(1).knobs, 0);
  umpire.horizonIsAt(10, 0);
  umpire.collectorIsAt(Buffer.from(JSON.stringify({ deletionHorizon: 10, phase: 'done' })), 1);
  return umpire;
}

function claimsOf({ violations }: Umpire): readonly string[] {
  return violations.map(({ claim }) => claim);
}

test('a read that is served below the deletions and used breaks the rule', () => {
  const umpire = umpireBelow10();
  const ended = umpire.asked('a', 9);
  umpire.served('a', 9);
  ended(true);
  assert.deepEqual(claimsOf(umpire), [CLAIM]);
});

test('a read that fails, or that is not below them, breaks none; nor does one of before', () => {
  const umpire = umpireBelow10();
  umpire.served('a', 9);
  const [failing, above] = [umpire.asked('a', 9), umpire.asked('a', 10)];
  umpire.served('a', 9);
  umpire.served('a', 10);
  failing(false);
  above(true);
  umpire.asked('a', 9)(true);
  assert.deepEqual(claimsOf(umpire), []);
});

test('of two reads at one snapshot, one that fails explains the late answer, before or after', () => {
  for (const isFirst of [true, false]) {
    const umpire = umpireBelow10();
    const [one, other] = [umpire.asked('a', 9), umpire.asked('a', 9)];
    umpire.served('a', 9);
    one(isFirst);
    other(!isFirst);
    assert.deepEqual(claimsOf(umpire), []);
  }
});

test('of two reads at one snapshot that are both used, one has used the late answer', () => {
  const umpire = umpireBelow10();
  const [one, other] = [umpire.asked('a', 9), umpire.asked('a', 9)];
  umpire.served('a', 9);
  one(true);
  assert.deepEqual(claimsOf(umpire), []);
  other(true);
  assert.deepEqual(claimsOf(umpire), [CLAIM]);
});
