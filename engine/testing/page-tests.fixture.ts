/**
 * The part of node:test and node:assert that the conformance suite uses, for a browser:
 * core.test.ts puts it in their place when it bundles a page.
 */

interface PageTest {
  readonly name: string;
  readonly run: (context: { skip(reason?: string): void }) => Promise<void> | void;
}

const tests: PageTest[] = [];

export function describe(_name: string, body: () => void): void {
  body();
}

export function test(name: string, run: PageTest['run']): void {
  tests.push({ name, run });
}

/** Runs the tests one after another. Resolves with how many passed, and what the others said. */
export async function runTests(): Promise<{ passed: number; failures: readonly string[] }> {
  const failures: string[] = [];
  for (const { name, run } of tests) {
    try {
      await run({ skip: () => {} });
    } catch (error) {
      failures.push(`${name}: ${String(error)}`);
    }
  }
  return { passed: tests.length - failures.length, failures };
}

const assert = {
  ok: (value: unknown, message = 'it is not true'): void => {
    if (!value) throw new Error(message);
  },
  equal: (actual: unknown, expected: unknown, message = ''): void => {
    const isEqual = Object.is(actual, expected);
    assert.ok(isEqual, `${message} ${String(actual)}, not ${String(expected)}`);
  },
  deepEqual: (actual: unknown, expected: unknown, message = ''): void => {
    assert.equal(shown(actual), shown(expected), message);
  },
  rejects: async (promise: Promise<unknown>): Promise<void> => {
    const isRejected = await promise.then(
      () => false,
      () => true,
    );
    assert.ok(isRejected, 'it did not reject');
  },
  doesNotReject: async (promise: Promise<unknown>): Promise<void> => {
    await promise;
  },
};

function shown(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (part === undefined) return 'undefined';
    return part instanceof Set || part instanceof Map ? [...part] : part;
  });
}

export default assert; // oxlint-disable-line import/no-default-export -- As node:assert has it.
