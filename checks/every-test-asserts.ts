/**
 * `./run.sh test` loads this before every file of tests:
 *
 *   1. A test that passes without a single assertion fails. An assertion in a callback that never
 *      runs, or in a loop over an empty list, proves nothing.
 *   2. The test runner does not follow promises. By default it follows them, to name the test whose
 *      code fails after the test has ended; the engine then runs at half its speed. Such an error
 *      still fails the file.
 *   3. A file that loops, or does not end with its tests, is ended (engine/testing/watched.ts).
 */
import assert from 'node:assert/strict';
import asyncHooks from 'node:async_hooks';
import type { TestContext } from 'node:test';
import { isMainThread } from 'node:worker_threads';
import { watchTests } from '../engine/testing/watched.ts';

let assertions = 0;

// Only a file of tests, or the file that runs the quick ones, is changed. Threads inherit
// `--import`, too, and so do processes started by `fork` or `execaNode`, unless they are given
// `execArgv` or `nodeOptions`.
if (isMainThread && /\.test\.ts$|quick-tests\.ts$/.test(process.argv[1] ?? '')) {
  leavePromisesAlone();
  watchTests();
  // Imported only now: the test runner takes hold of `createHook` when it is loaded.
  const { afterEach, beforeEach } = await import('node:test');
  countCalls(assert);
  let hasSkip = false;
  beforeEach((context) => {
    assertions = 0;
    // A test that finds nothing to test here says so with `skip`, which counts like an assertion.
    if (!hasSkip) countCalls(Object.getPrototypeOf(context) as TestContext, ['skip']);
    hasSkip = true;
  });
  afterEach(() => {
    if (assertions === 0) throw new Error('the test ended without a single assertion');
  });
}

function leavePromisesAlone(): void {
  const { createHook } = asyncHooks;
  asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
}

function countCalls(target: object, names: readonly string[] = Object.keys(target)): void {
  const functions = target as Record<string, unknown>;
  for (const name of names) {
    const original = functions[name];
    if (typeof original !== 'function' || /^[A-Z]|^strict$/.test(name)) continue;
    functions[name] = function (this: unknown, ...args: unknown[]): unknown {
      assertions++;
      return original.apply(this, args) as unknown;
    };
  }
}
