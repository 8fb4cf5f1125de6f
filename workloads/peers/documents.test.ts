/** The check of bench:peers notices what a system could do wrong with the documents. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { keyed } from '../crawl-rate/clustering-loop.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  decodeRecordKeys,
  documentId,
} from '../crawl-rate/documents/index.ts';
import { checkWritten, writeDocuments } from './documents.ts';

const REPOSITORY = 60;
const CRAWLED = 20;
const TOTAL = REPOSITORY + CRAWLED;
const documents = createSyntheticDocuments({ repository: REPOSITORY, documentBytes: 200, seed: 1 });
const all = keyed(documents, 0, TOTAL);
/** Each document and its representative, in the order of the numbers. */
const right = [...clusterOneByOne(all)];

async function detailOf(entries: readonly (readonly [string, string])[]): Promise<string> {
  const file = path.join(temporaryFolder(), 'written');
  writeFileSync(file, entries.map((entry) => `${entry.join('\t')}\n`).join(''));
  const { passed, detail } = await checkWritten(file, documents, CRAWLED);
  return passed ? 'passed' : detail;
}

test('the files hold all documents, the clusters of the repository and the keys that lead to them', async () => {
  const files = await writeDocuments(temporaryFolder(), documents, TOTAL);
  const [records = [], clusters, keys = []] = [files.documents, files.clusters, files.keys].map(
    (file) => readFileSync(file, 'utf8').trimEnd().split('\n'),
  );
  assert.deepEqual(
    records.map((record) => decodeRecordKeys(Buffer.from(record))),
    all,
  );
  assert.deepEqual(
    clusters,
    right.slice(0, REPOSITORY).map(([, representative]) => representative),
  );
  const entries = new Map(keys.map((line) => line.split('\t') as [string, string]));
  assert.equal(entries.size, keys.length);
  for (const { id, keys: own } of all.slice(0, REPOSITORY)) {
    const found = own.map((key, i) => entries.get(`${i + 1}/${key}`)).find((one) => one);
    assert.equal(found, new Map(right).get(id), id);
  }
});

test('the right clusters pass, in any order of commits that gives them', async () => {
  assert.equal(await detailOf(right), 'passed');
  const [last = ['', '']] = right.slice(-1);
  const swapped = [...right.slice(0, REPOSITORY), last, ...right.slice(REPOSITORY, -1)];
  const inOrder = swapped.map(([id]) => all[Number(id)] ?? assert.fail(id));
  assert.equal(await detailOf([...clusterOneByOne(inOrder)]), 'passed');
});

test('a wrong cluster, a missing document, one that was committed twice, and one that is another fail', async () => {
  const founder = right.findLast(([id, representative]) => id === representative)?.[0] ?? '';
  const wrong = right.map(([id, representative]) =>
    id === founder ? ([id, documentId(0)] as const) : ([id, representative] as const),
  );
  assert.match(await detailOf(wrong), new RegExp(`^document ${founder} is in the cluster of 0+;`));
  const counts = (those: number, commits: number): RegExp =>
    new RegExp(`^of ${TOTAL} documents, ${those} are in ${commits} commits$`);
  assert.match(await detailOf(right.slice(0, -1)), counts(TOTAL - 1, TOTAL - 1));
  assert.match(await detailOf([...right, ...right.slice(-1)]), counts(TOTAL, TOTAL + 1));
  const other = [...right.slice(0, -1), [documentId(TOTAL), documentId(TOTAL)] as const];
  assert.match(await detailOf(other), counts(TOTAL, TOTAL));
});
