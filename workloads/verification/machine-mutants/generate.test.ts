/**
 * The generator: what each operator does to a small text, what the rules exclude, how a mutant is
 * identified, that the mutants of the oracle parse, and the order in which a sample is drawn.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  filesOf,
  inFairOrder,
  type MachineMutant,
  mutantsOf,
  mutated,
  readSource,
} from './generate.ts';
import type { OperatorName } from './operators.ts';

const FILE = 'engine/oracle/small.ts';

/** All results of an operator on a text, each as the whole text. */
function made(operator: OperatorName, text: string): readonly string[] {
  return mutantsOf(FILE, text)
    .mutants.filter((mutant) => mutant.operator === operator)
    .map((mutant) => mutated(text, mutant));
}

describe('the operator', () => {
  const examples: readonly (readonly [OperatorName, string, readonly string[]])[] = [
    ['condition', 'if (a) b();', ['if (!(a)) b();']],
    ['condition', 'while (a === b) c();', ['while (!(a === b)) c();']],
    ['condition', 'const a = b ? c : d;', ['const a = !(b) ? c : d;']],
    ['condition', 'const a = b && c;', ['const a = (b || c);']],
    ['condition', 'const a = b !== c;', ['const a = (b === c);']],
    ['condition', 'const a = !b;', ['const a = (b);']],
    ['condition', 'const a = b ?? c;', []],
    ['bound', 'const a = b < c;', ['const a = (b <= c);']],
    ['bound', 'const a = b >= c;', ['const a = (b > c);']],
    ['bound', 'const a = b + 1;', ['const a = b;']],
    ['bound', 'const a = b - c;', ['const a = (b + c);']],
    ['bound', 'const a = Math.min(b, c);', ['const a = Math.max(b, c);']],
    ['bound', 'a += b;', ['a -= b;']],
    ['bound', "const a = 'b' + c;", []],
    [
      'bound',
      'const a = { from };',
      ['const a = { from: (from) - 1 };', 'const a = { from: (from) + 1 };'],
    ],
    ['await', 'await a();', ['void a();']],
    [
      'await',
      'await a(); b();',
      ['void a(); b();', 'const awaitedLater = a(); b(); await awaitedLater;'],
    ],
    [
      'await',
      'const a = await b(); await c();',
      [
        'const awaitedLater = b(); await c(); const a = await awaitedLater;',
        'const a = await b(); void c();',
      ],
    ],
    ['await', 'const a = await b(); c(a);', []],
    ['await', 'const a = await b(); const c = 1;', []],
    ['await', 'async () => { return await a(); };', ['async () => { return a(); };']],
    ['statement', 'a(); b = c;', ['; b = c;', 'a(); ;']],
    ['statement', 'if (a) throw b;', ['if (a) ;']],
    ['statement', '() => { if (a) return b; return c; };', ['() => { if (a) ; return c; };']],
    ['statement', 'for (;;) { break; }', ['for (;;) { ; }']],
    ['statement', 'switch (a) { default: break; }', []],
    ['swap', 'a({ from: b, to: c });', ['a({ from: c, to: b });']],
    ['swap', 'a({ row, column });', ['a({ row: column, column: row });']],
    ['swap', 'a(b.startTimestamp, commitTimestamp);', ['a(commitTimestamp, b.startTimestamp);']],
    ['swap', 'a(table, startTimestamp);', []],
    [
      'constant',
      'const a = [0, 1, 2, true];',
      ['const a = [1, 1, 2, true];', 'const a = [0, 0, 2, true];', 'const a = [0, 1, 2, false];'],
    ],
    ['constant', 'type A = 0; const a = b as 1;', []],
  ];
  for (const [operator, text, expected] of examples) {
    test(`${operator} makes ${expected.length} mutants of: ${text}`, () => {
      assert.deepEqual(made(operator, text), expected);
    });
  }
});

describe('the rule', () => {
  const examples = [
    ['assertion', "assert(a < b, 'in order');"],
    ['counter', 'context.counters.reads += 1;'],
    ['step', 'for (; ; i++) ;'],
    ['field', 'class A { #a; constructor(a) { this.#a = a; } }'],
    ['timer', 'timer.unref();'],
    ['signal', 'kill(process, 0);'],
  ] as const;
  for (const [rule, text] of examples) {
    test(`${rule} allows no mutant of: ${text}`, () => {
      const { mutants, skipped } = mutantsOf(FILE, text);
      assert.deepEqual(mutants, []);
      assert.deepEqual(Object.keys(skipped), [rule]);
    });
  }

  test('bug allows changing the condition of a `throw`, but not leaving out the `throw`', () => {
    const text = 'if (!(error instanceof PercolatorError)) throw error;';
    const { mutants, skipped } = mutantsOf(FILE, text);
    assert.deepEqual(
      mutants.map(({ operator }) => operator),
      ['condition'],
    );
    assert.deepEqual(skipped, { bug: 1 });
  });
});

test('a mutant is identified by its line, wherever the line is', () => {
  const keysOf = (text: string): readonly string[] =>
    mutantsOf(FILE, text).mutants.map(({ key }) => key);
  const text = 'if (a === 0 || b === 0) c();\n';
  const keys = keysOf(text);
  assert.deepEqual(keysOf(`// A comment.\n\n  ${text}`), keys);
  assert.equal(new Set(keys).size, keys.length);
});

test('every mutant of the oracle parses, and differs from the original text', () => {
  let mutants = 0;
  for (const file of filesOf('oracle')) {
    const text = readSource(file);
    for (const mutant of mutantsOf(file, text).mutants) {
      assert.notEqual(mutated(text, mutant), text, mutant.key);
      mutants++;
    }
  }
  assert.ok(mutants > 200);
});

test('a change that does not parse is refused with an error that names the line', () => {
  const [mutant] = mutantsOf(FILE, 'a();').mutants;
  assert.ok(mutant !== undefined);
  assert.throws(
    () => mutated('a();', { ...mutant, replacement: ')' }),
    /engine\/oracle\/small\.ts:1: .* does not parse/,
  );
});

test('every prefix of the order has a fair share of each folder and operator', () => {
  const mutants = ['oracle', 'observer'].flatMap((folder) =>
    Array.from({ length: folder === 'oracle' ? 300 : 100 }, (_, i): MachineMutant => {
      const operator = i % 2 === 0 ? 'bound' : 'swap';
      const place = { file: `engine/${folder}/a.ts`, line: i, start: i, end: i, replacement: '' };
      return { ...place, operator, before: '', after: '', key: String(i) };
    }),
  );
  const drawn = inFairOrder(mutants, 7);
  assert.equal(new Set(drawn).size, mutants.length);
  const first = drawn.slice(0, 40);
  assert.equal(first.filter(({ file }) => file.includes('oracle')).length, 30);
  assert.equal(first.filter(({ operator }) => operator === 'swap').length, 20);
  assert.deepEqual(inFairOrder(mutants, 7), drawn);
  assert.notDeepEqual(inFairOrder(mutants, 8), drawn);
});
