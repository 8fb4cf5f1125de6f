/** What figure 7 says of its points: no more than was measured, and nothing of a bad point. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findingsChart } from '../charts/findings-chart.ts';
import { isStated, percentileMs, tooFewSamples } from '../histogram.ts';
import type { ResultTable } from '../run-record.ts';
import { SAMPLE_FIGURE_7, SAMPLE_SATURATED_BACKLOG } from '../testing/sample-run.ts';
import { figure7Findings } from './findings.ts';
import {
  type Figure7,
  type MeasuredPoint,
  mostWaiting,
  pointsOf,
  SYSTEMS,
  type System,
} from './points.ts';

const SUBJECT = { kicker: '', title: '' };

/** The findings with other points than those of the sample. */
function findingsWith(change: (point: MeasuredPoint) => Partial<MeasuredPoint> | null) {
  const points = SAMPLE_FIGURE_7.points.flatMap((point) => {
    const changed = change(point);
    return changed === null ? [] : [{ ...point, ...changed }];
  });
  return figure7Findings({ ...SAMPLE_FIGURE_7, points });
}

function tableIn({ tables }: { readonly tables: readonly ResultTable[] }, name: string) {
  const found = tables.find((table) => table.name === name);
  assert.ok(found !== undefined, name);
  return found;
}

const SAMPLE = figure7Findings(SAMPLE_FIGURE_7);
const ALL = { findings: { ...SUBJECT, ...SAMPLE } };

describe('figure 7', () => {
  test('has all its points in a table, from which they are read again', () => {
    const sorted = SAMPLE_FIGURE_7.points.toSorted(
      (a, b) => a.ratePercentPerHour - b.ratePercentPerHour,
    );
    for (const [i, read] of pointsOf(ALL).entries()) assert.partialDeepStrictEqual(sorted[i], read);
    assert.equal(pointsOf(ALL).length, sorted.length);
  });

  test('shows no latency of a saturated or invalid point anywhere', () => {
    const bad = pointsOf(ALL).filter(({ verdict }) => verdict !== 'sustained');
    assert.deepEqual(
      bad.map(({ ratePercentPerHour: rate, latency }) => [rate, latency]),
      [
        [500, null],
        [10_000, null],
      ],
    );
    for (const { ratePercentPerHour: rate } of bad) {
      const isOurs = ([system, at]: readonly unknown[]) => system === 'Percolator' && at === rate;
      assert.ok(!tableIn(SAMPLE, 'distribution').rows.some(isOurs));
      const medians = tableIn(SAMPLE, 'medians').rows.filter(isOurs);
      assert.deepEqual(
        medians.map((row) => row.at(-1)),
        rate === 500 ? [] : ['\u221e'],
      );
    }
    for (const { name, series } of SAMPLE.charts.filter((one) => /figure|normal/.test(one.name))) {
      const ours = series.filter((one) => one.name.startsWith('Percolator') && !one.isUnbounded);
      assert.deepEqual(
        ours.map(({ points }) => points.length),
        [6, 6],
        name,
      );
    }
    const [grows] = bad.slice(-1);
    assert.equal(grows?.backlogGrowthPerSecond, SAMPLE_SATURATED_BACKLOG);
  });

  test('has the words of the paper\u2019s numbers next to their marks', () => {
    const chart = SAMPLE.charts.find(({ name }) => name === 'figure-7');
    assert.ok(chart);
    const drawn = findingsChart(chart).series.filter(({ color }) => color === 'paper');
    assert.deepEqual(
      drawn.flatMap(({ marks }) => marks.flatMap(({ label }) => label ?? [])),
      [
        'the paper\u2019s MapReduce: 30 min',
        'the paper\u2019s Percolator: 2 s',
        'the paper\u2019s wall: 40 %/h',
      ],
    );
  });

  test('has the percentiles of its histograms', () => {
    const { columns, rows } = tableIn(SAMPLE, 'distribution');
    assert.equal(rows.length, 13);
    for (const [system, rate, count, ...percentiles] of rows) {
      const point = SAMPLE_FIGURE_7.points.find(
        (one) => one.ratePercentPerHour === rate && systemOf(system) === one.system,
      );
      assert.ok(point?.histogram);
      assert.equal(count, point.histogram.totalCount);
      for (const [i, ms] of percentiles.entries()) {
        const one = Number(columns[3 + i]?.slice(1));
        const expected: number | null = isStated(one, point.histogram.totalCount)
          ? percentileMs(point.histogram, one)
          : null;
        assert.equal(ms, expected, columns[3 + i]);
      }
    }
  });

  test('says in its headline how the systems compare and where each stops', () => {
    const { headline } = SAMPLE;
    assert.match(headline, /At a crawl rate of 1 %\/h, .* 3\.41 ms .* 975 ms .* 290 times faster/);
    assert.match(
      headline,
      /Percolator kept up with rates up to 1,000 %\/h; at 10,000 %\/h its backlog grew/,
    );
    assert.match(headline, /MapReduce kept up at every rate tried, up to 10,000 %\/h/);
    const withBatch = (rate: number, changed: Partial<MeasuredPoint>) =>
      findingsWith(({ system, ratePercentPerHour }) =>
        system === 'mapreduce' && ratePercentPerHour === rate ? changed : {},
      ).headline;
    assert.match(
      withBatch(100, { verdict: 'saturated' }),
      /MapReduce kept up with rates up to 10,000 %\/h, except at 100 %\/h\./,
    );
    assert.match(
      withBatch(10_000, { verdict: 'invalid' }),
      /MapReduce kept up with rates up to 1,000 %\/h\.$/,
      'an invalid rate counts as neither kept up nor saturated',
    );
    assert.equal(findingsWith(() => null).headline, 'Nothing was measured.');
    assert.match(
      findingsWith(({ system }) => (system === 'mapreduce' ? {} : null)).headline,
      /At no crawl rate do both systems have a checked latency/,
    );
  });

  test('makes no headline of fewer than 30 documents, and no median to compare', () => {
    const few = (count: number) => (point: MeasuredPoint) =>
      point.latency === null ? {} : { latency: { ...point.latency, count } };
    const some = findingsWith((point) => few(point.ratePercentPerHour === 1 ? 8 : 99)(point));
    assert.match(some.headline, /^At a crawl rate of 2 %\/h.*\(99 documents\)/);
    const none = findingsWith(few(8));
    assert.match(none.headline, /^At no crawl rate .* at least 30 documents/);
    const { rows } = tableIn(none, 'medians');
    assert.deepEqual(new Set(rows.map((row) => row.at(-1))), new Set([null, '\u221e']));
    const ratios = tableIn(none, 'figure-7').rows.map((row) => row.at(-2));
    assert.ok(ratios.includes('too few samples (8 of 30)'), ratios.join());

    assert.ok(isStated(50, 1) && isStated(100, 1) && isStated(99, 100) && isStated(99.9, 1000));
    assert.ok(!isStated(99, 99) && !isStated(90, 99) && !isStated(5, 99) && !isStated(99.9, 999));
    assert.equal(tooFewSamples(8), 'too few samples (8 of 30)');
    assert.deepEqual([tooFewSamples(30), tooFewSamples(null)], [null, null]);
  });

  test('describes in its caption what is drawn, and nothing else', () => {
    const [all] = SAMPLE.charts;
    for (const part of ['model', 'arrow', 'bar', 'Grey']) assert.ok(all?.caption.includes(part));
    const [less] = figure7Findings({
      ...SAMPLE_FIGURE_7,
      mapreduceModel: null,
      points: SAMPLE_FIGURE_7.points
        .filter(({ verdict }) => verdict === 'sustained')
        .map((point) => Object.assign({}, point, { repeatMediansMs: [] })),
    }).charts;
    assert.equal(/model|arrow|bar/.exec(less?.caption ?? ''), null);
  });

  test('of which a check failed has no numbers, but the reason', () => {
    const check = { passed: false, detail: 'document 17 is in two clusters' };
    const { crawl } = SAMPLE_FIGURE_7;
    assert.ok(crawl !== null);
    for (const wrong of [{ check }, { crawl: { ...crawl, check } }]) {
      const found = figure7Findings({ ...SAMPLE_FIGURE_7, ...wrong });
      assert.deepEqual([found.check, found.tables, found.charts], [check, [], []]);
    }
  });
});

