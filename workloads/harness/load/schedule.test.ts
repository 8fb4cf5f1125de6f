/** Claims about the schedule: arrivals are evenly spaced, and `dueBy` agrees with `dueUs`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  createSchedule,
  documentsPerSecond,
  dueBy,
  dueUs,
  endUs,
  measuredFromUs,
  scheduledDocuments,
} from './schedule.ts';

const OPTIONS = { repository: 360_000, ratePercentPerHour: 100, seconds: 10, warmupSeconds: 2 };

test('a rate of 100 %/hour of 360,000 documents is 100 documents a second', () => {
  assert.equal(documentsPerSecond(360_000, 100), 100);
});

test('measured documents arrive evenly, from the end of the warm-up on', () => {
  const schedule = createSchedule(OPTIONS);
  const first = schedule.warmupDocuments;
  assert.equal(schedule.documents, 1000);
  assert.equal(dueUs(schedule, first), measuredFromUs(schedule));
  assert.equal(dueUs(schedule, first + 1) - dueUs(schedule, first), 10_000);
  assert.equal(endUs(schedule) - measuredFromUs(schedule), 10e6);
});

test('a slow rate is warmed up at a faster one, and the measured documents keep their rate', () => {
  const schedule = createSchedule({ ...OPTIONS, ratePercentPerHour: 1 });
  assert.equal(schedule.warmupPerSecond, 200);
  assert.equal(schedule.perSecond, 1);
  assert.equal(schedule.documents, 10);
});

test('even the slowest rate measures a document, and takes as long as any other rate', () => {
  const schedule = createSchedule({ ...OPTIONS, ratePercentPerHour: 0.001 });
  assert.equal(schedule.documents, 1);
  assert.equal(endUs(schedule) - measuredFromUs(schedule), 10e6);
});

test('the documents due by a moment are those scheduled until then', () => {
  const rates = fc.double({ min: 0.1, max: 5_000, noNaN: true });
  fc.assert(
    fc.property(rates, fc.integer({ min: 0, max: 20_000_000 }), (ratePercentPerHour, elapsedUs) => {
      const schedule = createSchedule({ ...OPTIONS, ratePercentPerHour });
      const due = dueBy(schedule, elapsedUs);
      // Half a microsecond either way is the rounding of a division.
      if (due > 0) assert.ok(dueUs(schedule, due - 1) <= elapsedUs + 0.5);
      if (due < scheduledDocuments(schedule)) assert.ok(dueUs(schedule, due) >= elapsedUs - 0.5);
    }),
  );
});
