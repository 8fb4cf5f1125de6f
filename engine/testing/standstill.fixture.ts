/** A file of tests for the test runner: its only test loops without waiting for anything. */
import { test } from 'node:test';
import { watchEventLoop } from './virtual-clock.ts';

test('a loop that lets no timer fire', async () => {
  watchEventLoop(100);
  for (;;) await Promise.resolve();
});
