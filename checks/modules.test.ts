/** Which modules are splinters, shown on small repositories of a few lines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moduleOf, splintersOf } from './modules.ts';

const SMALL = 'export const small = 1;\n';
const IMPORTING = "import {\n  type Small,\n  small,\n} from './small.ts';\n";
const LONG = '// A line.\n'.repeat(80);

/** The splinters among files of one folder, each as `file < importer`. */
function found(files: Readonly<Record<string, string>>): readonly string[] {
  const texts = Object.entries(files).map(([file, text]) => [`folder/${file}`, text] as const);
  return [...splintersOf(new Map(texts))].map((pair) =>
    pair.map((file) => file.replace('folder/', '')).join(' < '),
  );
}

test('a small module that one module of its folder imports is a splinter, tested or not', () => {
  assert.deepEqual(found({ 'small.ts': SMALL, 'a.ts': IMPORTING }), ['small.ts < a.ts']);
  const tested = { 'small.ts': SMALL, 'a.ts': IMPORTING, 'small.test.ts': IMPORTING };
  assert.deepEqual(found(tested), ['small.ts < a.ts']);
});

test('a module is none if it is long, shared, or imported from another folder', () => {
  assert.deepEqual(found({ 'small.ts': LONG, 'a.ts': IMPORTING }), []);
  assert.deepEqual(found({ 'small.ts': SMALL, 'a.ts': IMPORTING, 'b.ts': IMPORTING }), []);
  const below = IMPORTING.replace('./small', '../small');
  assert.deepEqual(found({ 'small.ts': SMALL, 'below/a.ts': below }), []);
});

test('front doors, programs and fixtures are none, nor is what only a front door imports', () => {
  assert.deepEqual(found({ 'small.ts': SMALL, 'index.ts': IMPORTING }), []);
  assert.deepEqual(found({ 'small.ts': SMALL, 'a.fixture.ts': IMPORTING }), []);
  const starter = `${IMPORTING}new URL('small.ts', import.meta.url);\n`;
  assert.deepEqual(found({ 'small.ts': SMALL, 'a.ts': starter }), []);
  const job = `${SMALL}const job = { url: import.meta.url };\n`;
  assert.deepEqual(found({ 'small.ts': job, 'a.ts': IMPORTING }), []);
});

test('what a program imports is a splinter only if no test imports it', () => {
  const files = {
    'small.ts': SMALL,
    'program.ts': IMPORTING,
    'starter.ts': "new URL('./program.ts', import.meta.url);\n".repeat(80),
  };
  assert.deepEqual(found(files), ['small.ts < program.ts']);
  assert.deepEqual(found({ ...files, 'small.test.ts': IMPORTING }), []);
});

test('a file of more than 600 lines is not made', () => {
  assert.deepEqual(found({ 'small.ts': SMALL, 'a.ts': IMPORTING + LONG.repeat(8) }), []);
});

test('fixtures and folders named testing are support, and lines are line ends', () => {
  const { kind, lines } = moduleOf('engine/testing/clock.ts', SMALL);
  assert.deepEqual([kind, lines], ['support', 1]);
  assert.equal(moduleOf('engine/a.fixture.ts', SMALL).kind, 'support');
  assert.equal(moduleOf('engine/a.test.ts', SMALL).kind, 'test');
  assert.equal(moduleOf('engine/a.ts', SMALL).kind, 'production');
});
