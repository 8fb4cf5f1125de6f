/**
 * The documents in files, so that programs in other languages have the same, and the check of what
 * they did with them:
 *
 *     documents   the records of all documents, new ones included (crawl-rate/documents/document.ts)
 *     clusters    the representative of each document of the repository
 *     keys        <n>/<key> TAB <representative>, for each key that the repository has looked up
 *
 * A system stores the whole record after the id, and reads the keys from what it has stored.
 */
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { checkPartition, type Check } from '../crawl-rate/check.ts';
import { keyed } from '../crawl-rate/clustering-loop.ts';
import {
  clusterOneByOne,
  encodeRecord,
  documentId,
  type SyntheticDocuments,
} from '../crawl-rate/documents/index.ts';
import { addEntries } from '../crawl-rate/percolator/load-repository.ts';

export interface DocumentFiles {
  readonly documents: string;
  readonly clusters: string;
  readonly keys: string;
}

/** @param total documents, those of the repository included */
export async function writeDocuments(
  folder: string,
  documents: SyntheticDocuments,
  total: number,
): Promise<DocumentFiles> {
  const [file, clusters, keys] = ['documents', 'clusters', 'keys'].map((name) =>
    path.join(folder, `${name}.tsv`),
  ) as [string, string, string];
  await pipeline(function* () {
    for (const document of documents.range(0, total)) yield encodeRecord(document);
  }, createWriteStream(file));
  const repository = keyed(documents, 0, documents.repository);
  const partition = clusterOneByOne(repository);
  const entries = new Map<string, string>();
  for (const document of repository) {
    addEntries(entries, document, partition.get(document.id) ?? document.id);
  }
  const line = (words: readonly string[]): string => `${words.join('\t')}\n`;
  await writeFile(clusters, repository.map(({ id }) => line([partition.get(id) ?? id])).join(''));
  await writeFile(keys, [...entries].map(line).join(''));
  return { documents: file, clusters, keys };
}

/**
 * Checks what a system has written at its end: a line for each document, its id and representative,
 * first the repository and then the new ones in the order of their commits.
 * @param crawled new documents
 */
export async function checkWritten(
  file: string,
  documents: SyntheticDocuments,
  crawled: number,
): Promise<Check> {
  const text = await readFile(file, 'utf8');
  const lines = text.split('\n').slice(0, -1);
  const partition = new Map(lines.map((line) => line.split('\t') as [string, string]));
  const end = documents.repository + crawled;
  if (lines.length !== end || partition.size !== end || !partition.has(documentId(end - 1))) {
    const detail = `of ${end} documents, ${partition.size} are in ${lines.length} commits`;
    return { passed: false, detail };
  }
  const inOrder = lines.flatMap((line) => {
    const n = Number.parseInt(line, 10);
    return keyed(documents, n, n + 1);
  });
  return checkPartition(partition, inOrder, 'commit order');
}
