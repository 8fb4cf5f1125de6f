/** Which test files are judges, and which of them may depend on the system's clock. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from './generate.ts';
import { isTimed, NOT_JUDGES, testFiles } from './judges.ts';

test('no test file that starts an HBase or an emulator is a judge', () => {
  const judges = testFiles();
  assert.ok(judges.includes('engine/percolator.test.ts'));
  for (const name of ['hbase', 'remote-database', 'remote-increments']) {
    assert.ok(!judges.includes(`engine/${name}.test.ts`), name);
  }
});

test('each part of a path in NOT_JUDGES is in the path of a test file', () => {
  const files = globSync('engine/**/*.test.ts', { cwd: ROOT });
  const found = (part: string): boolean =>
    files.some((file) => file.replaceAll(path.sep, '/').includes(part));
  assert.deepEqual(
    NOT_JUDGES.filter((part) => !found(part)),
    [],
  );
});

test('a test file that opens a database may depend on the system’s clock without naming it', () => {
  const isFileTimed = (name: string): boolean => isTimed({ kind: 'tests', name });
  assert.ok(isFileTimed('engine/fsck.test.ts'), 'it calls openPercolator');
  assert.ok(!isFileTimed('engine/transaction/rules-reads.test.ts'));
});
