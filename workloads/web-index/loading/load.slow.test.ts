/** What a load in a process of its own says of itself. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { env } from 'node:process';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import type { Progress } from '../../harness/command-line/progress.ts';
import { provideStore } from '../../harness/stores.ts';
import { pageRecord } from '../model/warc.fixture.ts';
import { LoadProgress } from './load-status.ts';
import { openIndexReader } from '../serving/sqlite-index.ts';
import { type LoadReport, loadInProcess } from './load.ts';

interface TimedLoad extends LoadReport {
  /** Pages that can be found. */
  readonly results: number;
  readonly startedMs: number;
  readonly stoppedMs: number;
}

/** Loads pages of these names into tables and an index of their own. */
async function load(names: readonly string[], told: Partial<Progress>): Promise<TimedLoad> {
  const folder = temporaryFolder();
  const crawl = path.join(folder, 'crawl.warc');
  const pages = names.map((name) => pageRecord(`http://a.example/${name}`, `The page ${name}`));
  writeFileSync(crawl, Buffer.concat(pages));
  const embedded = { folder: path.join(folder, 'tables'), fsync: false };
  await using store = await provideStore('embedded', embedded);
  const nothing = (): void => {};
  const indexFolder = path.join(folder, 'serving');
  const startedMs = performance.now();
  const loaded = await loadInProcess({
    store: store.address,
    indexFolder,
    inputs: [crawl],
    progress: { phase: nothing, update: nothing, note: nothing, end: nothing, ...told },
    page: new LoadProgress({ state: 'loading', stages: [] }),
    signal: new AbortController().signal,
  });
  const stoppedMs = performance.now();
  using index = await openIndexReader(indexFolder);
  return { ...loaded, results: index.count(), startedMs, stoppedMs };
}

test('a load is over when no observer fails any more: each has succeeded, or has given up', async () => {
  const { NODE_OPTIONS } = env;
  const fixture = new URL('failing-observer.fixture.ts', import.meta.url);
  const notes: string[] = [];
  try {
    env['NODE_OPTIONS'] = `${NODE_OPTIONS ?? ''} --import ${fixture.href}`;
    const note = (line: string): void => void notes.push(line);
    // The renderer fails three times on `late`, and always on `never`.
    const { captures, parked, results } = await load(['one', 'late', 'never'], { note });
    assert.deepEqual({ captures, parked, results }, { captures: 3, parked: 1, results: 2 });
    assert.match(notes.join('\n'), /^an observer has failed too often .*: it always fails$/);
  } finally {
    if (NODE_OPTIONS === undefined) delete env['NODE_OPTIONS'];
    else env['NODE_OPTIONS'] = NODE_OPTIONS;
  }
});

test('the time of a load ends when the observers are at rest, not when their process has stopped', async () => {
  let restMs = Number.NaN;
  const end = (): void => {
    restMs = performance.now();
  };
  const note = (line: string): void => assert.fail(line);
  const { captures, seconds, startedMs, stoppedMs } = await load(['one'], { note, end });
  assert.equal(captures, 1);
  const countedMs = startedMs + seconds * 1_000;
  assert.ok(countedMs - restMs < stoppedMs - countedMs, `${countedMs - restMs} ms after the rest`);
});
