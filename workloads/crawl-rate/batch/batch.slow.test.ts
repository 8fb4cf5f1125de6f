/**
 * The clustering by MapReduce and by the other batch engines, compared with a definition too simple
 * to be wrong.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { appendFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  type ChainOptions,
  type JobChain,
  type JobReport,
  MapReduceError,
  openWorkerPool,
  runChain,
} from '#mapreduce';
import { createRandom, type Random } from '#engine/base';
import { temporaryFolder } from '#engine/testing';
import {
  clusterInPhases,
  type KeyedDocument,
  type Keys,
  samePartition,
} from '../documents/index.ts';
import { digestClusters } from './contest.ts';
import { type Cluster, CLUSTERING, readClusters, readRepresentatives } from './index.ts';
import { duckdbEngine } from './duckdb.ts';
import { findBatchEngine } from '../../harness/batch-engines.ts';

/** The name has characters with a special meaning in a URI or in the pattern of a path. */
const folder = join(temporaryFolder(), 'with a spacé, 100% [new]');
mkdirSync(folder);
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
  options: Partial<ChainOptions> = {},
): Promise<{ reports: readonly JobReport[]; outputFolder: string }> {
  const outputFolder = join(folder, `clusters-${outputs++}`);
  const run = { chain: CLUSTERING, inputs: [{ path }], outputFolder };
  return { reports: await runChain(pool, { ...run, ...options }), outputFolder };
}

test('three MapReduces find the clusters of the definition, with few keys and with many', async () => {
  for (const [seed, keysPerTable] of [1, 2, 10, 300, 1500, 100_000].entries()) {
    const random = createRandom(seed);
    const documents = randomDocuments(random, 2000, keysPerTable);
    const path = await writeDocuments(random, `documents-${seed}`, documents);
    const expected = clusterInPhases(documents);
    const small = { memoryBytesPerWorker: 64 * 1024, partitions: 1 };
    for (const options of [{}, { grouping: 'sort' as const }, small]) {
      const { reports, outputFolder } = await clusterFile(path, options);
      const found = await readRepresentatives(outputFolder);
      assert.equal(samePartition(found, expected), undefined, `seed ${seed}`);
      assert.equal(reports[0]?.recordsRead, documents.length);
      assert.equal(reports.at(-1)?.recordsWritten, new Set(expected.values()).size);
    }
  }
});

const ENGINES = ['local', 'sort', 'hadoop', 'spark', 'duckdb'] as const;
const SETTINGS = { workers: 2, memoryBytes: 64 * 2 ** 20 };

for (const name of ENGINES) {
  test(`${name} finds the clusters of the definition, byte for byte after sorting`, async (t) => {
    const engine =
      name === 'duckdb' ? duckdbEngine(SETTINGS) : await findBatchEngine(name, SETTINGS);
    if (typeof engine === 'string') return t.skip(engine);
    await using _ = engine;
    const random = createRandom(7);
    const documents = randomDocuments(random, 3000, 2000);
    const half = documents.length / 2;
    // Hadoop and Spark hide a name that begins with `_`, and no pattern of theirs may have a colon.
    const first = await writeDocuments(random, `_half-0:${name}`, documents.slice(0, half));
    const second = await writeDocuments(random, `half-1-of-${name}`, documents.slice(half));
    const { size: end } = await stat(second);
    // DuckDB reads each input whole, whatever its end.
    if (name !== 'duckdb') await appendFile(second, 'a document that is still being wri');
    const inputs = [{ path: first }, { path: second, end }];
    const outputFolder = join(folder, `clusters-by-${name}`);
    const run = { chain: CLUSTERING, inputs, outputFolder };
    await engine.run(run);
    const expected = clusterInPhases(documents);
    assert.equal(await digestClusters(readClusters(outputFolder)), await digestOf(expected));
    assert.ok((await readdir(outputFolder)).every((part) => part.startsWith('part-')));
    await assert.rejects(engine.run(run), { code: 'OUTPUT_EXISTS' });
  });
}

