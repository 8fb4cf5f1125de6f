/** The list of equivalent mutants: the mutants that it names still exist in the engine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEquivalents, staleOf } from './findings.ts';
import { filesOf, FOLDERS, mutantsOf, readSource } from './generate.ts';

test('every mutant listed as equivalent is still generated', () => {
  const files = FOLDERS.flatMap(filesOf);
  const generated = files.flatMap((file) => mutantsOf(file, readSource(file)).mutants);
  assert.ok(generated.length > 2_000);
  assert.deepEqual(staleOf(readEquivalents(), generated), []);
});
