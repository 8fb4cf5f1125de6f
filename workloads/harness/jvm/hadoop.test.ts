/** The Hadoop of HADOOP_HOME may be of any vendor, and may use a cluster. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, test, type TestContext } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { batchCpuSeconds, findBatchEngine } from '../batch-engines.ts';
import { findHadoop } from './hadoop.ts';

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
