/** Which Spark is found on a machine; its programs are imitations. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { findBatchEngine } from '../batch-engines.ts';
import { findSpark } from './spark.ts';

/** Puts imitations on PATH, and nothing else; sets these variables for the test. */
function onlyWith(
  t: TestContext,
  folder: string,
  programs: readonly string[],
  variables: Readonly<Record<string, string>>,
): void {
  for (const name of ['java', ...programs]) {
    const said = name === 'java' ? 'openjdk version "17.0.1"' : '';
    writeFileSync(path.join(folder, name), `#!/bin/sh\necho '${said}' >&2\n`, { mode: 0o755 });
  }
  const before = { ...process.env };
  t.after(() => (process.env = before));
  const nothing = { JAVA_HOME: '', PYSPARK_DRIVER_PYTHON: '', SPARK_CONF_DIR: '', SPARK_HOME: '' };
  process.env = { ...before, ...nothing, MASTER: '', PATH: folder, ...variables };
}

test('a PYSPARK_DRIVER_PYTHON that is set to nothing counts as not set', async (t) => {
  onlyWith(t, temporaryFolder(), ['python3'], {});
  assert.deepEqual(await findSpark(), ['python3']);
});

/** Whether the Spark that is found may work elsewhere, with this setting for its master. */
async function mayWorkElsewhere(master?: string): Promise<boolean | undefined> {
  const settings: Record<string, string> = master === undefined ? {} : { 'spark.master': master };
  const engine = await findBatchEngine('spark', { workers: 1, memoryBytes: 1, settings });
  assert.ok(typeof engine !== 'string');
  return engine.mayWorkElsewhere;
}

test('Spark may work elsewhere if a setting, or else MASTER, names a master that is not local', async (t) => {
  onlyWith(t, temporaryFolder(), ['python3'], { SPARK_CONF_DIR: temporaryFolder() });
  assert.equal(await mayWorkElsewhere(), false);
  assert.equal(await mayWorkElsewhere('yarn'), true);
  process.env['MASTER'] = 'spark://one:7077';
  assert.equal(await mayWorkElsewhere(), true);
  assert.equal(await mayWorkElsewhere('local[2]'), false);
});

test('a master that is not local is found in the configuration next to spark-submit, or that a variable names', async (t) => {
  const home = temporaryFolder();
  const [bin, conf] = [path.join(home, 'bin'), path.join(home, 'conf')];
  for (const folder of [bin, conf]) mkdirSync(folder);
  onlyWith(t, bin, ['spark-submit'], { MASTER: 'local' });
  const defaults = path.join(conf, 'spark-defaults.conf');
  for (const line of ['spark.master yarn', ' spark.master=yarn', 'spark.master : yarn']) {
    writeFileSync(defaults, `# spark.master local\n${line}\n`);
    assert.equal(await mayWorkElsewhere(), true, line);
  }
  for (const variables of [{ SPARK_HOME: home }, { SPARK_CONF_DIR: conf, SPARK_HOME: '/' }]) {
    Object.assign(process.env, variables);
    assert.equal(await mayWorkElsewhere(), true, JSON.stringify(variables));
  }
  writeFileSync(defaults, 'spark.masters yarn\nspark.master local[*]\n');
  assert.equal(await mayWorkElsewhere(), false);
});
