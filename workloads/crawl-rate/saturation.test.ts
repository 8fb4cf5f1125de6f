/**
 * Claims about the verdict: a growing backlog is saturation, a fluctuating one is not.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProgressRow } from '#results';
import { judge, type KeptUp, type Observation } from './saturation.ts';

const PER_SECOND = 1_000;
const SECONDS = 20;

/** Ten samples a second; `backlog` gives the number of waiting documents at a moment. */
function series(
  backlog: (seconds: number) => number,
  { perSecond, seconds }: Pick<Observation, 'perSecond' | 'seconds'>,
): ProgressRow[] {
  return Array.from({ length: seconds * 10 + 1 }, (_, i) => {
    const arrived = Math.round((i / 10) * perSecond);
    return { seconds: i / 10, arrived, completed: arrived - Math.round(backlog(i / 10)) };
  });
}

function verdict(
  backlog: (seconds: number) => number,
  halfMediansMs: readonly [number | null, number | null] = [5, 5],
  given: Partial<Pick<Observation, 'perSecond' | 'seconds' | 'stillWaiting'>> = {},
): KeptUp {
  const interval = { perSecond: PER_SECOND, seconds: SECONDS, ...given };
  return judge({ ...interval, series: series(backlog, interval), halfMediansMs });
}

test('a backlog that stays is no saturation', () => {
  assert.equal(verdict(() => 12).saturated, false);
});

/** Rises `times` times by 300, which chance explains, and falls in between. */
function wave(times: number): (seconds: number) => number {
  return (s) => 150 - 150 * Math.cos(((2 * times - 1) * Math.PI * s) / SECONDS);
}

test('a backlog that rises by as much as chance explains is no saturation', () => {
  const { saturated, backlogGrowthPerSecond } = verdict(wave(1));
  assert.equal(saturated, false);
  assert.ok(backlogGrowthPerSecond > 15, String(backlogGrowthPerSecond));
});

test('a backlog that fluctuates by as much is no saturation, though a half is slower', () => {
  const { saturated, backlogGrowthPerSecond } = verdict(wave(2), [200, 400]);
  assert.equal(saturated, false);
  assert.ok(backlogGrowthPerSecond > 0, String(backlogGrowthPerSecond));
});

test('a pause that is made up for is no saturation, though a line through the backlog rises', () => {
  const { saturated, backlogGrowthPerSecond } = verdict((s) =>
    s >= 4.2 && s < 14.2 ? PER_SECOND * (s - 4.2) : 0,
  );
  assert.equal(saturated, false);
  assert.ok(backlogGrowthPerSecond * SECONDS > PER_SECOND, String(backlogGrowthPerSecond));
});

test('a backlog that grows by a tenth of the arrivals is saturated, and the growth is reported', () => {
  const { saturated, reason, backlogGrowthPerSecond } = verdict((s) => 100 * s);
  assert.equal(saturated, true);
  assert.equal(reason, 'the backlog grew by 2,000');
  assert.ok(Math.abs(backlogGrowthPerSecond - 100) < 1);
});

test('arrivals that are missing at the end are saturation, though the slope projects few', () => {
  const { saturated, reason } = verdict((s) => (s > 19.45 ? 1_500 : 0));
  assert.equal(saturated, true);
  assert.equal(reason, 'only 18,500 of 20,000 documents');
});

test('a backlog that grows is saturation, though it is worked off at the end', () => {
  const { saturated, reason } = verdict((s) => (s < 19.45 ? 100 * s : 0));
  assert.equal(saturated, true);
  assert.match(reason, /^the backlog grew by 1,6\d\d$/);
});

test('a second half that is slower, with a backlog that grows a little, is saturated', () => {
  const { saturated, reason } = verdict((s) => 12 + 5 * s, [200, 400]);
  assert.equal(saturated, true);
  assert.equal(reason, 'the second half (median 400 ms) was slower than the first (200 ms)');
});

test('a second half that is slower, with a backlog that stays, is no saturation: another process was active', () => {
  assert.equal(verdict(() => 12, [200, 400]).saturated, false);
});

test('a second half that is slower by milliseconds is noise, even if the backlog grows a little', () => {
  assert.equal(verdict((s) => 12 + 5 * s, [2, 4]).saturated, false);
});

test('a second half that is slower by a quarter is noise, even if the backlog grows a little', () => {
  assert.equal(verdict((s) => 12 + 5 * s, [200, 250]).saturated, false);
});

test('a backlog that grows by fewer than chance explains is no saturation, and one that grows by more is', () => {
  // Of 200 documents 18, of 10,000 documents 200, of 200,000 documents 1,000; then twice as many.
  for (const [growing, interval] of [
    [0.9, { perSecond: 10 }],
    [20, { seconds: 10 }],
    [5, { seconds: 200 }],
  ] as const) {
    assert.equal(verdict((s) => growing * s, [5, 5], interval).saturated, false);
    assert.equal(verdict((s) => 2 * growing * s, [5, 5], interval).saturated, true);
  }
});

test('documents that wait for a minute more are saturation, though the backlog stays', () => {
  const { saturated, reason } = verdict(() => 12, [5, 5], { stillWaiting: true });
  assert.equal(saturated, true);
  assert.equal(reason, 'documents still waited a minute after the interval');
});

test('a point without documents in one half is judged by its backlog', () => {
  assert.equal(verdict(() => 0, [5, null]).saturated, false);
  assert.equal(verdict((s) => 12 + 5 * s, [null, 400]).saturated, false);
  assert.equal(verdict((s) => 12 + 5 * s, [400, null]).saturated, false);
  assert.equal(verdict((s) => 100 * s, [5, null]).saturated, true);
});

/** The verdict about a batch that takes so many seconds for each run. */
function batchVerdict(runs: readonly number[]): KeptUp {
  const rows: ProgressRow[] = [];
  let at = 0;
  for (const run of runs) {
    const completed = PER_SECOND * at;
    at += run;
    rows.push({ seconds: at, arrived: PER_SECOND * at, completed });
  }
  return judge({
    series: rows,
    perSecond: PER_SECOND,
    seconds: at - (rows[0]?.seconds ?? 0),
    runSeconds: at / runs.length,
    halfMediansMs: [30_000, 30_300],
  });
}

test('a batch whose last run takes a second longer than its first by chance is not saturated', () => {
  assert.equal(batchVerdict([20, 20.5, 19.8, 20.2, 21.5]).saturated, false);
});

test('a batch whose runs become longer is saturated, whether slowly or fast', () => {
  assert.match(batchVerdict([20, 22, 24.2, 26.6, 29.3]).reason, /^the backlog grew by /);
  assert.match(batchVerdict([20, 40, 80, 160, 320]).reason, /^the backlog grew by 300,000$/);
  assert.equal(batchVerdict([0.1, 0.2, 0.4, 0.8, 1.6]).saturated, true);
});
