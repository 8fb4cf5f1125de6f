/** The list of equivalent mutants: what it names is still in the engine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEquivalents, staleOf } from './equivalents.ts';
import { filesOf, FOLDERS, readSource } from './folders.ts';
import { mutantsOf } from './generate.ts';

test('every mutant that is said to be equivalent is still generated', () => {
  const files = FOLDERS.flatMap(filesOf);
  const generated = files.flatMap((file) => mutantsOf(file, readSource(file)).mutants);
  assert.ok(generated.length > 2_000);
  assert.deepEqual(staleOf(readEquivalents(), generated), []);
});
