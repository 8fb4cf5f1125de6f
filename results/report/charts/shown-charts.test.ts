/** What charts say beyond their curves, also those of older records. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readRunRecord } from '../record-file.ts';
import { REFERENCE_FOLDER } from '../run-folders.ts';
import { peaksAbove } from './backdrops.ts';
import { findingsChart } from './findings-chart.ts';
import { shownCharts } from './shown-charts.ts';

function chartsOf(run: string) {
  return shownCharts(readRunRecord(path.join(REFERENCE_FOLDER, run)).findings).map(findingsChart);
}

test('the gap of figure 7 is between the medians, and its number is that of the headline', () => {
  const { headline } = readRunRecord(path.join(REFERENCE_FOLDER, 'figure-7')).findings;
  const gap = chartsOf('figure-7')[0]?.gap;
  assert.ok(gap !== undefined && gap.edges.length > 2);
  assert.ok(headline.includes(`Percolator was ${gap.labelled?.words} faster`));
});

test('no number is written into the gap where a median has too few samples', () => {
  const chart = shownCharts(readRunRecord(path.join(REFERENCE_FOLDER, 'figure-7')).findings)[0];
  assert.ok(chart !== undefined);
  const withSamples = (samples: (place: number) => number) =>
    findingsChart({
      ...chart,
      series: chart.series.map((one) =>
        Object.assign({}, one, {
          points: one.points.map((point, i) => ({ ...point, samples: samples(i) })),
        }),
      ),
    }).gap;
  const all = withSamples(() => 30);
  assert.equal(all?.labelled?.x, all?.edges[0]?.x);
  const later = withSamples((place) => (place === 0 ? 29 : 30));
  assert.equal(later?.labelled?.x, all?.edges[1]?.x);
  assert.deepEqual(later?.edges, all?.edges, 'the shade is as it was');
  assert.equal(withSamples(() => 29)?.labelled, undefined);
});

test('of many curves few are drawn at first, and none is missing', () => {
  for (const name of ['distribution', 'backlog']) {
    const { series = [] } = chartsOf('figure-7').find((chart) => chart.name === name) ?? {};
    const drawn = series.filter(({ isOff }) => isOff !== true);
    assert.ok(series.length > 8 && drawn.length >= 2 && drawn.length <= 5, name);
  }
});

test('figure 8 has bars with intervals, and those of an operation stand around its word', () => {
  const { series = [] } = chartsOf('figure-8')[0] ?? {};
  assert.ok(series.every(({ barWidth }) => barWidth !== undefined && barWidth < 0.15));
  const reads = series.map(({ marks }) => marks[0]?.x ?? 0);
  assert.ok(Math.abs((Math.min(...reads) + Math.max(...reads)) / 2 - 1) < 1e-9);
  assert.ok(series.some(({ marks }) => marks[0]?.low !== null));
});

test('the letters of an older figure 10 are spans with names, and its axis shows the dip', () => {
  const [rates, latencies] = chartsOf('figure-10');
  const names = ['before', 'killed', 'found dead', 'reassigned', 'started again', 'back'];
  for (const chart of [rates, latencies]) {
    assert.deepEqual(
      chart?.spans?.map(({ label }) => label),
      names,
    );
    assert.doesNotMatch(chart?.caption ?? '', /\b[FDRSB]: /);
  }
  assert.equal(rates?.y.max, 37.5);
  const [completed] = rates?.series ?? [];
  assert.deepEqual(
    peaksAbove(completed?.marks ?? [], 37.5).map(({ highest }) => highest),
    [200],
  );
});

test('mutants are counted by judge, and faults by kind, and all are counted', () => {
  for (const [run, all] of [
    ['verification/mutants', 175],
    ['verification/simulate', 42_000_000],
  ] as const) {
    const { series = [], x } = chartsOf(run).at(-1) ?? {};
    const counts = series[0]?.marks.map(({ y }) => y ?? 0) ?? [];
    const sum = counts.reduce((total, count) => total + count, 0);
    assert.ok(Math.abs(sum - all) / all < 0.1, `${sum}`);
    assert.match(x?.ticks.at(-1)?.label ?? '', /^\d+ others$/);
  }
});
