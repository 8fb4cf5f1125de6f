/** Which Spark is found on a machine; its programs are imitations. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { findSpark } from './spark.ts';

test('a variable for the Python of Spark that is set to nothing counts as not set', async (t) => {
  const folder = temporaryFolder();
  for (const [name, said] of [
    ['java', 'openjdk version "17.0.1"'],
    ['python3', ''],
  ] as const) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\necho '${said}' >&2\n`, { mode: 0o755 });
  }
  const before = { ...process.env };
  t.after(() => (process.env = before));
  process.env = { ...before, PATH: folder, JAVA_HOME: '', PYSPARK_DRIVER_PYTHON: '' };
  assert.deepEqual(await findSpark(), ['python3']);
});
