/** The labels of axes, and of marks, do not touch one another. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { areTurned, axisRange, chartScale, roundTicks, shownTicks } from './axes.ts';
import type { ChartAxis } from './chart.ts';
import { belowAll } from './decorations.ts';
import { chartTheme } from './theme.ts';

function axis(ticks: ChartAxis['ticks']): ChartAxis {
  return { title: '', scale: 'logarithmic', ticks };
}

function labels(of: ChartAxis, range: readonly [number, number], width: number | null): unknown[] {
  return shownTicks(of, { min: range[0], max: range[1] }, width).map(({ label }) => label);
}

describe('the labels of a logarithmic axis', () => {
  const rates = axis(roundTicks().map(({ at, label }) => ({ at, label: `${label} %` })));

  test('are only decades where those between would touch', () => {
    const decades = ['1 %', '10 %', '100 %', '1,000 %', '10,000 %'];
    assert.deepEqual(labels(rates, [0.6, 50_000], 950), decades);
    assert.deepEqual(labels(rates, [0.6, 50_000], 320), ['1 %', '100 %', '10,000 %']);
    assert.deepEqual(labels(rates, [2_000, 40_000], 950).length, 4);
  });

  test('keep the median where not all percentiles have space', () => {
    const percentiles = [50, 75, 90, 99].map((one) => {
      return { at: 1 / (1 - one / 100), label: `${one} %` };
    });
    assert.deepEqual(labels(axis(percentiles), [1.5, 200], 280), ['50 %', '90 %', '99 %']);
  });
});

test('words are written at an angle where one is wider than its place', () => {
  const words = ['off', 'prefetching', 'batching', 'both', 'both, public API'];
  const ticks = words.map((label, at) => ({ at, label }));
  const places: ChartAxis = { title: '', scale: 'linear', ticks, hasWords: true };
  assert.equal(areTurned(places, 320), true);
  assert.deepEqual(labels(places, [0, 4], 320), words);
  assert.equal(areTurned(places, 950), false);
});

test('between whole numbers there are no labels of fractions', () => {
  const repeats: ChartAxis = { title: 'Repeat', scale: 'linear', ticks: [], isWhole: true };
  const ticksOf = (of: ChartAxis): unknown =>
    (chartScale(of, { min: 0, max: 2 }, chartTheme(false)) as { ticks: { precision?: number } })
      .ticks.precision;
  assert.equal(ticksOf(repeats), 0);
  assert.equal(ticksOf({ ...repeats, isWhole: false }), undefined);
});

test('a label that would touch others is drawn below them', () => {
  const box = { left: 0, right: 100, top: 10, bottom: 26 };
  assert.equal(belowAll([], box), box);
  assert.equal(belowAll([{ ...box, left: 101, right: 200 }], box), box);
  const two = [box, { ...box, left: 50, right: 150, top: 26, bottom: 42 }];
  assert.deepEqual(belowAll(two, { ...box, left: 80, right: 180 }), {
    left: 80,
    right: 180,
    top: 42,
    bottom: 58,
  });
});

test('a range covers any number of values, also none', () => {
  const linear: ChartAxis = { title: '', scale: 'linear', ticks: [] };
  const values = Array.from({ length: 300_000 }, (_, i) => i - 10);
  assert.deepEqual(axisRange(linear, values, 1), { min: -10, max: 299_989 * 1.1 });
  assert.deepEqual(axisRange(linear, [], 1), { min: 0.1, max: 1 });
});
