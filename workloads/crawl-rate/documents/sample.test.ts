/**
 * Claims about the sample crawl: the number of its pages, of distinct contents, and of clusters.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import {
  clusterOneByOne,
  clusterInPhases,
  decodeDocument,
  decodeRecord,
  describeCrawl,
  describePartition,
  encodeDocument,
  encodeRecord,
  openCrawl,
  samePartition,
  type Document,
} from './index.ts';

const crawl = await openCrawl([path.join(import.meta.dirname, 'sample', 'sqlite-sample.warc.gz')]);
const documents: Document[] = [];
for await (const document of crawl.documents()) documents.push(document);
const partition = clusterOneByOne(documents);

test('the sample has 442 HTML pages and 221 distinct contents', () => {
  assert.equal(crawl.records.page, 442);
  assert.equal(documents.length, 442);
  assert.equal(new Set(documents.map(({ keys }) => keys[0])).size, 221);
});

test('both definitions find 221 clusters in the sample, each of two pages', () => {
  assert.equal(samePartition(clusterInPhases(documents), partition), undefined);
  const { clusters, largestCluster, nonSingletonShare } = describePartition(partition);
  assert.deepEqual([clusters, largestCluster, nonSingletonShare], [221, 2, 1]);
});

test('every page of the sample is found on both hosts', () => {
  const description = describeCrawl(documents, partition);
  assert.deepEqual(description.hosts, [
    { host: 'www.sqlite.org', pages: 221 },
    { host: 'sqlite.org', pages: 221 },
  ]);
  assert.deepEqual(description.groups, { contents: 221, text: 0, url: 0, several: 0 });
  assert.equal(description.acrossHosts.length, 221);
  assert.deepEqual(description.acrossHosts[0], {
    representative: '0000000000',
    sharing: 'contents',
    urls: ['http://www.sqlite.org/c3ref/intro.html', 'http://sqlite.org/c3ref/intro.html'],
  });
});

test('real pages survive both encoded forms', () => {
  for (const document of documents.slice(0, 20)) {
    assert.deepEqual(decodeRecord(encodeRecord(document)), document);
    assert.deepEqual(decodeDocument(document.id, encodeDocument(document)), document);
  }
});
