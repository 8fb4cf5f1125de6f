/** Claims about engines: what they read of their inputs, and how the pipeline of sort ends. */
import assert from 'node:assert/strict';
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { temporaryFolder } from '../../engine/testing/temporary-folder.ts';
import type { Split } from '../input.ts';
import {
  type ChainEngine,
  encodedParameters,
  localEngine,
  outsideEngine,
  runProgram,
  STREAMING_PROGRAM,
} from './engine.ts';
import { sortEngine, whyNoGnuSort } from './sort.ts';
import { wholeFiles } from './whole-files.ts';

const PATH = 'hdfs://names/words';
const JOB = new URL('../testing/word-count-job.ts', import.meta.url).href;
const CHAIN = { url: JOB, parameters: [{ combine: false }] };
const SIZE = { workers: 1, memoryBytes: 2 ** 20 };

test('a file of another file system is an input as a whole; a part of it is refused', async () => {
  const given: (readonly Split[])[] = [];
  const engine = outsideEngine('any', async (_run, inputs) => void given.push(inputs));
  const run = (input: object): Promise<void> =>
    engine.run({
      chain: { url: 'file:///job.ts', parameters: [{}] },
      inputs: [{ path: PATH, ...input }],
      outputFolder: 'hdfs://names/counts',
    });
  await run({});
  await run({ start: 0 });
  const whole = { path: PATH, start: 0, end: Infinity };
  assert.deepEqual(given, [[whole], [whole]]);
  for (const part of [{ end: 5 }, { start: 3 }, { start: -1 }, { start: 0, end: 0 }]) {
    await assert.rejects(run(part), { code: 'INVALID_ARGUMENT' }, JSON.stringify(part));
  }
  assert.equal(given.length, 2, 'no program is started');
});

test('a run without inputs is refused before its program is started', async () => {
  let starts = 0;
  const engine = outsideEngine('any', async () => void starts++);
  for (const outputFolder of ['hdfs://names/counts', join(temporaryFolder(), 'counts')]) {
    await assert.rejects(engine.run({ chain: CHAIN, inputs: [], outputFolder }), {
      code: 'INVALID_ARGUMENT',
      message: 'any needs at least one input',
    });
  }
  assert.equal(starts, 0);
});

test('an input that is no regular file is refused: what has no size would count as empty', async () => {
  await using engine = await localEngine(SIZE);
  for (const path of ['/dev/null', temporaryFolder()]) {
    const outputFolder = join(temporaryFolder(), 'counts');
    await assert.rejects(engine.run({ chain: CHAIN, inputs: [{ path }], outputFolder }), {
      code: 'INVALID_ARGUMENT',
      message: `input ${path} is not a regular file`,
    });
  }
});

test('our own engine also runs if a worker has a smaller share of the memory than it needs', async () => {
  const folder = temporaryFolder();
  const [path, outputFolder] = [join(folder, 'words'), join(folder, 'counts')];
  await writeFile(path, 'to be\n');
  await using engine = await localEngine({ workers: 2, memoryBytes: 1024 });
  await engine.run({ chain: CHAIN, inputs: [{ path }], outputFolder });
  assert.deepEqual(await wordsIn(outputFolder), ['be\t1', 'to\t1']);
});

test('a record that begins before the end of an input is read whole by every engine', async (t) => {
  const folder = temporaryFolder();
  const path = join(folder, 'words');
  await writeFile(path, 'to be\nor not to be\nthat is\n');
  const input = { path, end: 9 }; // In the second record.
  const wordsBy = async (engine: ChainEngine): Promise<readonly string[]> => {
    await using _ = engine;
    const outputFolder = join(folder, engine.name);
    await engine.run({ chain: CHAIN, inputs: [input], outputFolder });
    return wordsIn(outputFolder);
  };
  const counted = ['be\t2', 'not\t1', 'or\t1', 'to\t2'];
  assert.deepEqual(await wordsBy(await localEngine(SIZE)), counted);
  const [copy = ''] = await wholeFiles([{ ...input, start: 0 }], folder, 'any');
  assert.equal(await readFile(copy, 'utf8'), 'to be\nor not to be\n');
  const whyNot = await whyNoGnuSort();
  if (whyNot !== undefined) return t.skip(whyNot);
  assert.deepEqual(await wordsBy(sortEngine(SIZE)), counted);
});

