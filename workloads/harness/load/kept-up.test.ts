/** The rule that says whether a load was kept up with, at its limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OfferedLoad, whyNotKeptUp } from './kept-up.ts';

const LOAD: OfferedLoad = {
  offered: 1_000,
  completed: 1_000,
  unit: 'documents',
  backlog: { growth: 0, perSecond: 100, seconds: 10 },
};

function withGrowth(growth: number, perSecond: number, seconds: number): string | null {
  return whyNotKeptUp({ ...LOAD, backlog: { growth, perSecond, seconds } });
}

test('a load of which all was completed was kept up with, and so was one of which more was', () => {
  assert.equal(whyNotKeptUp(LOAD), null);
  assert.equal(whyNotKeptUp({ ...LOAD, completed: 1_200 }), null);
});

test('fewer were completed than chance explains: 99 % of Poisson counts are within 2.6 deviations', () => {
  assert.equal(whyNotKeptUp({ ...LOAD, completed: 925 }), null);
  assert.equal(whyNotKeptUp({ ...LOAD, completed: 915 }), 'only 915 of 1,000 documents');
  // The virtual cluster of figure 9, as it was once called kept up with.
  for (const [offered, completed] of [
    [3_000, 2_785],
    [6_000, 5_704],
    [11_200, 10_008],
  ] as const) {
    assert.match(whyNotKeptUp({ ...LOAD, offered, completed }) ?? '', /^only [\d,]+ of [\d,]+ doc/);
  }
  assert.equal(whyNotKeptUp({ ...LOAD, offered: 3_000, completed: 2_900 }), null);
});

test('of a few, chance explains much', () => {
  assert.equal(whyNotKeptUp({ ...LOAD, offered: 4, completed: 2 }), null);
  assert.equal(
    whyNotKeptUp({ ...LOAD, offered: 23.33, completed: 9 }),
    'only 9 of 23.33 documents',
  );
});

test('what one run of a batch takes may be in flight', () => {
  const late = { ...LOAD, completed: 700 };
  assert.equal(whyNotKeptUp({ ...late, inFlight: 250 }), null);
  assert.equal(whyNotKeptUp({ ...late, inFlight: 200 }), 'only 700 of 1,000 documents');
});

test('a backlog may grow by 5 % of what arrived, by the last second up to 200, and by 20', () => {
  assert.equal(withGrowth(50, 10, 100), null);
  assert.equal(withGrowth(51, 10, 100), 'the backlog grew by 51');
  assert.equal(withGrowth(100, 100, 1), null);
  assert.equal(withGrowth(101, 100, 1), 'the backlog grew by 101');
  assert.equal(withGrowth(200, 1_000, 1), null);
  assert.equal(withGrowth(201, 1_000, 1), 'the backlog grew by 201');
  assert.equal(withGrowth(20, 1, 10), null);
  assert.equal(withGrowth(21, 1, 10), 'the backlog grew by 21');
});

test('a load that was given up was not kept up with, whatever was completed', () => {
  assert.match(whyNotKeptUp({ ...LOAD, isGivenUp: true }) ?? '', /given up/);
});
