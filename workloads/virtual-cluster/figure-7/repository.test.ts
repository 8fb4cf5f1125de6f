/** The repository in few bytes compared with the one that bench:crawl-rate loads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPercolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { commitTimes } from '../../../engine/transaction/index.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
} from '../../crawl-rate/documents/index.ts';
import { loadRepository } from '../../crawl-rate/percolator/load-repository.ts';
import { KEYS, keyRow } from '../../crawl-rate/percolator/tables.ts';
import { arrivalOf, numberOf, Repository, splitsFor } from './repository.ts';

const REPOSITORY = 500;
const NEW = 300;
const documents = createSyntheticDocuments({
  repository: REPOSITORY,
  documentBytes: 120,
  seed: 7,
});
const keyed = (arrivals: number) =>
  Array.from({ length: arrivals }, (_, arrival) => {
    const number = numberOf(arrival);
    return { id: documentId(number), keys: documents.keysOf(number) };
  });

test('the background has the cells that the bulk loader would have left, and no others', async () => {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store });
  await loadRepository(percolator, {
    documents: keyed(REPOSITORY).map(({ id }) => documents.documentOf(Number(id))),
    partition: clusterOneByOne(keyed(REPOSITORY)),
  });
  const cells = [{ family: 'cells' }];
  const rows = await store.readRange(KEYS, { limit: 10_000 }, cells);
  const moments = new Set(rows.flatMap((row) => row.cells.map(({ timestamp }) => timestamp)));
  const [start, end] = [...moments].toSorted((a, b) => a - b);
  assert.ok(start !== undefined && end !== undefined && moments.size === 2);

  const repository = new Repository(documents);
  const background = repository.background(commitTimes(start, end));
  assert.equal(repository.entries, rows.length);
  for (const { key, cells: loaded } of rows) {
    assert.deepEqual(background(key)?.map(plain), loaded.map(plain));
  }
  const known = new Set(rows.map(({ key }) => key));
  const unknown = keyed(REPOSITORY + NEW)
    .flatMap(({ keys }) => keys.map((key, i) => keyRow(i, key)))
    .filter((row) => !known.has(row));
  assert.ok(unknown.length > NEW / 4);
  for (const row of unknown) assert.equal(background(row), undefined);
});

test('new documents follow the repository as in the reference clustering', () => {
  const repository = new Repository(documents);
  const expected = clusterOneByOne(keyed(REPOSITORY + NEW));
  const arrivals = Array.from({ length: NEW }, (_, i) => REPOSITORY + i);
  let joined = 0;
  const came: number[] = [];
  for (const [arrival, founder] of repository.follow(arrivals)) {
    came.push(arrival);
    const id = documentId(numberOf(arrival));
    assert.equal(documentId(numberOf(founder)), expected.get(id));
    if (founder !== arrival) joined++;
  }
  assert.deepEqual(came, arrivals);
  assert.ok(joined > NEW / 2);
});

test('the rows of documents are spread over all tablets, and tell the arrival', () => {
  const tablets = 7;
  const counts = Array.from({ length: tablets }, () => 0);
  const { documents: splits = [] } = splitsFor(tablets);
  for (let arrival = 0; arrival < 7_000; arrival++) {
    assert.equal(arrivalOf(numberOf(arrival)), arrival);
    const row = documentId(numberOf(arrival));
    const tablet = splits.filter((split) => split <= row).length;
    counts[tablet] = (counts[tablet] ?? 0) + 1;
  }
  for (const count of counts) assert.ok(Math.abs(count - 1_000) < 20, counts.join());
});

test('the tablets of keys have even shares of the reads and writes that clustering makes', () => {
  const tablets = 9;
  const { keys: splits = [] } = splitsFor(tablets);
  assert.deepEqual(splits, [...new Set(splits)].toSorted());
  assert.ok(splits.every((split) => /^[123]\/[0-9a-f]{12}$/.test(split)));
  const many = createSyntheticDocuments({ repository: 20_000, documentBytes: 0, seed: 7 });
  const repository = new Repository(many);
  const background = repository.background(commitTimes(1, 2));
  const counts = Array.from({ length: tablets }, () => 0);
  for (let arrival = 20_000; arrival < 40_000; arrival++) {
    // A document reads its keys up to the first that is there, and writes those that are not.
    for (const [i, key] of many.keysOf(numberOf(arrival)).entries()) {
      const row = keyRow(i, key);
      const isThere = background(row) !== undefined;
      const tablet = splits.filter((split) => split <= row).length;
      counts[tablet] = (counts[tablet] ?? 0) + (isThere ? 1 : 2);
      if (isThere) break;
    }
  }
  const mean = counts.reduce((sum, count) => sum + count, 0) / tablets;
  for (const count of counts) assert.ok(count > 0.8 * mean && count < 1.25 * mean, counts.join());
});

function plain({ value, ...cell }: { readonly value: Uint8Array }): object {
  return { ...cell, value: Buffer.from(value).toString() };
}
