/**
 * The batch index of our runner compared with the judge, page by page; and the first jobs on GNU
 * sort compared with those on our runner.
 */
import assert from 'node:assert/strict';
import { appendFile, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { createRandom } from '#engine/base';
import { temporaryFolder } from '#engine/testing';
import { findBatchEngine } from '../../harness/batch-engines.ts';
import { type Capture, indexOf, readCaptures, type ServedPage } from '../model/index.ts';
import { randomCrawl } from '../model/random-crawl.fixture.ts';
import { buildIndex, readServed, writeCaptures } from './build-index.ts';
import { PAGE_JOBS } from './page-jobs.ts';

const SAMPLE = path.join(
  import.meta.dirname,
  '../../crawl-rate/documents/sample/sqlite-sample.warc.gz',
);
const SETTINGS = { workers: 2, memoryBytes: 64 * 2 ** 20 };
const folder = temporaryFolder();
const local = await findBatchEngine('local', SETTINGS);
assert.ok(typeof local !== 'string');
after(() => local[Symbol.asyncDispose]());

let builds = 0;
async function built(captures: readonly Capture[], engine = local): Promise<readonly ServedPage[]> {
  assert.ok(typeof engine !== 'string');
  const name = path.join(folder, String(builds++));
  const outputFolder = `${name}-served`;
  await writeCaptures(name, captures);
  await buildIndex(engine, { captures: [{ path: name }], outputFolder });
  return inOrder(await Array.fromAsync(readServed(outputFolder)));
}

function judged(captures: readonly Capture[]): readonly ServedPage[] {
  return inOrder([...indexOf(captures).served.values()]);
}

function inOrder(pages: readonly ServedPage[]): readonly ServedPage[] {
  return pages.toSorted((a, b) => (a.url < b.url ? -1 : 1));
}

test('the sample crawl becomes the index of the judge, page by page', async () => {
  const captures = await Array.fromAsync(readCaptures([SAMPLE], { onDamage: () => {} }));
  const found = await built(captures);
  assert.equal(found.length, 221);
  assert.deepEqual(found, judged(captures));
});

test('random crawls, with moved, removed, changed and equal pages, become the index of the judge', async () => {
  let [duplicates, anchors] = [0, 0];
  for (const seed of [4, 5, 6, 7, 8]) {
    const random = createRandom(seed);
    const captures = randomCrawl(random, 60 * seed);
    const expected = judged(captures);
    // The input is in no order: the crawler's clock decides.
    const shuffled = captures.toSorted((a, b) => (a.ordinal % 7) - (b.ordinal % 7));
    assert.deepEqual(await built(shuffled), expected, `seed ${seed}`);
    duplicates += expected.filter((page) => page.duplicates.length > 0).length;
    anchors += expected.filter((page) => page.anchors.length > 1).length;
  }
  assert.ok(duplicates > 5, `${duplicates} clusters`);
  assert.ok(anchors > 5, `${anchors} pages with anchors`);
});

/** Only the first chain: with all 20 jobs a test would start programs for half a minute. */
test('streaming programs between the steps of GNU sort find the same pages as our runner', async (t) => {
  const engine = await findBatchEngine('sort', { ...SETTINGS, workers: 1 });
  if (typeof engine === 'string') return t.skip(engine);
  await using _ = engine;
  const captures = path.join(folder, 'captures-to-stream');
  await writeCaptures(captures, randomCrawl(createRandom(7), 60));
  const inputs = [{ path: captures }];
  const [expected, found] = [path.join(folder, 'pages'), path.join(folder, 'streamed')];
  assert.ok(typeof local !== 'string');
  await local.run({ chain: PAGE_JOBS, inputs, outputFolder: expected });
  await engine.run({ chain: PAGE_JOBS, inputs, outputFolder: found });
  const lines = await linesIn(expected);
  assert.ok(lines.length > 5, `${lines.length} lines`);
  assert.deepEqual(await linesIn(found), lines);
});

async function linesIn(output: string): Promise<readonly string[]> {
  const files = (await readdir(output)).map((name) => readFile(path.join(output, name), 'utf8'));
  return (await Promise.all(files)).join('').split('\n').filter(Boolean).toSorted();
}

test('a line that is no capture fails the batch, which names it and leaves no files', async () => {
  const file = path.join(folder, 'damaged');
  await writeCaptures(file, randomCrawl(createRandom(8), 5));
  await appendFile(file, 'no capture\n');
  const outputFolder = path.join(folder, 'damaged-served');
  assert.ok(typeof local !== 'string');
  await assert.rejects(buildIndex(local, { captures: [{ path: file }], outputFolder }), {
    code: 'RECORD_INVALID',
    message: /this line has no message: no capture/,
  });
  const left = await readdir(folder);
  assert.deepEqual(
    left.filter((entry) => entry.startsWith('damaged-')),
    [],
  );
});
