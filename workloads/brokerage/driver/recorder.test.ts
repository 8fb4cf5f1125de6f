/** From which moment a response time counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '#engine/testing';
import { FakeBrokerage } from './fake-brokerage.fixture.ts';
import { Recorder } from './recorder.ts';

test('a response time counts from the due moment, or from the beginning if that was earlier', async () => {
  const clock = new VirtualClock();
  const recorder = new Recorder(clock, new FakeBrokerage({ clock, responseMs: 2 }));
  for (const [lateMs, responseUs] of [
    [-1.5, 2_000],
    [0, 2_000],
    [3, 5_000],
  ] as const) {
    const nowMs = clock.monotonicMs();
    recorder.measure({ fromMs: nowMs, toMs: nowMs + 100 });
    await clock.runUntil(recorder.execute('dataMaintenance', {} as never, nowMs - lateMs));
    const { histogram } = recorder.records.dataMaintenance;
    assert.equal(histogram.minNonZeroValue, responseUs);
    assert.equal(histogram.maxValue, responseUs);
  }
});