for (const name of ['local', 'sort'] as const) {
  test(`${name} begins nothing once its signal is aborted`, async (t) => {
    const engine = await findBatchEngine(name, SETTINGS);
    if (typeof engine === 'string') return t.skip(engine);
    await using _ = engine;
    const path = await writeDocuments(createRandom(8), `never-by-${name}`, []);
    const outputFolder = join(folder, `nothing-by-${name}`);
    const signal = AbortSignal.abort(new Error('stopped'));
    const trace = `${outputFolder}-is-loaded`;
    const run = { chain: await tracedClustering(trace), inputs: [{ path }], outputFolder };
    await assert.rejects(engine.run({ ...run, signal }), /stopped/);
    const nothing = basename(outputFolder);
    assert.ok((await readdir(folder)).every((entry) => !entry.startsWith(nothing)));
    await engine.run(run);
    assert.ok(existsSync(trace), 'without the signal it begins');
  });
}

/** The clustering, from a module that leaves a file as its trace when it is loaded. */
async function tracedClustering(trace: string): Promise<JobChain> {
  const path = join(folder, `traced-${basename(trace)}.mjs`);
  const lines = [
    `import { writeFileSync } from 'node:fs';`,
    `export * from ${JSON.stringify(CLUSTERING.url)};`,
    `writeFileSync(${JSON.stringify(trace)}, '');`,
  ];
  await writeFile(path, lines.join('\n'));
  return { ...CLUSTERING, url: pathToFileURL(path).href };
}

for (const name of ['sort', 'hadoop', 'spark'] as const) {
  test(`${name} fails on a line that is not a document, and leaves nothing`, async (t) => {
    const engine = await findBatchEngine(name, SETTINGS);
    if (typeof engine === 'string') return t.skip(engine);
    const path = join(folder, `no-documents-of-${name}`);
    await writeFile(path, 'a\tb\tc\td\te\tf\njust one field\n');
    const before = await readdir(folder);
    const outputFolder = join(folder, `no-clusters-by-${name}`);
    await assert.rejects(engine.run({ chain: CLUSTERING, inputs: [{ path }], outputFolder }), {
      code: 'RECORD_INVALID',
      message: /this line lacks a field: just one field/,
    });
    assert.deepEqual(await readdir(folder), before);
  });
}

/** The digest of a partition that was not made by an engine. */
async function digestOf(partition: ReadonlyMap<string, string>): Promise<string> {
  const groups = Map.groupBy(partition.keys(), (id) => partition.get(id) ?? id);
  async function* clusters(): AsyncGenerator<Cluster> {
    for (const [representative, ids] of groups) {
      const others = ids.filter((id) => id !== representative);
      yield { representative, members: [representative, ...others] };
    }
  }
  return digestClusters(clusters());
}

test('a cluster of any size is read, and the last one even if its line does not end', async () => {
  const outputFolder = join(folder, 'written');
  mkdirSync(outputFolder);
  const members = Array.from({ length: 30_000 }, (_, i) => `document ${i}`);
  await writeFile(join(outputFolder, 'part-0'), `x\n${members.join('\t')}\ny\tz`);
  assert.deepEqual(await Array.fromAsync(readClusters(outputFolder)), [
    { representative: 'x', members: ['x'] },
    { representative: members[0], members },
    { representative: 'y', members: ['y', 'z'] },
  ]);
});

test('documents appended after the end of an input do not count', async () => {
  const random = createRandom(3);
  const documents = randomDocuments(random, 100, 50);
  const path = await writeDocuments(random, 'growing', documents);
  const end = (await readFile(path)).length;
  await appendFile(path, 'a document that is still being wri');
  const { reports } = await clusterFile(path, { inputs: [{ path, end }] });
  assert.equal(reports[0]?.recordsRead, 100);
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
    assert.equal(error.code, 'RECORD_INVALID');
    assert.match(error.message, /cluster-job 1 of 3: .*lacks a field: just one field/);
    return true;
  });
});