async function wordsIn(outputFolder: string): Promise<readonly string[]> {
  const parts = (await readdir(outputFolder)).map((part) =>
    readFile(join(outputFolder, part), 'utf8'),
  );
  return (await Promise.all(parts)).join('').trimEnd().split('\n').toSorted();
}

/** Emits three records, and counts the values of each key. */
const COUNTING_JOB = `
import { Slice } from '${new URL('../bytes.ts', import.meta.url).href}';
const slice = (text) => new Slice(Buffer.from(text));
const records = [['a', ''], ['a\\x01b', 'y'], ['a', 'x']];
export const createJob = () => ({
  map: (_line, output) => {
    for (const [key, value] of records) output.emit(slice(key), slice(value));
  },
  reduce: (key, values, output) => {
    let count = 0;
    while (values.next()) count++;
    output.emit(key, slice(String(count)));
  },
});
`;

test('sort reduces a key once, even if one of its values is empty and keys have bytes below a tab', async (t) => {
  const whyNot = await whyNoGnuSort();
  if (whyNot !== undefined) return t.skip(whyNot);
  const folder = temporaryFolder();
  const [job, path] = [join(folder, 'job.mjs'), join(folder, 'line')];
  await writeFile(job, COUNTING_JOB);
  await writeFile(path, 'a line\n');
  const outputFolder = join(folder, 'counts');
  const chain = { url: pathToFileURL(job).href, parameters: [{}] };
  await sortEngine(SIZE).run({ chain, inputs: [{ path }], outputFolder });
  assert.deepEqual(await wordsIn(outputFolder), ['a\t2', 'a\x01b\t1'].toSorted());
});

test('an input is as long as its file when the engine reads it, unless it names its end', async () => {
  const given: (readonly Split[])[] = [];
  const engine = outsideEngine('any', async (_run, inputs) => void given.push(inputs));
  const folder = temporaryFolder();
  const path = join(folder, 'words');
  await writeFile(path, 'to be\n');
  const run = (input: object): Promise<void> =>
    engine.run({ chain: CHAIN, inputs: [{ path, ...input }], outputFolder: 'hdfs://names/counts' });
  await run({});
  await run({ end: 6 });
  await assert.rejects(run({ end: 7 }), { code: 'INVALID_ARGUMENT' });
  const [whole = [], ended = []] = given;
  assert.deepEqual(whole, [{ path, start: 0, end: Infinity }]);
  assert.deepEqual(ended, [{ path, start: 0, end: 6 }]);
  assert.deepEqual(await wholeFiles(whole, folder, 'any'), [path]);
  const [copy = ''] = await wholeFiles(ended, folder, 'any');
  await appendFile(path, 'or not\n');
  assert.equal(await readFile(copy, 'utf8'), 'to be\n');
});

test('an input whose name is hidden from Hadoop and Spark, or has a colon, has a link that they find', async () => {
  const folder = temporaryFolder();
  const names = ['_words', '.words', 'words:1', 'words'];
  const inputs = names.map((name) => ({ path: join(folder, name), start: 0, end: Infinity }));
  for (const { path } of inputs) await writeFile(path, `of ${path}`);
  const work = temporaryFolder();
  const found = await wholeFiles(inputs, work, 'any');
  const links = [0, 1, 2].map((i) => join(work, `input-${i}`));
  assert.deepEqual(found, [...links, join(folder, 'words')]);
  for (const [i, link] of links.entries()) {
    assert.equal(await readFile(link, 'utf8'), `of ${inputs[i]?.path}`);
  }
});

