/** What the loading of a crawl does when a capture cannot be loaded. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { openPercolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import type { Capture } from '../model/index.ts';
import { pageCapture } from '../model/warc.fixture.ts';
import { loadCrawl } from './pipeline.ts';

test('a load that fails while the loader waits for the next capture ends the loading', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  async function* captures(): AsyncGenerator<Capture> {
    yield pageCapture('http://a.example/', 'There is no table for it.');
    await sleep(50);
  }
  await assert.rejects(loadCrawl(percolator, captures()), { code: 'TABLE_NOT_FOUND' });
});