describe('the documents that wait', () => {
  const progress = [
    { seconds: 1, arrived: 2, completed: 1 },
    { seconds: 2, arrived: 4, completed: 2 },
    { seconds: 3, arrived: 6, completed: 4 },
  ];
  /** What the chart draws of a point with this progress, and what the table says. */
  function waitingOf(system: System): { readonly drawn: unknown; readonly told: unknown } {
    const [point] = SAMPLE_FIGURE_7.points;
    assert.ok(point !== undefined);
    const figure: Figure7 = { ...SAMPLE_FIGURE_7, points: [{ ...point, system, progress }] };
    const found = figure7Findings(figure);
    const chart = found.charts.find(({ name }) => name === 'backlog');
    return {
      drawn: chart?.series[0]?.points.map(({ x, y }) => [x, y]),
      told: tableIn(found, 'backlog').rows[0]?.slice(2),
    };
  }

  test('are most just before a run of MapReduce ends', () => {
    const { drawn, told } = waitingOf('mapreduce');
    assert.deepEqual(drawn, [
      [1, 2],
      [1, 1],
      [2, 3],
      [2, 2],
      [3, 4],
      [3, 2],
    ]);
    assert.deepEqual(told, [3, 4, 2]);
  });

  test('of Percolator, which completes documents all the time, are its samples alone', () => {
    const { drawn, told } = waitingOf('percolator');
    assert.deepEqual(drawn, [
      [1, 1],
      [2, 2],
      [3, 2],
    ]);
    assert.deepEqual(told, [3, 2, 2]);
  });

  test('are found among as many rows as a day has', () => {
    const rows = Array.from({ length: 300_000 }, (_, i) => ({
      seconds: i,
      documents: i === 7 ? 9 : 1,
    }));
    assert.equal(mostWaiting(rows), 9);
  });
});

function systemOf(name: unknown): System | undefined {
  return SYSTEMS.find((system) => system === String(name).toLowerCase());
}
