/** Which Hadoop and which Spark are found on a machine: of any vendor, on a cluster or here. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, test, type TestContext } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { batchCpuSeconds, findBatchEngine, findHadoop, findSpark } from './batch-engines.ts';

beforeEach((t) => {
  const before = process.env['HADOOP_HOME'];
  (t as TestContext).after(() => {
    if (before === undefined) delete process.env['HADOOP_HOME'];
    else process.env['HADOOP_HOME'] = before;
  });
});

/** The jar that is found in a Hadoop with these jars; undefined if none is. */
async function jarFound(names: readonly string[]): Promise<string | undefined> {
  const home = temporaryFolder();
  const folder = path.join(home, 'share/hadoop/tools/lib');
  mkdirSync(folder, { recursive: true });
  for (const name of names) writeFileSync(path.join(folder, name), '');
  process.env['HADOOP_HOME'] = home;
  const found = await findHadoop(1);
  return typeof found === 'string' ? undefined : path.basename(found.command.at(-1) ?? '');
}

test("the jar of Hadoop Streaming is found, also one with a vendor's version", async () => {
  for (const version of ['3.4.2', '3.3.6-amzn-3', '3.1.1.7.1.9.0-387', '3.5.0-SNAPSHOT']) {
    const jar = `hadoop-streaming-${version}.jar`;
    assert.equal(await jarFound([jar]), jar);
  }
});

test('jars next to that of Hadoop Streaming, such as its sources, are not taken for it', async () => {
  const kinds = ['sources', 'tests', 'test-sources', 'javadoc'];
  const others = kinds.map((kind) => `hadoop-streaming-3.3.6-amzn-3-${kind}.jar`);
  assert.equal(await jarFound([...others, 'hadoop-streaming-extra.jar']), undefined);
});

test('the processor time of Hadoop is not known: its configuration may name a cluster', async () => {
  await jarFound(['hadoop-streaming-3.4.2.jar']);
  const engine = await findBatchEngine('hadoop', { workers: 1, memoryBytes: 1 });
  assert.ok(typeof engine !== 'string');
  assert.equal(batchCpuSeconds(engine), null);
});

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
