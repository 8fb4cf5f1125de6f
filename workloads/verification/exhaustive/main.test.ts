/**
 * `./run.sh exhaust` as a user runs it: a small search, a replayed story, and the answers to bad
 * input.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, test } from 'node:test';
import { runProgram } from '../../harness/testing/run-script.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const ONE_SEARCH = ['--scenario', 'one-cell', '--suspicion', 'crashed', '--lost-answers', '0'];

const run = (...words: string[]) => runProgram(PROGRAM, words);

describe('exhaust', () => {
  test('prints a line for each search: all four of a scenario', async () => {
    const { exitCode, stdout } = await run('--scenario', 'again', '--crashes', '0');
    const [head = '', ...lines] = stdout.trim().split('\n');
    assert.equal(exitCode, 0);
    assert.match(head, /^scenario +suspicion +crashes +duplicates +lost +executions +states/);
    const searches = lines.map((line) => line.split(/ +/).slice(0, 5).join(' '));
    assert.deepEqual(searches, [
      'again all 0 1 0',
      'again all 0 0 1',
      'again crashed 0 1 0',
      'again crashed 0 0 1',
    ]);
    for (const line of lines) assert.match(line, / yes +0$/);
  });

  test('says when it has not visited everything', async () => {
    const { exitCode, stdout } = await run(...ONE_SEARCH, '--max-states', '100');
    assert.equal(exitCode, 0);
    assert.match(stdout, / > \d+ +100 +\d+\.\d +no +0$/);
  });

  test('tells the story of the given choices', async () => {
    const { exitCode, stdout } = await run(...ONE_SEARCH, '--replay', '0.0.0');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^ +1 {2}A: asks for a timestamp: 3\n +2 {2}A: t\/p: not found /m);
  });

  for (const [what, options, expected] of [
    ['an unknown scenario', ['--scenario', 'nonsense'], /^--scenario must be one of one-cell, /],
    ['a story of several searches', ['--replay', '0'], /^--replay needs one --scenario, /],
    ['choices that do not exist', [...ONE_SEARCH, '--replay', '0.99'], /there is no choice 99/],
    ['choices that are not numbers', [...ONE_SEARCH, '--replay', 'a'], /there is no choice NaN/],
  ] as const) {
    test(`refuses ${what} in one sentence`, async () => {
      const { exitCode, stdout, stderr } = await run(...options);
      assert.equal(exitCode, 2);
      assert.equal(stdout, '');
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1);
    });
  }
});
