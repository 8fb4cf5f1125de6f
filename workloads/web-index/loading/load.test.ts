/** What a load in a process of its own says of itself. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import type { Progress } from '../../harness/command-line/progress.ts';
import { provideStore } from '../../harness/stores/index.ts';
import { pageRecord } from '../model/warc.fixture.ts';
import { LoadProgress } from '../search-page/load-status.ts';
import { loadInProcess } from './load.ts';

test('the time of a load ends when the observers are at rest, not when their process has stopped', async () => {
  const folder = temporaryFolder();
  const crawl = path.join(folder, 'crawl.warc');
  writeFileSync(crawl, pageRecord('http://a.example/', 'One'));
  const embedded = { folder: path.join(folder, 'tables'), fsync: false };
  await using store = await provideStore('embedded', embedded);
  let restMs = Number.NaN;
  const progress: Progress = {
    phase: () => {},
    update: () => {},
    note: (line) => assert.fail(line),
    end: () => {
      restMs = performance.now();
    },
  };
  const startedMs = performance.now();
  const { captures, seconds } = await loadInProcess({
    store: store.address,
    indexFolder: path.join(folder, 'serving'),
    inputs: [crawl],
    progress,
    page: new LoadProgress({ state: 'loading', stages: [] }),
    signal: new AbortController().signal,
  });
  const stoppedMs = performance.now();
  assert.equal(captures, 1);
  const countedMs = startedMs + seconds * 1_000;
  assert.ok(countedMs - restMs < stoppedMs - countedMs, `${countedMs - restMs} ms after the rest`);
});
