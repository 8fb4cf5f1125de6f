/** Claims of the base layer: seeds repeat, forks are independent, codes decide retries. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, isRetryable, PercolatorError, systemClock } from './index.ts';

test('the same seed gives the same stream', () => {
  const draw = (): number[] => {
    const random = createRandom(7);
    return Array.from({ length: 20 }, () => random.integer(0, 1_000_000));
  };
  assert.deepEqual(draw(), draw());
});

test('a fork depends on the seed and its name, not on what was drawn before', () => {
  const early = createRandom(7).fork('worker-1');
  const late = createRandom(7);
  late.fraction();
  const afterDraw = late.fork('worker-1');
  assert.equal(early.integer(0, 1 << 30), afterDraw.integer(0, 1 << 30));
  assert.notEqual(
    createRandom(7)
      .fork('worker-1')
      .integer(0, 1 << 30),
    createRandom(7)
      .fork('worker-2')
      .integer(0, 1 << 30),
  );
  assert.notEqual(
    createRandom(7)
      .fork('worker-1')
      .integer(0, 1 << 30),
    createRandom(8)
      .fork('worker-1')
      .integer(0, 1 << 30),
  );
});

test('an unknown commit is never retried', () => {
  assert.equal(isRetryable(new PercolatorError('WRITE_CONFLICT', 'x')), true);
  assert.equal(isRetryable(new PercolatorError('COMMIT_UNKNOWN', 'x')), false);
  assert.equal(isRetryable(new PercolatorError('STORE_IN_DOUBT', 'x')), false);
  assert.equal(isRetryable(new Error('x')), false);
});

test('an aborted sleep ends at once and does not reject', async () => {
  const controller = new AbortController();
  const started = systemClock.monotonicMs();
  const slept = systemClock.sleep(60_000, controller.signal);
  controller.abort();
  await slept;
  await systemClock.sleep(60_000, controller.signal);
  assert.ok(systemClock.monotonicMs() - started < 10_000);
});
