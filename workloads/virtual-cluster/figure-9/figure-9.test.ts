/** What the findings of figure 9 say of some loads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import { kindUsage, usageOf } from '../usage.fixture.ts';
import { figure9Findings, type Figure9Plan, type LoadPoint, varyFigure9 } from './figure-9.ts';

const PLAN: Figure9Plan = {
  loaded: loadCalibration('paper-2010'),
  seed: 1,
  loads: [],
  warmUp: 1,
  tradeResults: 100,
  isVaried: true,
};
const LATE = 'only 800 of 900 Trade-Results';
const SERVERS = { ...kindUsage('tablet server', 3, 0.5), coresMax: 0.875 };
const ORACLE = kindUsage('oracle', 1, 0.25);

/** A quarter of a core second for each Trade-Result. */
function pointAt(load: number, changed: Partial<LoadPoint['result']> = {}): LoadPoint {
  return {
    load,
    servers: 3,
    result: {
      tradeResultsPerSecond: load,
      usage: usageOf([ORACLE, SERVERS], { seconds: 10 }),
      cores: load / 4,
      medianMs: 20,
      p90Ms: 40,
      p99Ms: 60,
      samples: 10 * load,
      transactions: 100 * load,
      judged: 50,
      conflicts: load,
      saturation: null,
      endedAt: [],
      hottest: { table: 'exchange', share: 0.125 },
      wrong: [],
      ...changed,
    },
  };
}

test('the cost of a Trade-Result is the slope of the line', () => {
  const { headline, check, tables } = figure9Findings(PLAN, pointsAt(10, 20, 40), []);
  assert.match(headline, /takes 0\.250 core seconds, on a straight line with R² 1\.0000 up to 40/);
  assert.match(
    headline,
    /took 1\.34, 5\.4 times as much\. The cluster keeps up with all loads here\.$/,
  );
  assert.equal(check.passed, true);
  const [loads, line] = tables;
  const row = loads?.rows[1]?.map((cell, i) => [loads.columns[i], cell]) ?? [];
  const of = Object.fromEntries(row) as Readonly<Record<string, unknown>>;
  assert.equal(of['core s per TR'], 0.25);
  assert.equal(of['core ms per transaction'], 25);
  assert.equal(of['busiest server'], 0.875);
  assert.equal(of['oracle'], 0.25);
  assert.equal(of['conflicts per 1,000'], 10);
  assert.deepEqual(line?.rows[0]?.slice(1), [0.25, 0, 1]);
});

test('two loads make no line, and the headline mentions none', () => {
  const { headline, tables } = figure9Findings(PLAN, pointsAt(10, 20), []);
  assert.match(headline, /a Trade-Result takes 0\.250 core seconds; the paper's took 1\.34/);
  assert.match(headline, /5\.4 times as much\.$/);
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['loads'],
  );
});

