/** What sightings say, on a crawl that is small enough to count by hand. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { percentileMs } from '#results';
import { meanOrZero } from '../../harness/statistics.ts';
import { openBenchCrawl } from './crawl.ts';
import { AGES, freshnessOf, Sightings } from './freshness.ts';

const file = path.join(
  import.meta.dirname,
  '../../crawl-rate/documents/sample/sqlite-sample.warc.gz',
);
/** One recrawl each second: pages 0, 1, 0, 1, and then, measured, 0, 1. */
const schedule = { first: 0, warmupDocuments: 4, warmupPerSecond: 1, documents: 2, perSecond: 1 };
const START_US = 5_000_000;

function assertNear(value: number, expected: number, by = 1e-6): void {
  assert.ok(Math.abs(value - expected) < by, `${value} instead of ${expected}`);
}

test('latency counts from when a recrawl was due until its edition, or a later one, was found', async () => {
  const crawl = await openBenchCrawl({ file, documents: 3, recrawled: 2 });
  const sightings = new Sightings();
  const found = (n: number, seconds: number, duplicateOf?: number): void => {
    const { url } = crawl.recrawl(n);
    const page = { title: '', language: '', anchors: [], rank: 1, capturedMs: 0 };
    const main = duplicateOf === undefined ? url : crawl.recrawl(duplicateOf).url;
    const text = `text Copy 0, edition ${crawl.editionAt(n)}.`;
    const served = { ...page, text, url: main, duplicates: main === url ? [] : [url] };
    sightings.add(served, START_US + seconds * 1e6);
  };
  found(0, 1);
  found(1, 3);
  found(2, 3.5);
  found(4, 5); // Due at 4.
  found(2, 5.2); // An older edition again: nothing new.
  found(5, 9, 4); // Due at 5, found as a duplicate.
  const { latencies, lost, ages } = freshnessOf({
    crawl,
    schedule,
    startUs: START_US,
    sightings: sightings.all,
  });
  assert.deepEqual([latencies.totalCount, lost], [2, 0]);
  assert.ok(Math.abs(percentileMs(latencies, 100) - 4_000) < 10);
  assert.ok(Math.abs(percentileMs(latencies, 0) - 1_000) < 10);
  // Recrawl 3, due at 3, is found by the later edition at 9.
  const more = { ...schedule, warmupDocuments: 2, documents: 4 };
  const overtaken = freshnessOf({
    crawl,
    schedule: more,
    startUs: START_US,
    sightings: sightings.all,
  });
  assert.deepEqual([overtaken.latencies.totalCount, overtaken.lost], [4, 0]);
  assert.ok(Math.abs(percentileMs(overtaken.latencies, 100) - 6_000) < 10);
  assert.equal(ages.length, AGES);
  const [first, last] = [ages.at(0), ages.at(-1)];
  assert.ok(first !== undefined && last !== undefined);
  // At first, page 0 shows what was due at 2, and page 1 what was due at 1. At second 6, page 0
  // shows what was due at 4.
  assertNear(first.meanAgeSeconds, (2 + 3) / 2 + first.seconds);
  assertNear(last.meanAgeSeconds, (2 + 5) / 2);
});

test('ages are taken evenly over the time between two recrawls of a page', async () => {
  const crawl = await openBenchCrawl({ file, documents: 100, recrawled: 100 });
  const rates = { warmupPerSecond: 10, perSecond: 10 };
  const steady = { first: 0, warmupDocuments: 200, documents: 600, ...rates };
  const sightings = Array.from({ length: 800 }, (_, n) => {
    const { url } = crawl.recrawl(n);
    return { url, edition: crawl.editionAt(n), atUs: n * 100_000 + 10_000 };
  });
  const { ages } = freshnessOf({ crawl, schedule: steady, startUs: 0, sightings });
  // Half of the time between two recrawls of a page, and 10 ms until each is found.
  assertNear(meanOrZero(ages.map(({ meanAgeSeconds }) => meanAgeSeconds)), 5 + 0.01, 0.001);
});

test('a recrawl that is never found is counted as lost', async () => {
  const crawl = await openBenchCrawl({ file, documents: 3, recrawled: 2 });
  const { latencies, lost, ages } = freshnessOf({ crawl, schedule, startUs: 0, sightings: [] });
  assert.deepEqual([latencies.totalCount, lost, ages], [0, 2, []]);
});

test('a backlog that grows is a system that did not keep up, whatever one run of a batch takes', async () => {
  const crawl = await openBenchCrawl({ file, documents: 10, recrawled: 10 });
  const rates = { warmupPerSecond: 10, perSecond: 10 };
  const steady = { first: 0, warmupDocuments: 20, documents: 600, ...rates };
  const late = (delaySeconds: (n: number) => number, inFlight = 0): string | null => {
    const sightings = Array.from({ length: 620 }, (_, n) => {
      const { url } = crawl.recrawl(n);
      return { url, edition: crawl.editionAt(n), atUs: (n / 10 + delaySeconds(n)) * 1e6 };
    });
    return freshnessOf({ crawl, schedule: steady, startUs: 0, sightings, inFlight }).late;
  };
  assert.equal(
    late(() => 0.1),
    null,
  );
  // From second 2 to second 62 the delay grows to 6 seconds.
  assert.match(late((n) => n / 100) ?? '', /^the backlog grew by 5\d$/);
  assert.equal(
    late((n) => n / 100, 50),
    null,
  );
});
