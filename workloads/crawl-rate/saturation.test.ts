/** Claims about the verdict: a growing backlog is saturation, a fluctuating one is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TimeSeriesRow } from '#results';
import { judge } from './saturation.ts';

const PER_SECOND = 1_000;
const SECONDS = 20;

/** Ten samples a second; `backlog` gives the number of waiting documents at a moment. */
function series(backlog: (seconds: number) => number): TimeSeriesRow[] {
  return Array.from({ length: SECONDS * 10 + 1 }, (_, i) => {
    const seconds = i / 10;
    const arrived = Math.round(seconds * PER_SECOND);
    return { seconds, arrived, completed: arrived - Math.round(backlog(seconds)) };
  });
}

function verdict(
  backlog: (seconds: number) => number,
  halfMediansMs: readonly [number | null, number | null] = [5, 5],
): ReturnType<typeof judge> {
  return judge({
    series: series(backlog),
    perSecond: PER_SECOND,
    seconds: SECONDS,
    halfMediansMs,
  });
}

test('a backlog that stays is sustained', () => {
  assert.equal(verdict(() => 12).saturated, false);
});

test('a backlog that fluctuates by half a second of arrivals is sustained', () => {
  assert.equal(verdict((s) => 250 + 250 * Math.sin(s * 3)).saturated, false);
});

test('a backlog that grows by a tenth of the arrivals is saturated, and the growth is reported', () => {
  const { saturated, backlogGrowthPerSecond } = verdict((s) => 100 * s);
  assert.equal(saturated, true);
  assert.ok(Math.abs(backlogGrowthPerSecond - 100) < 1);
});

test('a second half that is slower, with a backlog that grows a little, is saturated', () => {
  assert.equal(verdict((s) => 12 + 5 * s, [200, 400]).saturated, true);
});

test('a second half that is slower, with a backlog that stays, was disturbed', () => {
  assert.equal(verdict(() => 12, [200, 400]).saturated, false);
});

test('a second half that is slower by milliseconds is noise, even if the backlog grows a little', () => {
  assert.equal(verdict((s) => 12 + 5 * s, [2, 4]).saturated, false);
});

test('a point without documents in one half is judged by its backlog', () => {
  assert.equal(verdict(() => 0, [5, null]).saturated, false);
  assert.equal(verdict((s) => 100 * s, [5, null]).saturated, true);
});
