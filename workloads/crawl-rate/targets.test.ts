/** A target is judged only if the load asked for it. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { numberIn, type Point, pointsOf, readRunRecord } from '#results';
import { type JudgedFigure7, targetsOf } from './points.ts';

const RECORD = readRunRecord(path.join(import.meta.dirname, '../../results/reference/figure-7'));
const REFERENCE: JudgedFigure7 = {
  points: pointsOf(RECORD),
  capacity: {
    percolatorDocumentsPerSecond: numberIn(RECORD, 'capacity', 'documents/s', 'Percolator'),
    mapreduceDocumentsPerSecond: 1,
    costRatio: 1,
  },
  store: RECORD.store,
  documents: 1_000_000,
};

function verdicts(record: JudgedFigure7): readonly (boolean | null)[] {
  return targetsOf(record).map(({ met }) => met);
}

/** The record with only the points of rates up to `rate`, all of which kept up. */
function upTo(rate: number): JudgedFigure7 {
  const isKept = (point: Point): boolean =>
    point.ratePercentPerHour <= rate && point.verdict === 'sustained';
  return {
    ...REFERENCE,
    points: REFERENCE.points.filter(isKept),
    capacity: { percolatorDocumentsPerSecond: 280, mapreduceDocumentsPerSecond: 1, costRatio: 1 },
  };
}

test('the reference run is judged by every target, as its record says', () => {
  assert.deepEqual(
    verdicts(REFERENCE),
    RECORD.targets.map(({ met }) => met),
  );
});

test('an engine that kept up with a small load is not judged by its throughput', () => {
  const [throughput] = targetsOf(upTo(100));
  assert.equal(throughput?.met, null);
  assert.match(throughput?.reason ?? '', /^only 278 documents\/s were offered$/);
});

test('an engine that a small load saturated missed its throughput', () => {
  const small = upTo(100);
  const points = small.points.map((point) => ({ ...point, verdict: 'saturated' as const }));
  assert.equal(verdicts({ ...small, points })[0], false);
});

test('without a low rate neither latency nor ratio is judged, and in a small repository not the ratio', () => {
  const points = REFERENCE.points.filter((point) => point.ratePercentPerHour >= 100);
  assert.deepEqual(verdicts({ ...REFERENCE, points }).slice(1), [null, null]);
  const small = { ...REFERENCE, documents: 250_000 };
  assert.deepEqual(verdicts(small).slice(1), [true, null]);
});

test('the throughput is a target of the embedded store alone', () => {
  const store = { ...REFERENCE.store, name: 'hbase' };
  const [throughput] = targetsOf({ ...REFERENCE, store });
  assert.equal(throughput?.met, null);
  assert.equal(throughput?.reason, 'the store is hbase');
});

test('the two systems are compared at one rate, also after an interrupt', () => {
  const isKept = ({ system, ratePercentPerHour: rate }: Point): boolean =>
    system === 'percolator' ? rate >= 10 : rate <= 1;
  const ratio = targetsOf({ ...REFERENCE, points: REFERENCE.points.filter(isKept) })[2];
  assert.deepEqual([ratio?.met, ratio?.measured], [null, 'no ratio']);
  const batch = REFERENCE.points.find(({ system }) => system === 'mapreduce');
  assert.ok(batch !== undefined);
  const points = [{ ...batch, ratePercentPerHour: 0.5 }, ...REFERENCE.points];
  assert.equal(verdicts({ ...REFERENCE, points })[2], verdicts(REFERENCE)[2]);
});

describe('a target of latency', () => {
  /** The verdicts on latency and ratio after a change to the point of a system's lowest rate. */
  const verdictsWith = (
    system: Point['system'],
    change: Partial<Point>,
  ): readonly (readonly [boolean | null, string | undefined | null])[] => {
    const points = REFERENCE.points.map((point) =>
      point.system === system && point.ratePercentPerHour === 1 ? { ...point, ...change } : point,
    );
    const [, latency, ratio] = targetsOf({ ...REFERENCE, points });
    return [latency, ratio].map((target) => [target?.met ?? null, target?.reason]);
  };
  const reason = 'the generator was late';
  const [met] = verdictsWith('mapreduce', {});

  test('is not judged if the measurement that it needs failed', () => {
    const invalid = { verdict: 'invalid', verdictReason: reason, latency: null } as const;
    const unknown = [null, reason];
    assert.deepEqual(verdictsWith('percolator', invalid), [unknown, unknown]);
    assert.deepEqual(verdictsWith('mapreduce', invalid), [met, unknown]);
  });

  test('is not judged if no document was measured', () => {
    const empty = [null, 'no document was measured'];
    assert.deepEqual(verdictsWith('percolator', { latency: null }), [empty, empty]);
  });

  test('is not met by a system that did not keep up', () => {
    const missed = [false, undefined];
    const saturated = { verdict: 'saturated', latency: null } as const;
    assert.deepEqual(verdictsWith('percolator', saturated), [missed, missed]);
  });

  test('is not judged if the batch did not keep up, and the engine was measured', () => {
    const verdictReason = 'the backlog grows';
    const saturated = { verdict: 'saturated', verdictReason, latency: null } as const;
    const slow = [null, `the batch did not keep up: ${verdictReason}`];
    assert.deepEqual(verdictsWith('mapreduce', saturated), [met, slow]);
  });
});
