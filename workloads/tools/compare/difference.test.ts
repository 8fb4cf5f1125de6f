/** The difference of one metric: interval, verdict, and the values that have neither. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '#engine/base';
import { estimate, intervalOf } from '../../harness/statistics.ts';
import { differenceOf } from './difference.ts';
import type { Metric } from './metrics.ts';

function metric(value: number | null, rest: Partial<Metric> = {}): Metric {
  const kind = { name: 'm', unit: 'ms', better: 'lower' } as const;
  return { ...kind, value, missing: null, interval: null, samples: [], ...rest };
}

const ALONE = { threshold: 5, metrics: 1 };

/** Repeats whose spread is a thousandth. */
function repeated(value: number, rest: Partial<Metric> = {}): Metric {
  return metric(value, { samples: [0.999, 1, 1.001].map((factor) => factor * value), ...rest });
}

describe('the verdict', () => {
  const cases: readonly (readonly [string, Metric, Metric, string])[] = [
    ['a latency that rises beyond the threshold is worse', repeated(10), repeated(11), 'worse'],
    ['a latency that falls beyond the threshold is better', repeated(10), repeated(9), 'better'],
    ['a latency that stays within the threshold is the same', repeated(10), repeated(10.1), 'same'],
    [
      'a rate that rises beyond the threshold is better',
      repeated(10, { better: 'higher' }),
      repeated(11, { better: 'higher' }),
      'better',
    ],
    [
      'a rate that falls beyond the threshold is worse',
      repeated(10, { better: 'higher' }),
      repeated(9, { better: 'higher' }),
      'worse',
    ],
    [
      'is missing if the interval reaches across the threshold',
      repeated(10),
      metric(11, { samples: [9, 11, 13] }),
      'no verdict',
    ],
    [
      'is missing with one repeat, however large the difference',
      metric(10),
      metric(1000),
      'no verdict',
    ],
    ['is missing with two repeats', metric(10, { samples: [9, 11] }), repeated(20), 'no verdict'],
    ['a system that no longer keeps up is worse', metric(10), metric(Infinity), 'worse'],
    ['a system that keeps up again is better', metric(Infinity), metric(10), 'better'],
    ['is missing if neither system keeps up', metric(Infinity), metric(Infinity), 'no verdict'],
    ['exact repeats of the same number are the same', exact(0), exact(0), 'same'],
    ['exact repeats of a larger latency are worse', exact(10), exact(12), 'worse'],
  ];
  for (const [name, a, b, verdict] of cases) {
    test(name, () => assert.equal(differenceOf(a, b, ALONE).verdict, verdict));
  }

  test('depends on the threshold', () => {
    assert.equal(
      differenceOf(repeated(10), repeated(11), { ...ALONE, threshold: 15 }).verdict,
      'same',
    );
    assert.equal(
      differenceOf(repeated(10), repeated(10.1), { ...ALONE, threshold: 0 }).verdict,
      'worse',
    );
  });
});

function exact(value: number): Metric {
  return metric(value, { samples: [value, value, value] });
}

describe('a difference says why it has no verdict:', () => {
  const cases: readonly (readonly [Metric, Metric, RegExp])[] = [
    [metric(10), metric(11), /^one repeat$/],
    [metric(10, { samples: [9, 11] }), repeated(11), /^2 repeats$/],
    [metric(0), metric(11), /A is 0, so there is no percentage/],
    [repeated(10), metric(0, { samples: [0, 0, 0] }), /^a value is not positive/],
    [metric(-1), metric(-2), /^a value is not positive/],
    [metric(5, { samples: [0, 5, 10] }), repeated(7), /^a repeat is not positive$/],
    [repeated(7), metric(5, { samples: [0, 5, 10] }), /^a repeat is not positive$/],
    [metric(null, { missing: 'its check failed' }), metric(1), /^A: its check failed/],
    [metric(1), metric(null, { missing: 'it has no value' }), /^B: it has no value/],
    [
      metric(10, { interval: { low: -1, high: 21 } }),
      metric(10, { interval: { low: 9, high: 11 } }),
      /an interval reaches to 0/,
    ],
  ];
  for (const [a, b, because] of cases) {
    test(`${a.value} and ${b.value}, ${because.source}`, () => {
      const found = differenceOf(a, b, ALONE);
      assert.equal(found.verdict, 'no verdict');
      assert.equal(found.interval, null);
      assert.match(found.because, because);
      for (const shown of [found.percent, found.a, found.b]) assert.ok(!Number.isNaN(shown));
    });
  }
});

