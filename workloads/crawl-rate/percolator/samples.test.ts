/** Processes that stop do not look as if they had kept up until their end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSchedule, endUs, measuredFromUs } from '../../harness/load/schedule.ts';
import { judge } from '../saturation.ts';
import { Samples } from './point.ts';

const SECONDS = 20;
const PER_SECOND = 1_000;
const schedule = createSchedule({
  repository: 100_000,
  ratePercentPerHour: 3_600,
  seconds: SECONDS,
  warmupSeconds: 1,
});

/** Processes that report every 100 ms, and have clustered all documents, until they stop. */
function samplesUntil(stopUs: number): Samples {
  const samples = new Samples(schedule);
  for (let us = 0; us <= endUs(schedule); us += 10_000) {
    if (us % 100_000 === 0 && us < stopUs) samples.add(us, (us / 1e6) * PER_SECOND);
    samples.addIfOverdue(us);
  }
  return samples;
}

function isSaturated({ rows }: Samples): boolean {
  const series = rows.filter(({ seconds }) => seconds * 1e6 >= measuredFromUs(schedule));
  const halfMediansMs = [null, null] as const;
  return judge({ series, perSecond: PER_SECOND, seconds: SECONDS, halfMediansMs }).saturated;
}

test('an engine that stops before the end of the interval has not kept up', () => {
  assert.equal(isSaturated(samplesUntil(Infinity)), false);
  assert.equal(isSaturated(samplesUntil(endUs(schedule) - 3e6)), true);
  assert.equal(isSaturated(samplesUntil(0)), true);
});

test('samples are the reports, as long as these come in time', () => {
  const { rows } = samplesUntil(Infinity);
  assert.equal(rows.length, 10 * (SECONDS + 1) + 1);
  assert.deepEqual(rows[3], { seconds: 0.3, arrived: 301, completed: 300 });
});

test('a report that is overdue is replaced by the last one, at most five times a second', () => {
  const rows = samplesUntil(1e6).rows.slice(9, 12);
  assert.deepEqual(
    rows.map(({ seconds, completed }) => [Number(seconds.toFixed(1)), completed]),
    [
      [0.9, 900],
      [1.1, 900],
      [1.3, 900],
    ],
  );
});
