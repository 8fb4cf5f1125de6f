/** `./run.sh mutants:machine` as a user runs it; judging itself takes minutes. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { interruptScript, runProgram } from '../../harness/testing/run-script.ts';

const MAIN = new URL('main.ts', import.meta.url);
const OPTIONS = new URL('../../../docs/options.md', import.meta.url);

test('mutants:machine lists the mutants of places, such as that of its example', async () => {
  const example = /mutants:machine --only (\S+)/.exec(await readFile(OPTIONS, 'utf8'))?.[1];
  const places = ['--only', String(example), '--only', 'oracle/allocator.ts'];
  const { exitCode, stdout, stderr } = await runProgram(MAIN, ['--list', ...places]);
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^(?:engine\/oracle\/allocator\.ts:\d+ {2}\w+: .*(?:\n|$))+$/);
});

test('mutants:machine says, when it is interrupted, how many mutants were judged', async () => {
  const ledger = path.join(temporaryFolder(), 'ledger.jsonl');
  const words = ['--sample', '3', '--ledger', ledger];
  const ran = await interruptScript(MAIN, words, 'measuring the judges ...');
  assert.equal(ran.exitCode, 130, ran.stderr);
  assert.match(ran.stdout, /^NOT proven: 0 \(0\.0 %\) survive .*; only 0 of 3 judged\.$/m);
  assert.equal(ran.record().state, 'interrupted');
  assert.ok(!existsSync(ledger));
});
