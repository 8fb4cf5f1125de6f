/**
 * The parts of `node:test` that the engine's tests use, for a process that judges mutants.
 *
 * It stops at the first test that fails, without running the hooks after it, runs one test after
 * the other, and does not track
 * promises, which makes the real `node:test` several times as slow. A test file that uses more of
 * `node:test` than this also fails for the unchanged engine, and so is not a judge of mutants;
 * judges.ts reports such files.
 */
type Hook = () => unknown;

interface QuickTestContext {
  readonly name: string;
  after(hook: Hook): void;
  /** Does nothing: a test that has nothing to test here returns after it. */
  skip(): void;
}

type Body = (context: QuickTestContext) => unknown;

interface TestOptions {
  readonly skip?: boolean | string;
}

class Suite {
  readonly name: string;
  readonly befores: Hook[] = [];
  readonly afters: Hook[] = [];
  readonly beforeEaches: Hook[] = [];
  readonly afterEaches: Hook[] = [];
  readonly entries: (Suite | { readonly name: string; readonly body: Body })[] = [];

  constructor(name: string) {
    this.name = name;
  }
}

/** A test of the file failed. */
export class TestFailure extends Error {}

let current = new Suite('');
/** The hooks to run after the running test; undefined outside of tests. */
let aftersOfTest: Hook[] | undefined;

/** Loads a test file, and runs the tests it declares. Resolves with the number of tests. */
export async function runTests(load: () => Promise<unknown>): Promise<number> {
  const root = new Suite('a hook of the file');
  current = root;
  await load();
  return await runSuite(root, []);
}

async function runSuite(suite: Suite, around: readonly Suite[]): Promise<number> {
  const suites = [...around, suite];
  let tests = 0;
  for (const hook of suite.befores) await toldAs(suite.name, hook);
  for (const entry of suite.entries) {
    if (entry instanceof Suite) tests += await runSuite(entry, suites);
    else {
      await runTest(entry.name, entry.body, suites);
      tests++;
    }
  }
  for (const hook of suite.afters) await toldAs(suite.name, hook);
  return tests;
}

async function runTest(name: string, body: Body, suites: readonly Suite[]): Promise<void> {
  const afters: Hook[] = [];
  aftersOfTest = afters;
  try {
    await toldAs(name, async () => {
      for (const hook of suites.flatMap(({ beforeEaches }) => beforeEaches)) await hook();
      await body({ name, after: (hook) => afters.push(hook), skip: () => undefined });
      for (const hook of afters) await hook();
      for (const hook of suites.flatMap(({ afterEaches }) => afterEaches)) await hook();
    });
  } finally {
    aftersOfTest = undefined;
  }
}

/** @throws TestFailure with the name of the test, or of the suite whose hook failed */
async function toldAs(name: string, work: Hook): Promise<void> {
  try {
    await work();
  } catch (error) {
    const told = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new TestFailure(`${name}: ${told}`, { cause: error });
  }
}

export function test(name: string, ...rest: readonly [Body] | readonly [TestOptions, Body]): void {
  const body = rest.length === 1 ? rest[0] : rest[1];
  if (rest.length === 2 && rest[0].skip !== undefined && rest[0].skip !== false) return;
  current.entries.push({ name, body });
}

export function describe(name: string, body: Hook): void {
  const outer = current;
  current = new Suite(name);
  outer.entries.push(current);
  const result = body();
  current = outer;
  if (result instanceof Promise) throw new TypeError('a suite is declared in one turn');
}

export function before(hook: Hook): void {
  current.befores.push(hook);
}

/** In a test, after that test; elsewhere, after the suite. */
export function after(hook: Hook): void {
  (aftersOfTest ?? current.afters).push(hook);
}

export function beforeEach(hook: Hook): void {
  current.beforeEaches.push(hook);
}

export function afterEach(hook: Hook): void {
  current.afterEaches.push(hook);
}

export { describe as suite, test as it };