/** Metrics of a small `bench:micro` (difference.ts). */
const METRICS = 178;

describe('the interval', () => {
  const random = createRandom(19);
  /** About normal: the sum of twelve uniform numbers. */
  const normal = (): number =>
    Array.from({ length: 12 }, () => random.fraction()).reduce((x, y) => x + y) - 6;
  const samples = (count: number, middle: number, spread: number): number[] =>
    Array.from({ length: count }, () => middle * Math.exp(spread * normal()));
  const middle = (values: readonly number[]): number => estimate(values).value;
  const ofRepeats = (values: readonly number[]): Metric =>
    metric(middle(values), { samples: values });
  const ofRecord = (values: readonly number[]): Metric =>
    metric(middle(values), { interval: intervalOf(estimate(values)) });

  for (const [name, make] of [
    ['of repeats', ofRepeats],
    ['of two records with intervals', ofRecord],
  ] as const) {
    test(`${name} holds the true difference about 95 times in 100, also with unequal spreads`, () => {
      const trials = 1000;
      let hits = 0;
      for (let trial = 0; trial < trials; trial++) {
        const { interval } = differenceOf(
          make(samples(4, 10, 0.1)),
          make(samples(6, 12, 0.3)),
          ALONE,
        );
        assert.ok(interval !== null);
        if (interval.low <= 20 && interval.high >= 20) hits++;
      }
      assert.ok(hits >= 930, `${hits} of ${trials}`);
      assert.ok(hits <= 985, `${hits} of ${trials}: it is wider than it must be`);
    });

    test(`${name} of the same code seldom gives the verdict worse`, () => {
      let worse = 0;
      for (let trial = 0; trial < 1000; trial++) {
        const [a, b] = [samples(5, 10, 0.1), samples(5, 10, 0.1)].map(make);
        assert.ok(a !== undefined && b !== undefined);
        if (differenceOf(a, b, ALONE).verdict === 'worse') worse++;
      }
      // One interval in forty misses the truth on the worse side.
      assert.ok(worse <= 25, `${worse} of 1,000`);
    });
  }

  test(`the same code is worse in none of ${METRICS} metrics, 19 times in 20`, () => {
    const judgement = { threshold: 0, metrics: METRICS };
    let comparisons = 0;
    for (let trial = 0; trial < 200; trial++) {
      const isWorse = Array.from({ length: judgement.metrics }, () => {
        const [a, b] = [samples(3, 10, 0.1), samples(3, 10, 0.1)].map(ofRepeats);
        return a !== undefined && b !== undefined && differenceOf(a, b, judgement).verdict;
      }).includes('worse');
      if (isWorse) comparisons++;
    }
    assert.ok(comparisons <= 15, `${comparisons} of 200`); // About 10, give or take chance.
  });

  test(`a metric that is a third slower is found among ${METRICS}, and a small difference is left open`, () => {
    const judgement = { threshold: 5, metrics: METRICS };
    const a = repeated(10);
    assert.equal(differenceOf(a, repeated(13.3), judgement).verdict, 'worse');
    const wide = metric(11.5, { samples: [11.2, 11.5, 11.8] });
    const found = differenceOf(a, wide, judgement);
    assert.equal(differenceOf(a, wide, ALONE).verdict, 'worse');
    assert.equal(found.verdict, 'no verdict');
    assert.equal(found.because, `3 and 3 repeats; worse alone, but one of ${METRICS}`);
  });

  test('exists between a side with repeats and one with an interval', () => {
    const record = metric(10, { interval: { low: 9.9, high: 10.1 } });
    const { interval, verdict } = differenceOf(record, repeated(12), ALONE);
    assert.ok(
      interval !== null && interval.low > 17 && interval.high < 23,
      JSON.stringify(interval),
    );
    assert.equal(verdict, 'worse');
  });
});
