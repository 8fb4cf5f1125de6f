/**
 * The clustering by MapReduce and by streaming programs, compared with a definition too simple to
 * be wrong.
 */
import assert from 'node:assert/strict';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { execa } from 'execa';
import { MapReduceError, openWorkerPool } from '#mapreduce';
import { createRandom, type Random } from '#engine/base';
import { temporaryFolder } from '#engine/testing';
import { clusterInPhases, samePartition } from '../documents/index.ts';
import type { KeyedDocument, Keys } from '../documents/index.ts';
import { digestClusters } from './cluster-digest.ts';
import {
  clusterInBatch,
  readClusters,
  readRepresentatives,
  type BatchOptions,
  type BatchReport,
} from './index.ts';
import { readClusterFile } from './read-clusters.ts';
import { clusterBySortPipeline } from './sort-pipeline.ts';

const folder = temporaryFolder();
const pool = await openWorkerPool({ workers: 2 });
after(() => pool[Symbol.asyncDispose]());

/** Documents in the order of their ids as bytes, as the reference clustering requires. */
function randomDocuments(random: Random, documents: number, keysPerTable: number): KeyedDocument[] {
  const key = (): string => random.integer(1, keysPerTable).toString(36);
  const keys = (): Keys => [key(), key(), key()];
  return Array.from({ length: documents }, (_, i) => ({
    id: random.fraction() < 0.5 ? String(i).padStart(10, '0') : `http://e.org/${i},ü\u2028?a=b`,
    keys: keys(),
  })).toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
}

async function writeDocuments(
  random: Random,
  name: string,
  documents: readonly KeyedDocument[],
): Promise<string> {
  const path = join(folder, name);
  const lines = documents.map(({ id, keys }) => {
    const contents = 'some contents, \\n and more\\t'.repeat(random.integer(0, 5));
    return `${[id, ...keys, 'http://example.org/', contents].join('\t')}\n`;
  });
  const shuffled = lines
    .map((line) => ({ line, at: random.fraction() }))
    .toSorted((a, b) => a.at - b.at);
  await writeFile(path, shuffled.map(({ line }) => line).join(''));
  return path;
}

let outputs = 0;
async function clusterFile(
  path: string,
  options: Partial<BatchOptions> = {},
): Promise<{ report: BatchReport; outputFolder: string }> {
  const outputFolder = join(folder, `clusters-${outputs++}`);
  const report = await clusterInBatch(pool, { inputs: [{ path }], outputFolder, ...options });
  return { report, outputFolder };
}

test('three MapReduces find the clusters of the definition, with few keys and with many', async () => {
  for (const [seed, keysPerTable] of [1, 2, 10, 300, 1500, 100_000].entries()) {
    const random = createRandom(seed);
    const documents = randomDocuments(random, 2000, keysPerTable);
    const path = await writeDocuments(random, `documents-${seed}`, documents);
    const expected = clusterInPhases(documents);
    const small = { memoryBytesPerWorker: 64 * 1024, partitions: 1 };
    for (const options of [{}, { grouping: 'sort' as const }, small]) {
      const { report, outputFolder } = await clusterFile(path, options);
      const found = await readRepresentatives(outputFolder);
      assert.equal(samePartition(found, expected), undefined, `seed ${seed}`);
      assert.equal(report.documents, documents.length);
      assert.equal(report.clusters, new Set(expected.values()).size);
    }
  }
});

test('the streaming programs, joined by sort, find the same clusters', async () => {
  const random = createRandom(7);
  const documents = randomDocuments(random, 3000, 2000);
  const half = documents.length / 2;
  const inputs = [
    await writeDocuments(random, 'half-0', documents.slice(0, half)),
    await writeDocuments(random, 'half-1', documents.slice(half)),
  ];
  const output = join(folder, 'clusters-by-sort');
  await clusterBySortPipeline({ inputs, output, memoryBytes: 2 ** 20, temporaryFolder: folder });
  const outputFolder = join(folder, 'clusters-of-both');
  await clusterInBatch(pool, { inputs: inputs.map((path) => ({ path })), outputFolder });
  const bySort = await digestClusters(readClusterFile(output));
  assert.equal(bySort, await digestClusters(readClusters(outputFolder)));
  const expected = clusterInPhases(documents);
  assert.equal(samePartition(await readRepresentatives(outputFolder), expected), undefined);
});

test('documents appended after the end of an input do not count', async () => {
  const random = createRandom(3);
  const documents = randomDocuments(random, 100, 50);
  const path = await writeDocuments(random, 'growing', documents);
  const end = (await readFile(path)).length;
  await appendFile(path, 'a document that is still being wri');
  const { report } = await clusterFile(path, { inputs: [{ path, end }] });
  assert.equal(report.documents, 100);
});

test('only the clusters are left on the disk', async () => {
  const random = createRandom(4);
  const path = await writeDocuments(random, 'few', randomDocuments(random, 50, 9));
  const filesBefore = await readdir(folder);
  const { outputFolder } = await clusterFile(path);
  assert.equal((await readdir(folder)).length, filesBefore.length + 1);
  assert.ok((await readdir(outputFolder)).every((name) => name.startsWith('part-')));
});

test('a line that is not a document ends the run with an error that quotes it', async () => {
  const path = join(folder, 'no-documents');
  await writeFile(path, 'just one field\n');
  await assert.rejects(clusterFile(path), (error) => {
    assert.ok(error instanceof MapReduceError);
    assert.equal(error.code, 'TASK_FAILED');
    assert.match(error.message, /clustering phase 1 .*lacks a field: just one field/);
    return true;
  });
});

test('a streaming program answers a wrong option with one sentence and exit code 2', async () => {
  for (const options of [[], ['--phase', '4'], ['--fase', '1']]) {
    const program = join(import.meta.dirname, 'mr-map.ts');
    const result = await execa(process.execPath, [program, ...options], { reject: false });
    assert.equal(result.exitCode, 2);
    assert.match(result.stderr, /^mr-map: [^\n]+$/);
  }
});
