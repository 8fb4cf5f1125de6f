/**
 * `./run.sh exhaust` as a user runs it: a small search, a replayed story, and the answers to bad
 * input.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { interruptScript, runProgram, runScript } from '../../harness/testing/run-script.ts';
import { findingsOf, type Searched } from './findings.ts';
import type { Budget } from './index.ts';
import { commandOf, coverageOfLarge, searchesOf } from './searches.ts';

const PROGRAM = new URL('main.ts', import.meta.url);
const ONE_SEARCH = ['--scenario', 'one-cell', '--suspicion', 'crashed', '--lost-answers', '0'];

const run = (...words: string[]) => runProgram(PROGRAM, words);

describe('exhaust', () => {
  test('prints a line for each of the four searches of a scenario', async () => {
    const all = ['--scenario', 'again', '--crashes', '0', '--profile', 'full'];
    const ran = await runScript(PROGRAM, all);
    assert.equal(ran.exitCode, 0, ran.stderr);
    assert.match(ran.stderr, /^Plan: 4 searches; about /);
    assert.match(ran.stdout, /^ +scenario +suspicion +crashes +duplicates +lost +executions/m);
    const lines = ran.stdout.split('\n').filter((line) => line.startsWith('  again'));
    const searches = lines.map((line) => line.trim().split(/ +/).slice(0, 5).join(' '));
    assert.deepEqual(searches, [
      'again all 0 1 0',
      'again all 0 0 1',
      'again crashed 0 1 0',
      'again crashed 0 0 1',
    ]);
    for (const line of lines) assert.match(line, / yes +0$/);
    assert.match(ran.stdout, /^Checked: none of 4 searches broke a rule or was cut short\.$/m);
  });

  test('has proven nothing if it has not visited everything, and exits with 1', async () => {
    const ran = await runScript(PROGRAM, [...ONE_SEARCH, '--max-states', '100']);
    assert.equal(ran.exitCode, 1);
    assert.match(ran.stdout, / > \d+ +100 +\d+\.\d +no +0$/m);
    const reason = 'one-cell, suspicion crashed (cut short by --max-states 100)';
    assert.ok(
      ran.stdout.includes(`NOT proven: 1 of 1 search broke a rule or was cut short: ${reason}.`),
    );
  });

  test('says in its plan whether the large scenarios will be visited whole', () => {
    const asked = { suspicion: undefined, crashes: 1, lostAnswers: 0, hasLarge: true } as const;
    const of = (more: { scenario: string[]; duplicates: number; maxStates: number }): string =>
      coverageOfLarge(searchesOf({ ...asked, ...more }));
    const usual = { scenario: [], duplicates: 1, maxStates: 20_000_000 };
    assert.match(of(usual), /visited whole, without duplicates and lost answers/);
    assert.match(of({ ...usual, maxStates: 6_000_000 }), /may be cut short/);
    assert.match(of({ ...usual, scenario: ['three'] }), /may be cut short/);
    assert.equal(of({ ...usual, scenario: ['again'] }), '');
  });

  test('says, when it is interrupted, how many of its searches have ended', async () => {
    const ran = await interruptScript(PROGRAM, ['--scenario', 'three'], 'three, 1 of 2 ...');
    assert.equal(ran.exitCode, 130, ran.stderr);
    assert.match(ran.stdout, /^NOT proven: none of the 0 of 2 searches that ended broke a rule/m);
    assert.match(ran.stdout, /^ {2}three .* no +0$/m);
    assert.equal(ran.record().state, 'interrupted');
  });

  test('tells the story of the given choices', async () => {
    const { exitCode, stdout } = await run(...ONE_SEARCH, '--replay', '0.0.0');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^ +1 {2}A: asks for a timestamp: 3\n +2 {2}A: t\/p: not found /m);
  });

  test('tells the story of a search with lost answers by the command that it prints', async () => {
    const [only, ...others] = searchesOf({
      scenario: ['one-cell'],
      suspicion: 'crashed',
      crashes: 1,
      duplicates: 0,
      lostAnswers: 1,
      maxStates: 1,
      hasLarge: false,
    });
    assert.ok(only !== undefined && others.length === 0);
    const [, , ...words] = `${commandOf(only)} --replay 0.1`.split(' ');
    const { exitCode, stdout, stderr } = await run(...words);
    assert.equal(exitCode, 0, stderr);
    // Without lost answers, choice 1 would be the timestamp of B.
    assert.match(stdout, /^ +1 {2}A: asks for a timestamp: 3\n +2 {2}A: gives up on t\/p: /m);
  });
});

test('an execution that breaks a rule is told as a story, with the command that replays it', () => {
  const { check, tables } = findingsOf([broken()], 1);
  assert.equal(check.passed, false);
  assert.match(check.detail, /: one-cell, suspicion all \(lost update\)$/);
  const lines = tables[1]?.rows.flat() ?? [];
  assert.deepEqual(lines.slice(0, 3), ['   1  A: dies', '', '  lost update: at 3']);
  assert.match(String(lines[3]), /^\.\/run\.sh exhaust --scenario one-cell .* --replay 0\.2$/);
  assert.equal(lines[4], undefined);
  const [, story] = findingsOf([{ ...broken(), link: 'exhaust-one-cell/s0c0' }], 1).tables;
  assert.equal(story?.rows.flat().at(-1), './run.sh explore --link exhaust-one-cell/s0c0');
});

test('what a search has found is told, even if it was interrupted meanwhile', () => {
  const { check, tables } = findingsOf([], 2, broken());
  assert.equal(check.passed, false);
  assert.match(
    check.detail,
    /^1 of the 1 of 2 searches .*: one-cell, suspicion all \(lost update\)$/,
  );
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['searches', 'story-one-cell-all'],
  );
});

test('searches with duplicates and with lost answers have names of their own', () => {
  const { check, tables } = findingsOf([broken({ copies: 1 }), broken({ lostAnswers: 1 })], 2);
  const [first, second] = ['duplicates', 'lost answers'].map(
    (faults) => `one-cell, suspicion all, ${faults}`,
  );
  assert.ok(check.detail.endsWith(`: ${first} (lost update), ${second} (lost update)`));
  const stories = tables.slice(1).map(({ name, title }) => [name, title]);
  assert.deepEqual(stories, [
    ['story-one-cell-all-duplicates', `What happened in ${first}`],
    ['story-one-cell-all-lost-answers', `What happened in ${second}`],
  ]);
});

test('a search that has visited everything counts, even if an interrupt came meanwhile', () => {
  const { report, ...searched } = broken();
  const whole = { ...report, isExhausted: true, failure: undefined };
  const { check, headline } = findingsOf([], 1, { ...searched, report: whole });
  assert.deepEqual(check, {
    passed: true,
    detail: 'none of 1 search broke a rule or was cut short',
  });
  assert.match(headline, /^1 search visited 2 states /);
});

/** A search that has found an execution that breaks a rule. */
function broken(faults: Partial<Budget> = {}): Searched {
  const scenario = { name: 'one-cell', about: '', initial: [], processes: [] };
  const budget = { crashes: 1, copies: 0, lostAnswers: 0, ...faults };
  const search = { scenario, budget, suspicion: 'all', statesMax: 9 } as const;
  const violations = [{ claim: 'lost update', message: 'at 3' }];
  const failure = { violations, story: ['A: dies'], choices: [0, 2] };
  const found = { executions: 1, states: 2, outcomes: new Map(), isExhausted: false };
  return { search, report: { scenario: 'one-cell', ...found, failure }, seconds: 1 };
}
