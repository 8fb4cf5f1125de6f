/**
 * The claims of the skew: the shares of the tiers, the ramp of weights, and the agreement of draw
 * and description.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import { activityOf, drawCustomer, rankOf, tierOf } from './customer-skew.ts';

const UNIT = 1_000;
const indexes = Array.from({ length: UNIT }, (_, i) => i);

function draw(draws: number, customers: number, seed = 1): readonly number[] {
  const random = createRandom(seed);
  return Array.from({ length: draws }, () => drawCustomer(random, customers));
}

/**
 * Within four standard deviations of the binomial distribution: chance exceeds it in one of 16,000
 * cases.
 */
function assertShare(hits: number, draws: number, share: number, what: string): void {
  const deviation = Math.sqrt(draws * share * (1 - share));
  assert.ok(Math.abs(hits - draws * share) < 4 * deviation, `${what}: ${hits} of ${draws}`);
}

test('a fifth of each unit is of tier 1, three fifths of tier 2, a fifth of tier 3; each rank occurs once', () => {
  for (const unit of [0, 1, 7]) {
    const members = indexes.map((i) => unit * UNIT + i);
    const tiers = members.map(tierOf);
    assert.deepEqual(
      [1, 2, 3].map((tier) => tiers.filter((one) => one === tier).length),
      [200, 600, 200],
    );
    assert.deepEqual(
      members.map(rankOf).toSorted((a, b) => a - b),
      indexes,
    );
  }
});

test('neighbours in number are not neighbours in rank', () => {
  const near = indexes.filter((i) => i > 0 && Math.abs(rankOf(i) - rankOf(i - 1)) < 100);
  assert.equal(near.length, 0);
});

test('tiers get 10, 60 and 30 % of the activity', () => {
  const draws = 200_000;
  const tiers = draw(draws, UNIT).map(tierOf);
  for (const [tier, share] of [
    [1, 0.1],
    [2, 0.6],
    [3, 0.3],
  ] as const) {
    assertShare(tiers.filter((one) => one === tier).length, draws, share, `tier ${tier}`);
  }
});

test('weights rise steadily from 0.30 to 1.70 along the ranks, with mean 1', () => {
  const byRank = indexes.toSorted((a, b) => rankOf(a) - rankOf(b)).map(activityOf);
  const steps = byRank.slice(1).map((activity, i) => activity - (byRank[i] ?? 0));
  assert.equal(byRank[0]?.toFixed(2), '0.30');
  assert.equal(byRank.at(-1)?.toFixed(2), '1.70');
  // The steps are 0.002 in tiers 1 and 3, and 0.001 in tier 2, which has three times as many ranks.
  assert.ok(
    steps.every((step) => step > 0.0009 && step < 0.0021),
    `${Math.min(...steps)}`,
  );
  assert.ok(Math.abs(byRank.reduce((a, b) => a + b) / UNIT - 1) < 1e-9);
});

test('each hundred of ranks is drawn as often as its weights say', () => {
  const draws = 200_000;
  const drawn = draw(draws, UNIT, 2).map((i) => Math.floor(rankOf(i) / 100));
  for (let hundred = 0; hundred < 10; hundred++) {
    const members = indexes.filter((i) => Math.floor(rankOf(i) / 100) === hundred);
    const share = members.reduce((sum, i) => sum + activityOf(i), 0) / UNIT;
    assertShare(drawn.filter((one) => one === hundred).length, draws, share, `ranks ${hundred}00`);
  }
});

test('units are equally likely; from a unit that is not full, only existing customers are drawn', () => {
  const draws = 50_000;
  const units = draw(draws, 5 * UNIT).map((i) => Math.floor(i / UNIT));
  for (let unit = 0; unit < 5; unit++) {
    assertShare(units.filter((one) => one === unit).length, draws, 0.2, `unit ${unit}`);
  }
  const few = new Set(draw(20_000, 100));
  assert.equal(few.size, 100);
  assert.ok(Math.max(...few) < 100);
});
