/** The serving index rebuilt from the tables, while another process exports. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPercolator, type Percolator } from '#engine';
import { temporaryFolder } from '#engine/testing';
import type { ServedPage } from '../model/index.ts';
import type { ServingIndex } from '../serving/serving-index.ts';
import { openServingIndex } from '../serving/sqlite-index.ts';
import { cellOf } from '#engine/recipes';
import { rebuildIndex } from './exporting.ts';
import { createTables, ENTRY, SERVED } from './tables.ts';

const URL_A = 'http://a.org/';

function pageOf(title: string): ServedPage {
  const fixed = { url: URL_A, text: '', language: 'en', anchors: [], duplicates: [], rank: 1 };
  return { ...fixed, title, capturedMs: 0 };
}

/** Says in the tables what is to be served, as the publisher does. Returns the version. */
async function decide(percolator: Percolator, page: ServedPage | undefined): Promise<number> {
  return percolator.transact(async (transaction) => {
    const version = transaction.startTimestamp;
    const kind = page === undefined ? 'remove' : 'put';
    transaction.set(cellOf(ENTRY, URL_A), ENTRY.encode({ kind, version }));
    if (page === undefined) transaction.delete(cellOf(SERVED, URL_A));
    else transaction.set(cellOf(SERVED, URL_A), SERVED.encode(page));
    return version;
  });
}

/** Rebuilds the index; another process has exported `page` just before all is replaced. */
async function rebuildMeanwhile(
  percolator: Percolator,
  index: ServingIndex,
  page: ServedPage | undefined,
): Promise<number> {
  let version = 0;
  const replaceAll: ServingIndex['replaceAll'] = async (changes) => {
    version = await decide(percolator, page);
    if (page === undefined) await index.remove(URL_A, version);
    else await index.put(page, version);
    await index.replaceAll(changes);
  };
  const exporting = new Proxy(index, {
    get: (target, name) => {
      if (name === 'replaceAll') return replaceAll;
      const found: unknown = Reflect.get(target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  await rebuildIndex(percolator, exporting);
  return version;
}

for (const newer of [pageOf('new'), undefined]) {
  const what = newer === undefined ? 'a removal' : 'a newer page';
  test(`${what} that another process exports while the index is rebuilt is not lost`, async () => {
    await using percolator = await openPercolator({ folder: temporaryFolder() });
    await createTables(percolator);
    await decide(percolator, pageOf('old'));
    await using index = await openServingIndex(temporaryFolder());
    const version = await rebuildMeanwhile(percolator, index, newer);
    assert.deepEqual([...index.versions()], [[URL_A, version]]);
    assert.deepEqual(
      [...index.pages()].map(({ page }) => page.title),
      newer === undefined ? [] : ['new'],
    );
  });
}

test('a rebuild removes from the index what another database exported', async () => {
  await using percolator = await openPercolator({ folder: temporaryFolder() });
  await createTables(percolator);
  const version = await decide(percolator, pageOf('ours'));
  await using index = await openServingIndex(temporaryFolder());
  await index.put(pageOf('theirs'), version + 1_000);
  await index.put({ ...pageOf('theirs'), url: 'http://b.org/' }, 1);
  await rebuildIndex(percolator, index);
  assert.deepEqual([...index.versions()], [[URL_A, version]]);
  assert.deepEqual(
    [...index.pages()].map(({ page }) => page.title),
    ['ours'],
  );
});
