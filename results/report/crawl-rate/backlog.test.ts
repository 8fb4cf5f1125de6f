/** Claims about the documents that wait: the peaks of a batch count, not only what a run leaves. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../engine/testing/temporary-folder.ts';
import type { System } from '../run-record.ts';
import { createSampleRun } from '../testing/sample-run.ts';
import { writeTimeSeries } from '../time-series.ts';
import { backlogFigure, mostWaiting } from './backlog.ts';

const folder = temporaryFolder();
const { record } = createSampleRun(folder);
writeTimeSeries(path.join(folder, 'rows.csv'), [
  { seconds: 1, arrived: 2, completed: 1 },
  { seconds: 2, arrived: 4, completed: 2 },
  { seconds: 3, arrived: 6, completed: 4 },
]);

/** What the chart draws of a point with these rows, and what the table says. */
function waitingOf(system: System): { readonly drawn: unknown; readonly told: unknown } {
  const [point] = record.points;
  assert.ok(point !== undefined);
  const points = [{ ...point, system, timeSeriesFile: 'rows.csv' }];
  const { chart, table } = backlogFigure(folder, { ...record, points }) ?? {};
  return {
    drawn: chart?.series[0]?.marks.map(({ x, y }) => [x, y]),
    told: table?.rows[0]?.slice(2),
  };
}

test('MapReduce has most documents waiting just before a run ends', () => {
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

test('Percolator, which completes documents all the time, is drawn with its samples alone', () => {
  const { drawn, told } = waitingOf('percolator');
  assert.deepEqual(drawn, [
    [1, 1],
    [2, 2],
    [3, 2],
  ]);
  assert.deepEqual(told, [3, 2, 2]);
});

test('the most that waited is found among as many rows as a day has', () => {
  const rows = Array.from({ length: 300_000 }, (_, i) => ({ documents: i === 7 ? 9 : 1 }));
  assert.equal(mostWaiting(rows), 9);
});
