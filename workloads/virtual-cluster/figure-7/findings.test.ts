/** What figure 7 says of its points: sentences that are true of any rates and any calibration. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BatchCurve, batchCurves } from '../batch/cycles.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { loadCalibration } from '../calibration/load.ts';
import { PAPER } from '../testing.ts';
import { kindUsage, usageOf } from '../usage.fixture.ts';
import type { CrawlResult } from './crawl.ts';
import { figure7Findings, type Figure7Result } from './findings.ts';
import { type Figure7Plan, type RatePoint, sensitivityOf, simulationOf } from './measure.ts';

const REPOSITORIES = [100_000, 50_000] as const;
const planOf = (rates: readonly number[], calibration: Calibration = PAPER): Figure7Plan => ({
  calibration,
  machines: 6,
  repositories: REPOSITORIES,
  rates,
  warmUp: 1,
  seconds: 1,
  concurrency: 100,
  scanRest: 20,
  seed: 1,
  jobs: 1,
});

/** The result at a rate at which the cluster completed `completed`; both in percent per hour. */
function pointOf(
  rate: number,
  {
    completed = rate,
    isSaturated = false,
    ...more
  }: Partial<CrawlResult> & { readonly completed?: number; readonly isSaturated?: boolean } = {},
): RatePoint {
  const result: CrawlResult = {
    perSecond: rate,
    latency: { medianMs: 130, p90Ms: 200, p99Ms: 400, samples: 1_000 },
    growth: { isSaturated, perSecond: isSaturated ? rate - completed : 0 },
    completedPerSecond: completed,
    runsInFlight: 300,
    usage: usageOf([kindUsage('tablet server', 6, 0.8)]),
    conflicts: 0,
    wrong: [],
    clustered: 1_000,
    judged: 100,
    ...more,
  };
  return { rate, repository: REPOSITORIES[0], scale: 1, result };
}

function curves(rates: readonly number[]): readonly BatchCurve[] {
  const size = { machines: 6, repository: 1e6, documentBytes: 1024 };
  return batchCurves({ calibration: PAPER, ...size, rates, seed: 1 });
}

function findingsOf(
  points: readonly RatePoint[],
  { plan = planOf(points.map(({ rate }) => rate)), ...more }: Partial<Figure7Result> = {},
) {
  const batch = curves(plan.rates);
  return figure7Findings({ calibration: 'test', plan, points, batch, ...more });
}

const SATURATED = pointOf(100, { isSaturated: true, completed: 83 });

