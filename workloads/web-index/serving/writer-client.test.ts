/** The order of tasks for the thread that writes, and what callers hear when it has ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { openIndexReader, openServingIndex } from './sqlite-index.ts';
import type { IndexChange } from './serving-index.ts';
import { WriterClient } from './sqlite-index.ts';

function changeOf(url: string): IndexChange {
  const page = {
    url,
    title: '',
    text: 'words',
    language: 'en',
    anchors: [],
    duplicates: [],
    rank: 1,
    capturedMs: Date.UTC(2026, 8, 1),
  };
  return { url, page, version: 1 };
}

test('a change that comes after all were replaced is kept', async () => {
  const folder = temporaryFolder();
  await (await openServingIndex(folder))[Symbol.asyncDispose]();
  const writer = await WriterClient.open(folder);
  const urls = ['http://a/', 'http://b/', 'http://c/', 'http://d/'] as const;
  const sent = [
    writer.apply(changeOf(urls[0])),
    writer.apply(changeOf(urls[1])),
    writer.replaceAll([changeOf(urls[2])]),
    writer.apply(changeOf(urls[3])),
  ];
  await Promise.all(sent);
  await writer.close();
  using reader = await openIndexReader(folder);
  assert.deepEqual(
    Array.from(reader.pages(), ({ page }) => page.url),
    [urls[2], urls[3]],
  );
});

test('a change for a thread that has ended is refused', async () => {
  const folder = temporaryFolder();
  await (await openServingIndex(folder))[Symbol.asyncDispose]();
  const writer = await WriterClient.open(folder);
  await writer.close();
  await assert.rejects(writer.apply(changeOf('http://a/')), /its thread has ended/);
});
