/**
 * Loaded before every file of tests: a test that passes without a single assertion fails. An
 * assertion in a callback that never runs, or in a loop over an empty list, proves nothing.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, type TestContext } from 'node:test';
import { isMainThread } from 'node:worker_threads';

let assertions = 0;

// Node passes `--import` on to the programs and the threads that tests start.
if (isMainThread && process.argv[1]?.endsWith('.test.ts') === true) {
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
