/** What the script says of a machine that has neither Java nor Maven nor npm. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { execaNode } from 'execa';
import { temporaryFolder } from '#engine/testing';

test('each part that cannot be fetched is named with its reason, and the exit code says so', async () => {
  const folder = temporaryFolder();
  const { exitCode, stdout, stderr } = await execaNode(path.join(import.meta.dirname, 'main.ts'), {
    env: { PATH: folder, HOME: folder, XDG_CACHE_HOME: folder, JAVA_HOME: folder },
    reject: false,
  });
  assert.equal(exitCode, 1, stderr);
  const [hbase = '', ...others] = stdout.split('\n');
  assert.match(hbase, /^HBase is missing: a local HBase needs Java 11 or newer, and .*\.$/);
  assert.equal(others.length, 4);
  for (const line of others) assert.match(line, / (?:is|are) (?:here|missing: .*)\.$/);
});
