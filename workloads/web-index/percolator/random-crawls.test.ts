/**
 * Claims about the pipeline on random crawls in virtual time: whatever the order, and whichever
 * processes die, the index comes to be what the model says. Each seed is one run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import type { Capture } from '../model/index.ts';
import { randomCrawl } from '../model/random-crawl.fixture.ts';
import { pageCapture } from '../model/warc.fixture.ts';
import type { MemoryServingIndex, ServingIndex } from './index.ts';
import { SimulatedIndex } from './simulation.fixture.ts';

const CAPTURES = 50;
const PART = 25;

/** Loads a random crawl in parts, and checks the index while it loads and at each rest. */
async function findings(
  index: SimulatedIndex,
  { seed, kills }: { readonly seed: number; readonly kills: number },
): Promise<readonly string[]> {
  const crawl = randomCrawl(createRandom(seed), CAPTURES);
  const found: string[] = [];
  const loaded: Capture[] = [];
  for (let start = 0; start < crawl.length; start += PART) {
    const part = crawl.slice(start, start + PART);
    await index.load(part, { kills });
    loaded.push(...part);
    found.push(...(await index.checkLive()));
    await index.rest();
    found.push(...(await index.checkAtRest(loaded)));
  }
  await index.close();
  return found;
}

for (const seed of [1, 2, 3]) {
  test(`the index of the random crawl of seed ${seed} is that of the model, at each rest`, async () => {
    const index = await SimulatedIndex.open({ seed });
    assert.deepEqual(await findings(index, { seed, kills: 0 }), []);
    assert.deepEqual(index.failures, []);
    assert.ok(index.serving.applied > 0);
  });
}

for (const seed of [4, 5, 6]) {
  test(`it is so also if processes die in the middle of their work (seed ${seed})`, async () => {
    const index = await SimulatedIndex.open({ seed });
    assert.deepEqual(await findings(index, { seed, kills: 4 }), []);
    assert.deepEqual(index.failures, []);
  });
}

/** One page, indexed; then a change of it whose export reaches the serving index `times` times. */
async function changeExported(times: number): Promise<{
  readonly index: SimulatedIndex;
  readonly found: readonly string[];
}> {
  let repeats = 1;
  const servingOf = (serving: MemoryServingIndex): ServingIndex => ({
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
