/** The claims of a crawl's description, on a crawl small enough to count by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterOneByOne } from './clustering.ts';
import { describeCrawl, type CrawledPage } from './crawl.ts';

const pages: readonly CrawledPage[] = [
  { id: '0', url: 'http://a.example/1', keys: ['c1', 't1', 'u1'] },
  { id: '1', url: 'http://b.example/1', keys: ['c2', 't1', 'u2'] }, // The text of 0.
  { id: '2', url: 'http://a.example/2', keys: ['c3', 't3', 'u3'] },
  { id: '3', url: 'http://a.example/2', keys: ['c4', 't4', 'u3'] }, // The address of 2.
  { id: '4', url: 'http://a.example/3', keys: ['c5', 't5', 'u5'] },
  { id: '5', url: 'http://c.example/1', keys: ['c6', 't6', 'u6'] },
  { id: '6', url: 'http://b.example/2', keys: ['c6', 't6', 'u7'] }, // The contents of 5.
  { id: '7', url: 'http://a.example/4', keys: ['c7', 't7', 'u6'] }, // Redirected to the address of 5.
];

test('a description counts pages, clusters, keys, hosts, and the keys that join clusters', () => {
  const { acrossHosts, ...counts } = describeCrawl(pages, clusterOneByOne(pages));
  assert.deepEqual(counts, {
    pages: 8,
    clusters: 4,
    distinctContents: 7,
    distinctTexts: 6,
    distinctUrls: 6,
    hosts: [
      { host: 'a.example', pages: 5 },
      { host: 'b.example', pages: 2 },
      { host: 'c.example', pages: 1 },
    ],
    groups: { contents: 0, text: 1, url: 1, several: 1 },
  });
  assert.deepEqual(
    acrossHosts.map(({ representative, sharing, urls }) => [representative, sharing, urls.length]),
    [
      ['0', 'text', 2],
      ['5', 'several', 3],
    ],
  );
});

test('a crawl without pages has a description too', () => {
  assert.equal(describeCrawl([], new Map()).clusters, 0);
});