test('the line ends at the first load that the cluster does not keep up with', () => {
  const points = [...pointsAt(10, 20, 40), pointAt(80, { saturation: LATE }), pointAt(90)];
  const { headline, charts } = figure9Findings(PLAN, points, []);
  assert.match(headline, / up to 40 TR\/s; .* The line ends before 80 TR\/s \(/);
  assert.equal(charts[0]?.series[0]?.points.length, 3);
});

test('where the cluster does not keep up, the line ends, and the busiest machine is named', () => {
  const points = [...pointsAt(10, 20, 40), pointAt(80, { saturation: LATE, cores: 99 })];
  const { headline, charts } = figure9Findings(PLAN, points, []);
  assert.match(headline, /R² 1\.0000 up to 40 TR\/s/);
  assert.match(
    headline,
    /The line ends before 80 TR\/s \(only 800 of 900 Trade-Results\): the busiest tablet server works 87\.5 % of the time, the oracle 25\.0 %, for timestamps alone 0\.0 %, and a tablet of exchange has 12\.5 % of all operations\.$/,
  );
  assert.equal(charts[0]?.series[0]?.points.length, 3);
});

test('the headline says from which load on the oracle and the busiest tablet server are full, as the table does', () => {
  const full = { ...SERVERS, coresMax: 1 };
  const usage = (kinds: Parameters<typeof usageOf>[0]) =>
    usageOf(kinds, { seconds: 10, timestamps: 1e6 });
  const points = [
    ...pointsAt(10, 20, 40),
    pointAt(60, { usage: usage([kindUsage('oracle', 1, 1), SERVERS]) }),
    pointAt(80, { usage: usage([kindUsage('oracle', 1, 1), full]), saturation: LATE }),
  ];
  const { headline, tables, charts } = figure9Findings(PLAN, points, []);
  assert.match(headline, / up to 60 TR\/s; .* The line ends before 80 TR\/s /);
  assert.match(
    headline,
    /server works 100\.0 % of the time, the oracle 100\.0 %, for timestamps alone 5\.0 %/,
  );
  assert.match(
    headline,
    / Busy all the time: the oracle from 60 TR\/s on, the busiest tablet server from 80 TR\/s on\.$/,
  );
  const [loads] = tables;
  const rows = (loads?.rows ?? []).slice(1).map((row) => {
    const of = (column: string) => row[loads?.columns.indexOf(column) ?? -1];
    return {
      load: of('TR/s offered'),
      keptUp: of('kept up'),
      oracle: of('oracle'),
      server: of('busiest server'),
    };
  });
  const first = (is: (row: (typeof rows)[number]) => boolean) => rows.find(is)?.load;
  assert.deepEqual(
    [
      first(({ keptUp }) => keptUp !== 'yes'),
      first(({ oracle }) => oracle === 1),
      first(({ server }) => server === 1),
    ],
    [80, 60, 80],
  );
  assert.equal(rows.at(-1)?.keptUp, `no: ${LATE}`);
  // Neither the line nor its band goes further than the loads that were kept up with.
  assert.equal(Math.max(...(charts[0]?.series[0]?.fit ?? []).map(({ x }) => x)), 60);
});

test('without a line, the first load that was not kept up with is still named', () => {
  const { headline } = figure9Findings(PLAN, [pointAt(10), pointAt(20, { saturation: LATE })], []);
  assert.match(
    headline,
    / The cluster does not keep up with 20 TR\/s \(only 800 of 900 Trade-Results\): the busiest /,
  );
  assert.doesNotMatch(headline, /line/);
});

test('a mistake at a load, or with a varied calibration, leaves no results', () => {
  const points = pointsAt(10, 20, 40);
  const bad = figure9Findings(PLAN, [...points, pointAt(80, { wrong: ['a mistake'] })], []);
  assert.deepEqual([bad.check.passed, bad.tables], [false, []]);
  assert.equal(bad.check.detail, 'at 80 TR/s: a mistake');
  const variation = { place: 'log.wait.medianUs', half: 0.9, twice: 1.2, wrong: ['a mistake'] };
  const varied = figure9Findings(PLAN, points, [variation]);
  assert.deepEqual([varied.check.passed, varied.tables], [false, []]);
  assert.equal(varied.check.detail, 'with log.wait.medianUs varied: a mistake');
});

test('a mistake with the calibration as it is, to which all ratios are relative, leaves no results', async () => {
  const measure = async (calibration: unknown): Promise<LoadPoint> =>
    pointAt(10, { wrong: calibration === PLAN.loaded.calibration ? ['a mistake'] : [] });
  const progress = { phase: () => {}, update: () => {}, note: () => {}, end: () => {} };
  const { signal } = new AbortController();
  const variations = await varyFigure9(PLAN, measure, { progress, signal });
  const { check, tables } = figure9Findings(PLAN, pointsAt(10, 20, 40), variations);
  assert.deepEqual([check.passed, tables], [false, []]);
  assert.equal(check.detail, 'with nothing varied: a mistake');
});

function pointsAt(...loads: number[]): readonly LoadPoint[] {
  return loads.map((load) => pointAt(load));
}
