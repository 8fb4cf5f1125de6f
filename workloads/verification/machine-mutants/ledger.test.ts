/** Files that are no ledger are refused, and stay as they are; which mutants wait for judges. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { UsageError } from '#results';
import { digestOf, mutantsOf, readSource } from './generate.ts';
import { Ledger, type MutantVerdict } from './verdict.ts';

const FILE = 'engine/transaction/context.ts';

test('a file of another program is refused and left as it is, also by --anew', () => {
  for (const content of ['my diary', 'null\n', '[]\n', '{"file": 1}\n', '\0\0\0']) {
    const file = path.join(temporaryFolder(), 'file');
    writeFileSync(file, content);
    refused(file, /^--ledger must be a file of verdicts, but .* holds something else\.$/);
    assert.throws(() => new Ledger(file, { anew: true }), UsageError);
    assert.equal(readFileSync(file, 'utf8'), content);
  }
});

test('a folder, a pipe and a path where no file can be made are refused', () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'below'));
  execFileSync('mkfifo', [path.join(folder, 'pipe')]);
  for (const name of ['below', 'pipe']) {
    refused(path.join(folder, name), /^--ledger must be a file that can be read, but /);
  }
  refused(
    '/proc/none/ledger.jsonl',
    /^The folder of --ledger must be a folder that can be written, but /,
  );
});

test('a mutant without a verdict is judged, a survivor again if an option asks for it, and a killed mutant never again', () => {
  const [mutant] = mutantsOf(FILE, readSource(FILE)).mutants;
  assert.ok(mutant !== undefined);
  const { key, line, operator } = mutant;
  const digest = digestOf(readSource(FILE));
  const early: MutantVerdict = { file: FILE, key, digest, line, operator, judges: 1, cpuMs: 1 };
  const ledger = new Ledger(path.join(temporaryFolder(), 'ledger.jsonl'));
  const awaits = (isExplained: boolean): readonly boolean[] =>
    [{}, { survivors: true }, { thorough: true }].map((asked) =>
      ledger.awaitsJudges(mutant, { survivors: false, thorough: false, isExplained, ...asked }),
    );
  assert.deepEqual(awaits(false), [true, true, true]);
  for (const survivor of [early, { ...early, isThorough: false }]) {
    ledger.add(survivor);
    assert.deepEqual(
      [awaits(false), awaits(true)],
      [
        [false, true, true],
        [false, false, true],
      ],
    );
  }
  ledger.add({ ...early, isThorough: true });
  assert.deepEqual(
    [awaits(false), awaits(true)],
    [
      [false, true, false],
      [false, false, false],
    ],
  );
  ledger.add({ ...early, killedBy: 'tests' });
  assert.deepEqual(awaits(false), [false, false, false]);
});

function refused(file: string, sentence: RegExp): void {
  assert.throws(
    () => new Ledger(file),
    (error) => error instanceof UsageError && sentence.test(error.message),
  );
}
