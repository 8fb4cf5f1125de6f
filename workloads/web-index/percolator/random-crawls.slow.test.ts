/**
 * Claims about the pipeline on random crawls in virtual time: whatever the order, and whichever
 * processes die, the index becomes what the model says. Each seed is one run.
 */
import assert from 'node:assert/strict';
import { on } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { pageCapture } from '../model/warc.fixture.ts';
import type { MemoryServingIndex } from './memory-serving-index.fixture.ts';
import type { ExportTarget } from '../serving/serving-index.ts';
import type { IndexedCrawl, RandomCrawl } from './random-crawls-thread.fixture.ts';
import { SimulatedIndex } from './simulation.fixture.ts';

const THREAD = new URL('random-crawls-thread.fixture.ts', import.meta.url);

const crawls: readonly RandomCrawl[] = [1, 2, 3, 4, 5, 6].map((seed) => ({
  seed,
  kills: seed > 3 ? 4 : 0,
}));
const thread = new Worker(THREAD, { workerData: crawls });
const messages = on(thread, 'message');

for (const { seed, kills } of crawls) {
  const dying = kills === 0 ? '' : ', even if processes die in the middle of their work';
  test(`the index of the random crawl of seed ${seed} is that of the model, at each rest${dying}`, async () => {
    const next = await messages.next();
    const [{ findings, failures, applied }] = next.value as [IndexedCrawl];
    assert.deepEqual([findings, failures], [[], []]);
    assert.ok(applied > 0);
  });
}

/** One page, indexed; then a change of it whose export reaches the serving index `times` times. */
async function changeExported(times: number): Promise<{
  readonly index: SimulatedIndex;
  readonly found: readonly string[];
}> {
  let repeats = 1;
  const servingOf = (serving: MemoryServingIndex): ExportTarget => ({
    put: async (page, version) => {
      for (let i = 0; i < repeats; i++) await serving.put(page, version);
    },
    remove: (url, version) => serving.remove(url, version),
  });
  const index = await SimulatedIndex.open({ seed: 1, processes: 1, servingOf });
  const captures = [pageCapture('http://a.example/', 'Old')];
  await index.load(captures);
  await index.rest();
  repeats = times;
  captures.push(pageCapture('http://a.example/', 'New'));
  await index.load(captures.slice(-1));
  await index.rest();
  const found = await index.checkAtRest(captures);
  await index.close();
  return { index, found };
}

test('an export that is dropped is found by the check', async () => {
  const { found } = await changeExported(0);
  assert.match(found.join('\n'), /the served page of "http:\/\/a\.example\/" is .*Old.*New/u);
  assert.match(found.join('\n'), /the served version of .* is \d+, and should be \d+/u);
});

test('an export that arrives twice changes nothing', async () => {
  const { found, index } = await changeExported(2);
  assert.deepEqual(found, []);
  assert.ok(index.serving.refused > 0);
});
