/** Reproducing claims as a user does, at the smoke size: everything but the verdicts. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { assertRefused, interruptProgram, runProgram } from '../../harness/testing/run-script.ts';
import { planOf, secondsIn } from './reproducing.ts';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
const HELP =
  'size of the run: smoke 10 seconds, quick 5\n minutes, standard 20 minutes, full 4 hours (one of';

test('an interrupted reproduction continues where it was', async () => {
  const out = path.join(temporaryFolder(), 'reproduced');
  const words = ['--only', 'waiting,operations', '--profile', 'smoke', '--out', out];
  const first = await interruptProgram(PROGRAM, words, 'web-index: ./run.sh');
  assert.equal(first.exitCode, 130, first.stderr);
  assert.match(first.stdout, /^waiting: not judged: a smoke run is too small$/m);
  assert.match(first.stdout, /^operations: not run: interrupted$/m);
  // The other one may have begun, and has then left what it had.
  assert.deepEqual(namesIn(out).slice(0, 1), ['crawl-rate-1']);

  const second = await runProgram(PROGRAM, words);
  assert.equal(second.exitCode, 0, second.stderr);
  assert.match(
    second.stderr,
    /^Plan: 1 experiment, .*: web-index .*; measured before: crawl-rate\.$/m,
  );
  assert.match(second.stdout, /^2 claims of the paper: 2 not judged\.$/m);
  assert.deepEqual(namesIn(out).slice(0, 1), ['crawl-rate-1']);

  const third = await runProgram(PROGRAM, [...words, '--json']);
  assert.match(third.stderr, /^Plan: nothing is left to measure; measured before: .*\.$/m);
  const rows = JSON.parse(third.stdout) as readonly { id: string; verdict: string }[];
  assert.deepEqual(
    rows.map(({ id, verdict }) => [id, verdict]),
    [
      ['waiting', 'not judged'],
      ['operations', 'not judged'],
    ],
  );
  const page = readFileSync(path.join(out, 'index.html'), 'utf8');
  for (const name of namesIn(out)) assert.ok(existsSync(path.join(out, name, 'report.html')));
  assert.match(page, /href="web-index-\d\/report\.html"/);
});

test('what does not fit into --minutes is named as not run, which is no miss', async () => {
  const out = temporaryFolder();
  const { stdout, exitCode } = await runProgram(PROGRAM, ['--minutes', '1', '--out', out]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^recovery: not run: it takes about 4 minutes$/m);
  assert.match(stdout, /^10 claims of the paper: 10 not run\.$/m);
});

test('a claim that there is not is refused', async () => {
  const says = /^--only must name claims \(waiting, .*\), but names "speed"\.$/;
  await assertRefused(PROGRAM, [[['--only', 'waiting,speed', '--out', temporaryFolder()], says]]);
});

test('the plan has each experiment of the claims once, the cheapest first', async () => {
  const minutes: Readonly<Record<string, number>> = { 'bench:micro': 9, 'bench:brokerage': 6 };
  const plan = await planOf(['reads', 'writes', 'processor'], 'quick', (script) =>
    Promise.resolve(HELP.replace('5\n', String(minutes[script]))),
  );
  assert.deepEqual(
    plan.map(({ name, seconds }) => [name, seconds]),
    [
      ['micro-hbase', 260],
      ['brokerage', 360],
      ['micro', 540],
    ],
  );
  assert.deepEqual(plan[1]?.words, ['bench:brokerage', '--profile', 'quick']);
});

test('the time of a profile is that in the help of its script', () => {
  assert.equal(secondsIn(HELP, 'smoke'), 10);
  assert.equal(secondsIn(HELP, 'quick'), 300);
  assert.equal(secondsIn(HELP, 'full'), 14_400);
  assert.throws(() => secondsIn('nothing', 'quick'), /no time for quick/);
});

function namesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => !name.includes('.'))
    .toSorted();
}
