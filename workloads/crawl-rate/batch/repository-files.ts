/** Writes documents to files of records, the input of the batch. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeRecord, type SyntheticDocuments } from '../documents/index.ts';

const PIECE_DOCUMENTS = 2048;

export interface RepositoryOptions {
  readonly folder: string;
  /** Number of files, over which the documents are spread evenly and in order. */
  readonly files: number;
  /** Stops the writing between two pieces, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called from time to time with the number of documents written. */
  readonly onProgress?: ((documents: number) => void) | undefined;
}

/** Writes and syncs the whole repository; resolves with the paths of the files. */
export async function writeRepository(
  documents: SyntheticDocuments,
  options: RepositoryOptions,
): Promise<string[]> {
  const { folder, files } = options;
  const paths: string[] = [];
  for (let number = 0; number < files; number++) {
    const path = join(folder, `documents-${String(number).padStart(3, '0')}`);
    const first = Math.floor((documents.repository * number) / files);
    const end = Math.floor((documents.repository * (number + 1)) / files);
    await writeDocuments(path, documents, { ...options, first, end });
    paths.push(path);
  }
  return paths;
}

async function writeDocuments(
  path: string,
  documents: SyntheticDocuments,
  options: RepositoryOptions & { readonly first: number; readonly end: number },
): Promise<void> {
  const { first, end, signal, onProgress } = options;
  await using file = await open(path, 'wx');
  for (let next = first; next < end; next += PIECE_DOCUMENTS) {
    signal?.throwIfAborted();
    const pieceEnd = Math.min(end, next + PIECE_DOCUMENTS);
    await file.write(Buffer.concat([...documents.range(next, pieceEnd)].map(encodeRecord)));
    onProgress?.(pieceEnd);
  }
  await file.sync(); // Else the first measurement would share the disk with the write-back.
}
