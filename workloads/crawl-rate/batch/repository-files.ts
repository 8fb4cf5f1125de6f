/** Writes documents to files of records, the input of the batch. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeRecord, type SyntheticDocuments } from '../documents/index.ts';

/** A piece, which is in memory as a whole, has at most this many documents. */
const PIECE_DOCUMENTS = 2048;
/** A piece has no more bytes than this, unless a single document has. */
const PIECE_BYTES = 2 ** 21;

export interface RepositoryOptions extends WritingOptions {
  readonly folder: string;
  /** Number of files, over which the documents are spread evenly and in order. */
  readonly files: number;
}

interface WritingOptions {
  /** Stops the writing between two pieces, with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each piece with the number, from 0, of the next document. */
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

/** Writes documents `first` to `end` - 1 to a new file, and syncs it. */
export async function writeDocuments(
  path: string,
  documents: SyntheticDocuments,
  options: WritingOptions & { readonly first: number; readonly end: number },
): Promise<void> {
  const { first, end, signal, onProgress } = options;
  await using file = await open(path, 'wx');
  const ofBytes = Math.floor(PIECE_BYTES / documents.documentBytes);
  const piece = Math.max(1, Math.min(PIECE_DOCUMENTS, ofBytes));
  for (let next = first; next < end; next += piece) {
    signal?.throwIfAborted();
    const pieceEnd = Math.min(end, next + piece);
    // Unlike `write`, `writeFile` writes everything. It continues at the end of the previous piece.
    await file.writeFile(Buffer.concat([...documents.range(next, pieceEnd)].map(encodeRecord)));
    onProgress?.(pieceEnd);
  }
  await file.sync(); // Unsynced, it would still be written back during the first measurement.
}
