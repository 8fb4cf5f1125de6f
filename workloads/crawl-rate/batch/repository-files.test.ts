/** The files of a repository have all of its records, and are written in small pieces. */
import assert from 'node:assert/strict';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '#engine/testing';
import { createSyntheticDocuments, type Document } from '../documents/index.ts';
import { writeDocuments, writeRepository } from './cluster-job.ts';

test('a piece has at most 2,048 documents, and fewer if they are large', async () => {
  const small = createSyntheticDocuments({ repository: 5_000, documentBytes: 200, seed: 1 });
  const counts: number[] = [];
  const range = (first: number, end: number): Generator<Document> => {
    counts.push(end - first);
    return small.range(first, end);
  };
  const documents = { ...small, range };
  const file = (name: string): string => path.join(temporaryFolder(), name);
  const all = { first: 0, end: 5_000 };
  await writeDocuments(file('small'), documents, all);
  assert.deepEqual(counts.splice(0), [2_048, 2_048, 904]);
  await writeDocuments(file('large'), { ...documents, documentBytes: 2 ** 20 }, all);
  assert.equal(Math.max(...counts), 2, 'documents of a mebibyte each');
});

/** `FileHandle.writeFile` does not call the method that is replaced here. */
test('documents are written whole, even if `FileHandle.write` writes only a part', async (t) => {
  const folder = temporaryFolder();
  await using any = await open(path.join(folder, 'any'), 'w');
  const handle = Object.getPrototypeOf(any) as typeof any;
  const write = Reflect.get(handle, 'write') as (...words: unknown[]) => unknown;
  t.mock.method(handle, 'write', function partly(this: typeof any, bytes: Uint8Array) {
    return write.call(this, bytes.subarray(0, bytes.length / 2));
  });
  const documents = createSyntheticDocuments({ repository: 100, documentBytes: 200, seed: 1 });
  const [file = ''] = await writeRepository(documents, { folder, files: 1 });
  assert.equal((await readFile(file)).length, 100 * 200);
});