test('sort does not count what is appended to the file of an input that names its end', async (t) => {
  const whyNot = await whyNoGnuSort();
  if (whyNot !== undefined) return t.skip(whyNot);
  const folder = temporaryFolder();
  const [path, outputFolder] = [join(folder, 'words'), join(folder, 'counts')];
  await writeFile(path, 'to be\n');
  await replaceProgram(t, 'sh', `echo 'or not' >>'${path}'; exec /bin/sh "$@"`);
  await sortEngine(SIZE).run({ chain: CHAIN, inputs: [{ path, end: 6 }], outputFolder });
  assert.equal(await readFile(path, 'utf8'), 'to be\nor not\n');
  assert.equal(await readFile(join(outputFolder, 'part-00000'), 'utf8'), 'be\t1\nto\t1\n');
});

test('sort refuses inputs and outputs of another file system', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'words');
  await writeFile(path, 'to be\n');
  const run = (input: string, outputFolder: string): Promise<void> =>
    sortEngine(SIZE).run({ chain: CHAIN, inputs: [{ path: input }], outputFolder });
  const refused = { code: 'INVALID_ARGUMENT', message: /^hdfs:.* another file system/ };
  await assert.rejects(run(PATH, join(folder, 'counts')), refused);
  await assert.rejects(run(path, 'hdfs://names/counts'), refused);
});

test('a sort that is on PATH is not called missing, whatever it answers', async (t) => {
  await replaceProgram(t, 'sort', 'echo "sort: unrecognized option: version" >&2; exit 1');
  assert.match(String(await whyNoGnuSort()), /^sort on PATH is not GNU sort/);
});

/** Puts a shell script ahead of all programs on PATH until the test ends. */
async function replaceProgram(t: TestContext, name: string, script: string): Promise<void> {
  const folder = temporaryFolder();
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const before = process.env['PATH'] ?? '';
  t.after(() => void (process.env['PATH'] = before));
  process.env['PATH'] = `${folder}:${before}`;
}

/** Runs the pipeline of sort on the input. @param path programs are looked for there first */
async function runPipeline(input: string, bytes: string, path = ''): Promise<string> {
  const folder = temporaryFolder();
  const work = join(folder, 'work');
  await mkdir(work);
  const env = {
    NODE: process.execPath,
    PROGRAM: STREAMING_PROGRAM,
    JOB,
    PARAMETERS: encodedParameters({ combine: false }),
    WORK: work,
    OUTPUT: join(folder, 'output'),
    MEMORY_EACH: '1024',
    MEMORY_ALL: '1024',
    THREADS: '1',
    PATH: `${path}:${process.env['PATH'] ?? ''}`,
  };
  const pipeline = fileURLToPath(new URL('sort-chain.sh', import.meta.url));
  return runProgram('sort', ['sh', pipeline, input, bytes], { env });
}

for (const bytes of ['all', '10']) {
  test(`the pipeline of sort succeeds if an input exists and ${bytes} bytes of it count`, async (t) => {
    const whyNot = await whyNoGnuSort();
    if (whyNot !== undefined) return t.skip(whyNot);
    const input = join(temporaryFolder(), 'words');
    await writeFile(input, 'to be\nnot\nor\n');
    await assert.doesNotReject(runPipeline(input, bytes));
  });

  test(`the pipeline of sort fails if an input is gone and ${bytes} bytes of it count`, async () => {
    const gone = join(temporaryFolder(), 'gone');
    await assert.rejects(runPipeline(gone, bytes), { code: 'TASK_FAILED' });
  });
}

test('the pipeline of sort ends if the merge fails before it opens what it is to merge', async () => {
  const folder = temporaryFolder();
  const input = join(folder, 'words');
  await writeFile(input, 'to be\n');
  const merging = 'case "$1" in -m) exit 2 ;; esac; cat';
  await writeFile(join(folder, 'sort'), `#!/bin/sh\n${merging}\n`, { mode: 0o755 });
  await assert.rejects(runPipeline(input, 'all', folder), { code: 'TASK_FAILED' });
});

/* The programs of outside engines: when they end. */

test('a program is not run to its end if the signal is aborted while it is about to start', async () => {
  const interrupt = new AbortController();
  const running = runProgram('sleep', ['sleep', '60'], { signal: interrupt.signal });
  interrupt.abort(new Error('interrupted'));
  const beganMs = performance.now();
  await assert.rejects(running, /interrupted/);
  assert.ok(performance.now() - beganMs < 60_000, 'it has slept to its end');
});
