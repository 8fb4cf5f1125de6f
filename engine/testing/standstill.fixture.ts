/** A file of tests for the test runner, which would never end; the environment says why. */
import { createServer } from 'node:net';
import { env } from 'node:process';
import { test } from 'node:test';
import { watchTests } from './watched.ts';

if (env['STANDSTILL'] === 'open') {
  watchTests({ msMax: 1_000 });
  test('something stays open after the test', () => {
    createServer().listen(0, '127.0.0.1');
  });
} else {
  watchTests({ cpuMsMax: 100 });
  test('a loop that lets no timer fire', async () => {
    for (;;) await Promise.resolve();
  });
}
