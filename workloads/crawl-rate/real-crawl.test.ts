/** What the clustering of a real crawl says when a page is lost or cannot be loaded. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import type { ChainEngine } from '#mapreduce';
import { temporaryFolder } from '#engine/testing';
import type { Document } from './documents/index.ts';
import { bothChecks, clusterCrawl } from './real-crawl.ts';

const page = { url: 'http://a.example/', keys: ['contents', 'text', 'url'] } as const;
const pages = [
  { ...page, id: '0' },
  { ...page, id: '1' },
];
const inOneCluster = new Map([
  ['0', '0'],
  ['1', '0'],
]);

const unused: ChainEngine = {
  name: 'unused',
  run: () => assert.fail('the batch runs although a page was not loaded'),
  [Symbol.asyncDispose]: async () => {},
};

test('a page that a system has not clustered fails the check, which names the system', () => {
  const whole = { partition: inOneCluster, order: ['0', '1'] };
  const lost = { partition: new Map([['0', '0']]), order: ['0'] };
  assert.deepEqual(bothChecks(pages, whole, inOneCluster).passed, true);
  assert.deepEqual(bothChecks(pages, lost, inOneCluster), {
    passed: false,
    detail: 'Percolator: document 1 is in no cluster; it belongs to 0',
  });
  assert.deepEqual(bothChecks(pages, whole, lost.partition), {
    passed: false,
    detail: 'MapReduce: document 1 is in no cluster; it belongs to 0',
  });
});

test('a page that cannot be loaded ends the clustering with its error', async () => {
  async function* documents(): AsyncGenerator<Document> {
    const tooLong = 'x'.repeat(70_000);
    yield { ...page, id: '0', keys: [tooLong, '', ''], contents: Buffer.from('') };
    await sleep(50); // Loading fails while the next page is awaited.
  }
  const records = { page: 1, redirect: 0, failure: 0, 'not-html': 0, 'not-response': 0 };
  const options = {
    file: 'crawl.warc.gz',
    crawl: { records, damages: [], documents },
    engine: unused,
  };
  const { signal } = new AbortController();
  await assert.rejects(clusterCrawl({ ...options, folder: temporaryFolder(), signal }), {
    code: 'ERR_OUT_OF_RANGE',
  });
});
