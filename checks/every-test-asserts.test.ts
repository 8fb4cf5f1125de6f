/**
 * every-test-asserts.ts, loaded before each test file, fails a test without an assertion; an error
 * that no test handles still fails the file.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';

const LOADED_FIRST = path.join(import.meta.dirname, 'every-test-asserts.ts');
const ASSERTS = "assert.ok(true, 'an assertion');";
const FILES: readonly (readonly [claim: string, body: string, exitCode: number, says: RegExp])[] = [
  ['a test that asserts passes', ASSERTS, 0, /^# pass 1$/m],
  ['a test that asserts nothing fails', '', 1, /ended without a single assertion/],
  [
    'a test that asserts nothing fails also after one that asserts',
    `${ASSERTS} }); test('two', () => {`,
    1,
    /^not ok 2 - two$[^]*ended without a single assertion/m,
  ],
  ['a test that says that it is skipped passes', `t.skip('no such system');`, 0, /^# skipped 1$/m],
  [
    'an error that no code handles fails the file, although its test has passed',
    `${ASSERTS} void Promise.reject(new Error('lost'));`,
    1,
    /# Error: .*"Error: lost".*unhandledRejection/,
  ],
  [
    'an error after the end of its test fails the file',
    `${ASSERTS} setTimeout(() => { throw new Error('late'); }, 1);`,
    1,
    /# Error: .*"Error: late".*uncaughtException/,
  ],
];

for (const [claim, body, expected, says] of FILES) {
  test(claim, async () => {
    const file = path.join(temporaryFolder(), 'one.test.ts');
    const imports = `import assert from 'node:assert/strict'; import { test } from 'node:test';`;
    writeFileSync(file, `${imports} test('one', async (t) => { ${body} });`);
    const { exitCode, stdout } = await runFile(file);
    assert.equal(exitCode, expected, stdout);
    assert.match(stdout, says);
  });
}

test('a test that asserts nothing fails in a file that the quick tests import', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'quick-tests.ts');
  writeFileSync(file, `await import('./one.test.ts');`);
  writeFileSync(
    path.join(folder, 'one.test.ts'),
    `import { test } from 'node:test'; test('one', () => {});`,
  );
  const { exitCode, stdout } = await runFile(file);
  assert.equal(exitCode, 1, stdout);
  assert.match(stdout, /ended without a single assertion/);
});

function runFile(file: string): Promise<{ readonly exitCode?: number; readonly stdout: string }> {
  return execaNode(file, [], {
    nodeOptions: ['--import', LOADED_FIRST, '--test-reporter=tap'],
    env: { NODE_TEST_CONTEXT: '' },
    reject: false,
  });
}
