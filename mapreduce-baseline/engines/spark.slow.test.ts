/** What the engine gives to Spark, as a script in Spark's place writes it down. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { sparkEngine } from './spark.ts';

/** What Spark is given if the command is some words and the path of a script in Spark's place. */
async function given(words: readonly string[], path: string): Promise<string> {
  const folder = temporaryFolder();
  const [script, written] = [join(folder, path), join(folder, 'written')];
  await mkdir(dirname(script), { recursive: true });
  await writeFile(script, `#!/bin/sh\necho "$@" >'${written}'\n`, { mode: 0o755 });
  const settings = { 'spark.executor.memory': '2g' };
  const engine = sparkEngine({ command: [...words, script], settings, workers: 1 });
  await engine.run({
    chain: { url: 'file:///job.ts', parameters: [{}] },
    inputs: [{ path: 'hdfs://names/words' }],
    outputFolder: 'hdfs://names/counts',
  });
  return readFile(written, 'utf8');
}

test('spark-submit gets the settings before its script, even if another program starts it', async () => {
  const begin = /^--conf spark\.executor\.memory=2g \S+spark-chain\.py \{/;
  assert.match(await given([], 'bin/spark-submit'), begin);
  assert.match(await given(['nice'], 'bin/spark-submit'), begin);
});

/**
 * The input that Spark is given, and its folder for spills, of a run whose files are in a folder.
 */
async function givenIn(folder: string): Promise<readonly string[]> {
  await mkdir(folder);
  const [words, outputFolder] = [join(folder, 'my [1] words?'), join(folder, 'my counts')];
  await writeFile(words, 'to be\n');
  const script = join(folder, 'python.mjs');
  await writeFile(
    script,
    `import { mkdirSync, writeFileSync } from 'node:fs';
const { inputs, output } = JSON.parse(process.argv.at(-1));
const folder = output.slice('file://'.length);
mkdirSync(folder);
writeFileSync(folder + '/part-00000', [...inputs, process.env.SPARK_LOCAL_DIRS].join('\\n'));
`,
  );
  const engine = sparkEngine({ command: [process.execPath, script], settings: {}, workers: 1 });
  const chain = { url: 'file:///job.ts', parameters: [{}] };
  await engine.run({ chain, inputs: [{ path: words }], outputFolder });
  return (await readFile(join(outputFolder, 'part-00000'), 'utf8')).split('\n');
}

test('a name with special characters of URIs and patterns names its own file for Spark', async () => {
  const [input = ''] = await givenIn(join(temporaryFolder(), '100% spacé, {new}'));
  assert.match(input, /^file:\/\/\//);
  assert.ok(input.endsWith(String.raw`/100% spacé{\,} \{new\}/my \[1\] words\?`), input);
});

test('what Spark writes is next to the output, unless that path has a comma, where Spark would cut it', async () => {
  const folder = temporaryFolder();
  const [, near = ''] = await givenIn(join(folder, 'a b@c [d]'));
  assert.ok(near.startsWith(join(folder, 'a b@c [d]', 'my counts.unfinished-')), near);
  const [, elsewhere = ','] = await givenIn(join(folder, 'a, b'));
  assert.ok(!elsewhere.includes(','), elsewhere);
});

test('a Python gets its script first, even if its folder is named after spark-submit', async () => {
  assert.match(await given([], 'spark-submit-env/bin/python'), /^\S+spark-chain\.py \{/);
});
