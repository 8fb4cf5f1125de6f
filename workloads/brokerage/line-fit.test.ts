/**
 * The claims of the fit: it is exact where the answer is known by hand, and reports the correct
 * uncertainty.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import { fitLine } from './figure-9.ts';

const near = (actual: number | undefined, expected: number): void => {
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) < 1e-3, `${actual} is not ${expected}`);
};

test('points on a line give that line, R² of 1 and a band of zero width', () => {
  const fit = fitLine([1, 2, 5, 10].map((x) => ({ x, y: 3 + 2 * x })));
  near(fit?.intercept, 3);
  near(fit?.slope, 2);
  near(fit?.rSquared, 1);
  near(fit?.at(7).low, 17);
  near(fit?.at(7).high, 17);
});

// By hand: mean x 3, Sxx 10, b = 6/10, a = 2.2; residuals −.8 .6 1 −.6 −.2 have squares that sum to
// 2.4, s² = 0.8; t(3) = 3.182.
test('five points by hand: line, R² and band are those of the textbook', () => {
  const ys = [2, 4, 5, 4, 5];
  const fit = fitLine(ys.map((y, i) => ({ x: i + 1, y })));
  near(fit?.slope, 0.6);
  near(fit?.intercept, 2.2);
  near(fit?.rSquared, 0.6);
  near(fit?.slopeError, 3.182 * Math.sqrt(0.8 / 10));
  near(fit?.at(3).high, 4 + 3.182 * Math.sqrt(0.8 / 5));
  near(fit?.at(5).low, 5.2 - 3.182 * Math.sqrt(0.8 * (1 / 5 + 4 / 10)));
});

test('in 95 % of noisy experiments the true slope is within the error of the fitted one', () => {
  const random = createRandom(7);
  const noise = (): number =>
    Array.from({ length: 12 }, () => random.fraction()).reduce((a, b) => a + b) - 6;
  const experiments = 2_000;
  let held = 0;
  for (let i = 0; i < experiments; i++) {
    const fit = fitLine([1, 2, 4, 8, 12, 16].map((x) => ({ x, y: 1 + 0.5 * x + noise() })));
    if (fit !== null && Math.abs(fit.slope - 0.5) <= fit.slopeError) held++;
  }
  // Three standard deviations of the binomial distribution are 1.5 %.
  assert.ok(Math.abs(held / experiments - 0.95) < 0.015, `${held} of ${experiments}`);
});

test('two points, or points with the same x, have no line', () => {
  assert.equal(
    fitLine([
      { x: 1, y: 1 },
      { x: 2, y: 2 },
    ]),
    null,
  );
  assert.equal(fitLine([1, 2, 3].map((y) => ({ x: 1, y }))), null);
});
