/** What the validation says of its numbers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REFERENCE_FOLDER } from '#results';
import { type MeasuredCrawl, measuredCrawl, runsIn } from '../measured.ts';
import { kindUsage } from '../usage.fixture.ts';
import { busyCores, comparedPoint, halfLoad, pointsOf, validationFindings } from './findings.ts';

const operations = { read: 2, mutate: 2, conditionalMutate: 4 };
const counted = { measured: operations, predicted: operations };
const one = { workload: 'crawl', what: 'saturation', unit: 'documents/s', errorMax: 15 } as const;

test('numbers within their limits are counted, and all numbers are shown as they are', () => {
  const compared = [
    { ...one, measured: 100, predicted: 114 },
    { ...one, measured: 100, predicted: 84 },
    { ...one, measured: 100, predicted: 300, errorMax: null },
  ];
  const findings = validationFindings({ runs: [], compared, counted, wrong: [] });
  const { headline, tables, targets } = findings;
  assert.match(headline, /^1 of 2 numbers /);
  assert.deepEqual(
    tables[0]?.rows.map((row) => row.slice(3)),
    [
      [100, 114, 14, 15],
      [100, 84, -16, 15],
      [100, 300, 200, null],
    ],
  );
  assert.deepEqual(
    targets.map(({ met }) => met),
    [true, false, true],
  );
});

test('a prediction that is not finite is a question mark in its sentence', () => {
  const compared = [{ ...one, measured: 100, predicted: Infinity }];
  const { targets } = validationFindings({ runs: [], compared, counted, wrong: [] });
  assert.match(targets[0]?.measured ?? '', /^\? documents\/s predicted, 100 measured: /);
});

test('a simulation that fails its check leaves no numbers, but its reason', () => {
  const compared = [{ ...one, measured: 100, predicted: 114 }];
  const found = validationFindings({ runs: [], compared, counted, wrong: ['a lost row'] });
  assert.deepEqual([found.headline, found.tables], ['There are no numbers.', []]);
  assert.deepEqual(found.check, { passed: false, detail: 'a lost row' });
});

/* What a validation compares with what, and what it leaves out. */

const RUNS = runsIn([REFERENCE_FOLDER]);
const PREDICTED = {
  latency: { medianMs: 5, p90Ms: 6, p99Ms: 7, samples: 100 },
  completedPerSecond: 500,
  cores: 2,
};

function reference(on: 'embedded' | 'hbase'): MeasuredCrawl {
  const crawl = measuredCrawl(on, RUNS);
  assert.ok(crawl !== null, on);
  return crawl;
}

test('the half load is the rate nearest to half of the documents completed at saturation', () => {
  const crawl = reference('embedded');
  // At 400 and 800 % per hour it completed 1,111 and 2,222 documents a second, at most 9,722.
  assert.equal(halfLoad(crawl)?.ratePercentPerHour, 800);
  const slower = crawl.points.map((point) =>
    point.verdict === 'saturated' ? { ...point, documentsPerSecondCompleted: 2_400 } : point,
  );
  assert.equal(halfLoad({ ...crawl, points: slower })?.ratePercentPerHour, 400);
  const whats = crawl.points.flatMap((point) =>
    comparedPoint(crawl, point, PREDICTED).map(({ what, errorMax }) => [
      point.ratePercentPerHour,
      what,
      errorMax,
    ]),
  );
  assert.deepEqual(
    whats.filter(([, , errorMax]) => errorMax !== null),
    [[800, 'median latency at half load', 30]],
  );
  assert.deepEqual(whats[0], [1, 'median latency', null]);
});

test('without a saturated rate there is no half load, and no limit of a latency', () => {
  const { points, ...others } = reference('embedded');
  const crawl = { ...others, points: points.filter(({ verdict }) => verdict !== 'saturated') };
  assert.equal(halfLoad(crawl), undefined);
  for (const point of crawl.points) {
    for (const { errorMax } of comparedPoint(crawl, point, PREDICTED)) assert.equal(errorMax, null);
  }
  assert.deepEqual(pointsOf(crawl, { isTiny: true }), crawl.points.slice(-1));
  assert.equal(pointsOf(crawl, { isTiny: false }).length, crawl.points.length);
});

test('the processor time of a document is that of all busy cores, and is compared only where the record counts all processes', () => {
  const embedded = reference('embedded');
  const [point] = embedded.points;
  assert.ok(point !== undefined && point.cpuSecondsPerDocument !== null);
  const cpu = comparedPoint(embedded, point, PREDICTED)[1];
  assert.deepEqual(
    [cpu?.what, cpu?.predicted, cpu?.measured],
    ['processor time of a document', 4_000, 1e6 * point.cpuSecondsPerDocument],
  );
  // A record of HBase has only the processor time of the client's process.
  const hbase = reference('hbase');
  const sustained = hbase.points.filter(({ latency }) => latency !== null);
  assert.ok(sustained.length > 0);
  for (const sustainedPoint of sustained) {
    const compared = comparedPoint(hbase, sustainedPoint, PREDICTED);
    assert.deepEqual(
      compared.map(({ unit }) => unit),
      ['ms'],
    );
    assert.match(compared[0]?.workload ?? '', /^crawl-rate on HBase, /);
  }
  const unknown = comparedPoint(embedded, { ...point, cpuSecondsPerDocument: null }, PREDICTED);
  assert.equal(unknown.length, 1);
});

test('busy cores are those of the tablet servers, not of the clients, and the work in the background', () => {
  const kinds = [kindUsage('client', 3, 0.9), kindUsage('tablet server', 3, 0.5)];
  assert.equal(busyCores({ kinds, maintenanceUs: 5e6, seconds: 10 }, 4), 3 * 0.5 * 4 + 0.5);
});
