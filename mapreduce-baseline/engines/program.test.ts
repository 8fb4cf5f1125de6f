/** The programs of outside engines: when they end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runProgram } from './program.ts';

test('a program is not run to its end if the signal is aborted while it is about to start', async () => {
  const interrupt = new AbortController();
  const running = runProgram('sleep', ['sleep', '60'], { signal: interrupt.signal });
  interrupt.abort(new Error('interrupted'));
  const beganMs = performance.now();
  await assert.rejects(running, /interrupted/);
  assert.ok(performance.now() - beganMs < 60_000, 'it has slept to its end');
});
