/** One mutant before its judges, in real processes; how verdicts are kept, and reported. */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { Bench, type Job, type JobResult } from './bench.ts';
import { findingsOf, judgedOf, reasonFor, rowsOf, staleOf } from './findings.ts';
import { digestOf, type MachineMutant, mutantsOf, readSource, ROOT } from './generate.ts';
import type { Judge } from './judges.ts';
import { judge, Ledger, type MutantVerdict } from './verdict.ts';
import { rangesOf } from './watch.ts';

const FILE = 'engine/transaction/context.ts';
const { mutants } = mutantsOf(FILE, readSource(FILE));

/**
 * Tests that need this file, with a reach that covers all of it. Their processor time is generous,
 * because a new process has to load everything first.
 */
const JUDGE: Judge = {
  step: { kind: 'tests', name: 'engine/transaction/rules-reads.test.ts' },
  cpuMs: 2_000,
  isTimed: false,
  reached: { [FILE]: [[0, 100_000]] },
};

const bench = new Bench();
after(() => bench[Symbol.dispose]());

/** The file with a text inserted before its function, or before `before`. */
function withText(replacement: string, before = 'export function'): MachineMutant {
  const [mutant] = mutants;
  const at = readSource(FILE).indexOf(before);
  assert.ok(mutant !== undefined && at >= 0);
  return { ...mutant, start: at, end: at, replacement };
}

/** Starts no process: each job fails in its first step, after 100 ms of processor time. */
class FailingBench extends Bench {
  override run({ steps: [first] }: Job): Promise<JobResult> {
    const failure = { step: first?.name ?? 'none', why: 'no', isLoading: false };
    return Promise.resolve({ failure, passed: [], cpuMs: 100 });
  }
}

async function verdictOn(mutant: MachineMutant, one: Judge = JUDGE): Promise<MutantVerdict> {
  return await judge(mutant, { judges: [one], isThorough: false }, bench);
}

describe('a mutant', () => {
  test('that acts like the engine survives', async () => {
    const verdict = await verdictOn(withText('/* nothing */'));
    assert.equal(verdict.killedBy, undefined);
    assert.equal(verdict.judges, 1);
  });

  test('that fails a test is killed by it', async () => {
    const verdict = await verdictOn(withText('throw new Error("no");', 'const ceiling'));
    assert.equal(verdict.killedBy, 'tests');
    assert.equal(verdict.step, JUDGE.step.name);
    assert.match(verdict.why ?? '', /: no$/);
  });

  test('that fails a test with an error about time is killed by the test, too', async () => {
    const mutant = withText('throw new Error("locked for too long");', 'const ceiling');
    assert.equal((await verdictOn(mutant)).killedBy, 'tests');
  });

  test('that cannot be loaded is killed by loading', async () => {
    assert.equal((await verdictOn(withText('throw new Error("no");'))).killedBy, 'load');
  });

  test('that never ends is killed when it has computed for too long', async () => {
    assert.equal((await verdictOn(withText('for (;;) ;'))).killedBy, 'time');
  });

  test('that ends its process with a signal has a verdict that names the signal', async () => {
    const mutant = withText('process.kill(process.pid, "SIGKILL");', 'const ceiling');
    assert.equal((await verdictOn(mutant)).why, 'its process ended with SIGKILL');
  });

  test('that a judge with a clock looks at twice costs the processor time of both looks', async () => {
    const [mutant] = mutants;
    assert.ok(mutant !== undefined);
    const judges = [{ ...JUDGE, isTimed: true }];
    const verdict = await judge(mutant, { judges, isThorough: false }, new FailingBench());
    assert.deepEqual([verdict.killedBy, verdict.cpuMs], ['tests', 200]);
  });

  test('whose file changes before it is judged has a verdict on the text that it was made of', async () => {
    const changing = path.join(temporaryFolder(), 'file.ts');
    const text = 'export const isLess = (a: number): boolean => a < 1;\n';
    writeFileSync(changing, text);
    const file = path.relative(ROOT, changing);
    const [mutant] = mutantsOf(file, readSource(file)).mutants;
    assert.ok(mutant !== undefined);
    writeFileSync(changing, `// A longer text.\n${text}`);
    const verdict = await verdictOn(mutant, { ...JUDGE, reached: {} });
    assert.equal(verdict.digest, digestOf(text));
  });

  test('that no judge reaches survives, and no process is started for it', async () => {
    const verdict = await verdictOn(withText('for (;;) ;'), { ...JUDGE, reached: {} });
    assert.equal(verdict.killedBy, undefined);
    assert.equal(verdict.judges, 0);
    assert.equal(verdict.cpuMs, 0);
  });
});

