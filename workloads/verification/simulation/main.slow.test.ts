/** `./run.sh simulate` as a user runs it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runProgram, runScript } from '../../harness/testing/run-script.ts';
import { findingsOf } from './findings.ts';
import { NOTHING } from './seeds.ts';

const MAIN = new URL('main.ts', import.meta.url);

describe('simulate', () => {
  test('says what it has simulated, and which faults never occurred, and succeeds', async () => {
    const ran = await runScript(MAIN, ['--seeds', '1', '--seed', '18']);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(ran.stderr, /^Plan: seeds 18 to 18, /);
    assert.match(ran.stdout, /^ {2}transactions +[1-9][\d,]*$/m);
    assert.match(ran.stdout, / NOT COVERED, because they never happened: .*loseRequest/);
    assert.match(ran.stdout, /^Checked: none of 1 run broke a rule\.$/m);
    const { state, profile, seed, findings } = ran.record();
    assert.deepEqual([state, profile, seed], ['finished', 'custom', 18]);
    assert.equal(findings?.kind, 'proof');
  });

  test('tells the story of a seed', async () => {
    const ended = await runProgram(MAIN, ['--story', '--seed', '3']);
    assert.equal(ended.exitCode, 0, ended.stderr);
    assert.match(ended.stdout, /ms {2}last: /);
  });
});

test('a run that breaks a rule is named, with its story and the file of its plan', () => {
  const failed = [{ seed: 17, claim: 'lost update', message: '' }];
  const shrunk = {
    seed: 17,
    story: ['1 ms  A: dies'],
    page: 'page.html',
    file: 'lost-update-17.json',
  };
  const { check, tables } = findingsOf({ ...NOTHING, runs: 30, failed }, 30, shrunk);
  const detail = '1 of 30 runs broke a rule: seed 17 (lost update)';
  assert.deepEqual(check, { passed: false, detail });
  const story = tables.find(({ name }) => name === 'story');
  assert.deepEqual(story?.rows, [['1 ms  A: dies'], ['Step through it in a browser: page.html']]);
  assert.match(story?.caption ?? '', /lost-update-17\.json/);
});