describe('the headline', () => {
  const headlineOf = (...given: Parameters<typeof findingsOf>): string =>
    findingsOf(...given).headline;

  test('has the latency at the lowest rate, the capacity, and what is full where the backlog begins to grow', () => {
    assert.match(
      headlineOf([SATURATED, pointOf(1)]),
      /^At the costs of test, 6 machines cluster at most 83 % .* At 100 % per hour, where the backlog begins to grow, the cores of tablet servers are 80 % busy, with 50 of at most 100 observer runs .* At 1 % per hour a document waits 130 ms \(median\); the paper's waited 2 s\. In the batch it waits \d+ min \(/,
    );
  });

  test('is the same in whatever order the rates are given', () => {
    const points = [pointOf(1), pointOf(50), SATURATED];
    const inOrder = headlineOf(points);
    assert.equal(headlineOf(points.toReversed()), inOrder);
    assert.match(inOrder, /A document costs q = \d/);
  });

  test('says nothing of rates while only the repository of another size has been simulated', () => {
    const other = { ...pointOf(10), repository: REPOSITORIES[1] };
    assert.equal(headlineOf([other]), 'There are no numbers.');
  });

  test('has a capacity that is not below what any point has shown', () => {
    const more = pointOf(120, { isSaturated: true, completed: 91 });
    assert.match(headlineOf([pointOf(1), SATURATED, more]), /cluster at most 91 %/);
    const less = pointOf(100, { isSaturated: true, completed: 70 });
    assert.match(headlineOf([pointOf(80, { completed: 74 }), less]), /cluster at most 80 %/);
  });

  test("names the rate of the paper's latency if it is not that of ours", () => {
    const headline = headlineOf([pointOf(10)]);
    assert.match(headline, /^.* keep up with 10 % per hour, .* the paper's waited 2 s at 1 %\. In/);
    assert.match(headline, /the paper's waited 30 min at 1 %\.$/);
  });

  test('says nothing of the latency where no document was clustered', () => {
    const headline = headlineOf([pointOf(0.01, { latency: null }), pointOf(1)]);
    assert.match(
      headline,
      / At 1 % per hour a document waits 130 ms .* In the batch .* at 0\.01 %/,
    );
    assert.match(headlineOf([SATURATED]), /each machine\. In the batch a document waits \d+ min/);
  });

  test('has a ratio of costs even where batches grow without end', () => {
    const headline = headlineOf([pointOf(10_000_000, { isSaturated: true, completed: 80 })]);
    assert.match(headline, /In the batch a document waits forever/);
    assert.match(headline, /A document costs q = \d/);
  });
});

/** Documents per second of the batch and of Percolator, and q; the batch gets whole documents. */
function ratioOf(...given: Parameters<typeof findingsOf>): readonly number[] {
  const table = findingsOf(...given).tables.find(({ name }) => name === 'cost-ratio');
  return table?.rows[1]?.slice(1).map(Number) ?? [];
}

test('the ratio of costs and the unit of the chart do not depend on the rates asked for', () => {
  const unitOf = (points: readonly RatePoint[]): number => {
    const { charts } = findingsOf(points);
    const [marks, normalised] = charts.map(({ series }) => series[0]?.points[0]);
    return (normalised?.y ?? Number.NaN) / (marks?.y ?? Number.NaN);
  };
  const ratios = [[pointOf(1), SATURATED], [SATURATED]].map((points) => ratioOf(points));
  assert.equal(ratios[0]?.length, 3);
  assert.deepEqual(ratios[0], ratios[1]);
  assert.equal(unitOf([pointOf(1), SATURATED]), unitOf([pointOf(80), SATURATED]));
});

describe('in whatever order the simulations end', () => {
  const plan = planOf([1, 50]);
  const compared = pointOf(1);
  const points = [compared, { ...compared, repository: REPOSITORIES[1] }, pointOf(50)];
  const anyOrder = [points, points.toReversed()];

  test('the findings are the same', () => {
    const [inOrder, reversed] = anyOrder.map((some) => findingsOf(some, { plan }));
    assert.deepEqual(reversed, inOrder);
    const scale = inOrder?.tables.find(({ name }) => name === 'scale');
    assert.deepEqual(
      scale?.rows.map(([repository]) => repository),
      REPOSITORIES,
    );
  });

  test('what is wrong is said in the same order', () => {
    const [inOrder, reversed] = anyOrder.map((some) => {
      const wrong = some.map(({ result, ...one }) => {
        const mistakes = [`wrong with ${one.repository} documents`];
        return { ...one, result: { ...result, wrong: mistakes } };
      });
      return findingsOf(wrong, { plan }).check.detail;
    });
    assert.equal(reversed, inOrder);
  });
});

test('a rate at which no document was clustered has no numbers', () => {
  const { check } = findingsOf([pointOf(0.01, { clustered: 0, latency: null }), pointOf(1)]);
  assert.equal(check.passed, false);
  assert.equal(check.detail, 'at 0.01 %/hour: no document was clustered');
});

describe('where workers have machines of their own', () => {
  const { calibration } = loadCalibration('cloud-bigtable'); // Four for three tablet servers.
  const plan = planOf([1, 100], calibration);

  test('there are as many for each tablet server as in the calibration', () => {
    const { plan: crawl } = simulationOf(plan, { rate: 1, repository: 1_000 });
    assert.equal(crawl.tabletServers, 6);
    assert.equal(crawl.calibration.cluster.workerMachines, 8);
    const paper = simulationOf(planOf([1]), { rate: 1, repository: 1_000 });
    assert.equal(paper.plan.calibration.cluster.workerMachines, 0);
  });

  test('the headline counts them, and the runs on each of them', () => {
    const kinds = [kindUsage('tablet server', 6, 0.8), kindUsage('worker', 8, 0.3)];
    const usage = { ...SATURATED.result.usage, kinds };
    const full = pointOf(100, { isSaturated: true, completed: 83, usage });
    const points = [full, pointOf(1, { usage })];
    const { headline } = findingsOf(points, { plan });
    assert.match(headline, /, 6 tablet servers and 8 workers cluster at most 83 %/);
    assert.match(headline, /with 38 of at most 100 observer runs in flight on each worker\./);
  });

  test('their cores count in the ratio of costs', () => {
    const [batch = 0, percolator = 0, q = 0] = ratioOf([pointOf(1), SATURATED], { plan });
    // Six tablet servers of one core and eight workers of four.
    assert.ok(Math.abs(q / ((38 / 6) * (batch / percolator)) - 1) < 0.01, String(q));
    const [, , ofPaper = 0] = ratioOf([pointOf(1), SATURATED]);
    assert.ok(Math.abs(q / ofPaper / (38 / 6) - 1) < 0.01, String(ofPaper));
  });
});

test('a rate at which the backlog grew has no latency in any table or chart', () => {
  const points = [SATURATED, { ...SATURATED, repository: REPOSITORIES[1] }];
  const { tables, charts } = findingsOf(points, { plan: planOf([100]) });
  const rowsOf = (name: string) => tables.find((table) => table.name === name)?.rows ?? [];
  assert.deepEqual(rowsOf('figure-7')[1]?.slice(5, 8), [null, null, null]);
  assert.deepEqual(
    rowsOf('scale').map((row) => row.slice(2, 5)),
    [
      [null, null, null],
      [null, null, null],
    ],
  );
  const ours = charts[0]?.series.filter(({ name }) => name.startsWith('Percolator')) ?? [];
  assert.deepEqual(
    ours.map(({ points: marks }) => marks.length),
    [0, 0],
  );
});

describe('the variations of the assumed numbers', () => {
  const overloaded = (completed: number, wrong: readonly string[] = []): CrawlResult =>
    pointOf(500, { isSaturated: true, completed, wrong }).result;
  const variations = [
    { place: 'log.wait', factor: 0.5 },
    { place: 'log.wait', factor: 2 },
    { place: 'oracle.cores', factor: 2 },
  ];

  test('are those that move the capacity by more than 15 %, the farthest first', () => {
    const results = [overloaded(80), overloaded(95), overloaded(20), overloaded(91)];
    const found = sensitivityOf(results, variations);
    assert.deepEqual(found, {
      capacity: 80,
      variations: [
        { place: 'log.wait', factor: 2, capacity: 20 },
        { place: 'log.wait', factor: 0.5, capacity: 95 },
      ],
      wrong: [],
    });
    const { tables } = findingsOf([pointOf(1)], { sensitivity: { machines: 8, ...found } });
    assert.deepEqual(tables.at(-1)?.rows[1], ['log.wait', 2, 20, 0.25]);
  });

  test('leave no numbers if the check of one failed', () => {
    const wrong = ['document 7 is in the cluster of 1, not of 2'];
    const results = [overloaded(80), overloaded(84), overloaded(20, wrong), overloaded(81)];
    const sensitivity = { machines: 8, ...sensitivityOf(results, variations) };
    const { check, headline } = findingsOf([pointOf(1)], { sensitivity });
    assert.equal(check.passed, false);
    assert.match(
      check.detail,
      /^with log\.wait times 2: document 7 is in the cluster of 1, not of 2$/,
    );
    assert.equal(headline, 'There are no numbers.');
  });
});