test('the count of an inner range overrides those around it', () => {
  const counted = [
    { startOffset: 4, endOffset: 8, count: 0 },
    { startOffset: 0, endOffset: 10, count: 2 },
    { startOffset: 5, endOffset: 6, count: 1 },
  ];
  assert.deepEqual(rangesOf(counted), [
    [0, 4],
    [5, 6],
    [8, 10],
  ]);
});

test('the ledger keeps the newest verdict on a text, and survives a line that is cut short', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'a/ledger.jsonl');
  const [mutant] = mutants;
  assert.ok(mutant !== undefined);
  const verdict = await verdictOn(mutant, { ...JUDGE, reached: {} });
  const ledger = new Ledger(file);
  ledger.add(verdict);
  ledger.add({ ...verdict, killedBy: 'seeds' });
  appendFileSync(file, '{"file":"engine/tr');
  assert.equal(new Ledger(file).verdictOn(mutant)?.killedBy, 'seeds');
  new Ledger(file).add({ ...verdict, digest: 'of another text' });
  assert.match(readFileSync(file, 'utf8'), /engine\/tr\n\{.*\n$/);
  assert.equal(new Ledger(file).verdictOn(mutant), undefined);
});

test('survivors are counted by folder, and named unless a reason is listed', async () => {
  const [first, second] = mutants;
  assert.ok(first !== undefined && second !== undefined);
  const verdict = await verdictOn(first, { ...JUDGE, reached: {} });
  const reasons = [
    { reason: 'the same', file: FILE, mutants: [first.key] },
    { reason: 'the same', file: FILE, mutants: ['statement: gone'] },
  ];
  const judged = judgedOf([first, second], () => verdict, reasons);
  const rows = rowsOf(mutants, judged);
  const all = rows.at(-1);
  assert.deepEqual([all?.judged, all?.survived, all?.explained], [2, 2, 1]);
  assert.equal(all?.notExplained, 1 / 2);
  const result = { planned: 2, rows, judged, skipped: {}, stale: [] };
  const { check, headline, tables } = findingsOf(result);
  assert.match(headline, /, 2 judged: 1 \(50\.0 %\) survive without a reason\.$/);
  assert.equal(check.passed, false);
  const survivors = tables.find(({ name }) => name === 'survivors');
  assert.deepEqual(
    survivors?.rows.map(([, , key]) => key),
    [second.key],
  );
  assert.equal(reasonFor(first, reasons), 'the same');
  assert.deepEqual(staleOf(reasons, mutants), [`${FILE}: statement: gone`]);
});

test('the check passes if few survive, unless some are not judged or the list of reasons is wrong', async () => {
  const [first] = mutants;
  assert.ok(first !== undefined);
  const killed: MutantVerdict = {
    ...(await verdictOn(first, { ...JUDGE, reached: {} })),
    killedBy: 'tests',
  };
  const judged = judgedOf([first], () => killed, []);
  const result = { planned: 1, rows: rowsOf(mutants, judged), judged, skipped: {}, stale: [] };
  assert.deepEqual(findingsOf(result).check, {
    passed: true,
    detail: '0 (0.0 %) survive without a reason, and at most 5 % may',
  });
  const left = findingsOf({ ...result, planned: 3 }).check;
  assert.deepEqual([left.passed, left.detail.endsWith('; only 1 of 3 judged')], [false, true]);
  assert.equal(findingsOf({ ...result, stale: ['x'] }).check.passed, false);
  const excused = judgedOf([first], () => killed, [
    { reason: 'the same', file: FILE, mutants: [first.key] },
  ]);
  assert.match(findingsOf({ ...result, judged: excused }).check.detail, /killed, though listed/);
});
