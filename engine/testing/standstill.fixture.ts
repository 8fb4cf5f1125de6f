/** A file of tests for the test runner, which would never end; the environment says why. */
import { env } from 'node:process';
import { test } from 'node:test';
import { watchTests } from './watched.ts';

if (env['STANDSTILL'] === 'open') {
  watchTests({ msMax: 1_000 });
  test('something stays open after the test', () => {
    setInterval(() => {}, 1_000);
  });
} else {
  watchTests({ cpuMsMax: 100 });
  test('a loop that lets no timer fire', async () => {
    for (;;) await Promise.resolve();
  });
}
