/** What this machine measured, next to the virtual cluster: the runs of the reference. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REFERENCE_FOLDER, type ResultSeries } from '#results';
import { runsIn } from './measured.ts';
import {
  measuredBatchSeconds,
  measuredCores,
  measuredLatencies,
  measuredRatios,
  measuredRecovery,
} from './measured-series.ts';

/** The user's own runs may be of any load, so they are left out. */
const RUNS = runsIn([REFERENCE_FOLDER]);

function named(all: readonly ResultSeries[], name: string): readonly { x: number; y: number }[] {
  const found = all.find((one) => one.name === name);
  assert.ok(found !== undefined && found.points.length > 0, name);
  return found.points;
}

test('a document waits one to two batch runs for MapReduce, and a small part of one for Percolator', () => {
  const seconds = measuredBatchSeconds(RUNS) ?? Number.NaN;
  const latencies = measuredLatencies(RUNS);
  for (const { y } of named(latencies, 'this machine, MapReduce')) {
    assert.ok(y > seconds && y < 2 * seconds, `${y} of ${seconds} s`);
  }
  const [first] = named(latencies, 'this machine, Percolator');
  assert.ok(first !== undefined && first.y < seconds / 20);
});

test('ratios are at the place of their operation, and those of a second store next to it', () => {
  const ratios = measuredRatios(
    new Map([
      ['read', 1],
      ['write', 2],
    ]),
    RUNS,
  );
  const [embedded, other] = ratios;
  assert.deepEqual(
    embedded?.points.map(({ x }) => x),
    [1, 2],
  );
  assert.deepEqual(
    other?.points.map(({ x }) => x),
    [1.1, 2.1],
  );
  assert.ok(ratios.every(({ points }) => points.every(({ y }) => y > 0 && y < 1)));
});

test('cores grow with the load, and before a kill all that arrives is completed', () => {
  const cores = named(measuredCores(RUNS), 'this machine, Percolator');
  assert.ok((cores.at(-1)?.y ?? 0) > (cores[0]?.y ?? Infinity));
  const recovery = named(measuredRecovery(RUNS), 'this machine, HBase');
  const before = recovery.filter(({ x }) => x < 0).map(({ y }) => y);
  const mean = before.reduce((sum, y) => sum + y, 0) / before.length;
  assert.ok(before.length > 10 && mean > 90 && mean < 110, String(mean));
  assert.ok(recovery.some(({ x, y }) => x >= 0 && y < 50));
});
