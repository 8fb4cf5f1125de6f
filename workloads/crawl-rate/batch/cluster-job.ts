/**
 * One phase of the clustering as a MapReduce job: group by one key, keep the smallest id of a
 * group.
 *
 * Clustering takes three jobs, one per key. A document enters phase 1 with its id and three keys;
 * the document with the smallest id of each group continues as the representative, and the ids of
 * the others travel with it as members. So phases 2 and 3 see only representatives, contents are
 * read once, in phase 1, and the output of phase 3 is the clusters themselves: no join at the end.
 *
 *     repository     id  key1  key2  key3  url  contents       one line per document, tabs between
 *     after phase 1  key2  representative  key3  members ...
 *     after phase 2  key3  representative  members ...
 *     after phase 3  representative  members ...               one line per cluster
 *
 * Between map and reduce the key of the phase is the key, and the rest of the line the value: the
 * id, the keys still to come, the members. Merging two values keeps the smaller id with its keys
 * and turns the other into a member, so the combiner merges values as the reducer does.
 */
import { createReadStream } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ByteBuilder,
  compareBytes,
  type JobChain,
  MapReduceError,
  type MapReduceJob,
  type Output,
  Slice,
  type ValueCursor,
} from '#mapreduce';
import { encodeRecord, type SyntheticDocuments } from '../documents/index.ts';

const TAB = 0x09;

export interface ClusterJobParameters {
  /** The number of the key that the job groups by. */
  readonly phase: 1 | 2 | 3;
}

/** The three jobs follow one another. */
export const chain: readonly ClusterJobParameters[] = ([1, 2, 3] as const).map((phase) => ({
  phase,
}));

/** The clustering, for every engine that runs chains. */
export const CLUSTERING: JobChain = { url: import.meta.url, parameters: chain };

/** Called by the workers of the MapReduce and by the streaming programs, which load this file. */
export function createJob(parameters: unknown): MapReduceJob {
  const { phase } = parameters as ClusterJobParameters;
  const merge = new GroupMerge(3 - phase);
  return {
    map: phase === 1 ? documentMapper() : mapRepresentative(),
    combine: (key, values, output) => {
      merge.read(values);
      output.emit(key, merge.representativeWithKeysAndMembers());
    },
    reduce: (_key, values, output) => {
      merge.read(values);
      merge.emitForNextPhase(output);
    },
  };
}

/** Phase 1: passes on only the id and the keys of a document. */
function documentMapper(): MapReduceJob['map'] {
  const key = new Slice();
  const value = new Slice();
  const line = new ByteBuilder();
  return (record, output) => {
    const { bytes, start } = record;
    const idEnd = tabAfter(record, start);
    const key1End = tabAfter(record, idEnd + 1);
    const key2End = tabAfter(record, key1End + 1);
    const key3End = tabAfter(record, key2End + 1);
    line.clear();
    line.append(bytes, start, idEnd);
    line.append(bytes, key1End, key3End);
    key.point(bytes, idEnd + 1, key1End);
    output.emit(key, value.point(line.bytes, 0, line.length));
  };
}

/** Phases 2 and 3: the reducer of the phase before has put the key of this phase first. */
function mapRepresentative(): MapReduceJob['map'] {
  const key = new Slice();
  const value = new Slice();
  return (record, output) => {
    const keyEnd = tabAfter(record, record.start);
    key.point(record.bytes, record.start, keyEnd);
    output.emit(key, value.point(record.bytes, keyEnd + 1, record.end));
  };
}

/** The position of the next tab. */
function tabAfter({ bytes, start, end }: Slice, from: number): number {
  for (let i = from; i < end; i++) if (bytes[i] === TAB) return i;
  const beginning = bytes.toString('utf8', start, Math.min(end, start + 60));
  throw new MapReduceError('RECORD_INVALID', `this line lacks a field: ${beginning}`);
}

/** Merges the values of one group: the smallest id with its keys, and all other ids as members. */
class GroupMerge {
  /** The number of keys after the id in a value. */
  readonly #keysLeft: number;
  /** The representative so far and its keys: `id`, or `id key3`, or `id key2 key3`. */
  readonly #head = new ByteBuilder();
  #idLength = 0;
  /** A tab before each id. */
  readonly #members = new ByteBuilder();
  readonly #id = new Slice();
  readonly #smallestId = new Slice();
  readonly #emittedKey = new Slice();
  readonly #emittedValue = new Slice();
  readonly #line = new ByteBuilder();

  constructor(keysLeft: number) {
    this.#keysLeft = keysLeft;
  }

  read(values: ValueCursor): void {
    this.#members.clear();
    for (let first = true; values.next(); first = false) this.#add(values.value, first);
  }

  /** The merged value, as a value of the same phase. */
  representativeWithKeysAndMembers(): Slice {
    this.#line.clear();
    this.#line.append(this.#head.bytes, 0, this.#head.length);
    return this.#lineWithMembers();
  }

  /** Emits a line for the next phase: its key first, or the cluster if there is no key left. */
  emitForNextPhase(output: Output): void {
    const { bytes, length } = this.#head;
    const idLength = this.#idLength;
    this.#line.clear();
    if (this.#keysLeft === 0) {
      this.#emittedKey.point(bytes, 0, idLength);
      this.#emittedValue.point(this.#members.bytes, 1, Math.max(1, this.#members.length));
      output.emit(this.#emittedKey, this.#emittedValue);
      return;
    }
    const keyEnd = this.#endOfField(bytes, idLength + 1, length);
    this.#emittedKey.point(bytes, idLength + 1, keyEnd);
    this.#line.append(bytes, 0, idLength);
    this.#line.append(bytes, keyEnd, length);
    output.emit(this.#emittedKey, this.#lineWithMembers());
  }

  #add(value: Slice, first: boolean): void {
    const { bytes, start, end } = value;
    const idEnd = this.#endOfField(bytes, start, end);
    let headEnd = idEnd;
    for (let i = 0; i < this.#keysLeft; i++) headEnd = this.#endOfField(bytes, headEnd + 1, end);
    this.#id.point(bytes, start, idEnd);
    this.#smallestId.point(this.#head.bytes, 0, this.#idLength);
    if (first) {
      this.#replaceHead(value, idEnd, headEnd);
    } else if (compareBytes(this.#id, this.#smallestId) < 0) {
      this.#addMember(this.#smallestId);
      this.#replaceHead(value, idEnd, headEnd);
    } else {
      this.#addMember(this.#id);
    }
    this.#members.append(bytes, headEnd, end);
  }

  #addMember(id: Slice): void {
    this.#members.appendByte(TAB);
    this.#members.appendSlice(id);
  }

  #replaceHead({ bytes, start }: Slice, idEnd: number, headEnd: number): void {
    this.#head.clear();
    this.#head.append(bytes, start, headEnd);
    this.#idLength = idEnd - start;
  }

  #lineWithMembers(): Slice {
    this.#line.append(this.#members.bytes, 0, this.#members.length);
    return this.#emittedValue.point(this.#line.bytes, 0, this.#line.length);
  }

  #endOfField(bytes: Buffer, from: number, end: number): number {
    let i = from;
    while (i < end && bytes[i] !== TAB) i++;
    return i;
  }
}

/* Writes documents to files of records, the input of the batch. */

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

/* Reads the clusters of a batch run: one line each, the representative and the members. */

export interface Cluster {
  /** The smallest id of the cluster. */
  readonly representative: string;
  /** All ids of the cluster, the representative first; the order of the others means nothing. */
  readonly members: readonly string[];
}

/** Yields the clusters in an output folder, in no particular order. */
export async function* readClusters(outputFolder: string): AsyncGenerator<Cluster> {
  for (const name of await readdir(outputFolder)) yield* readClusterFile(join(outputFolder, name));
}

/** The partition as a map from every id to its representative. */
export async function readRepresentatives(outputFolder: string): Promise<Map<string, string>> {
  const representatives = new Map<string, string>();
  for await (const { representative, members } of readClusters(outputFolder)) {
    for (const member of members) representatives.set(member, representative);
  }
  return representatives;
}

/** Does not use `node:readline`, which also ends lines at other characters that an id may hold. */
async function* readClusterFile(path: string): AsyncGenerator<Cluster> {
  let line = '';
  for await (const text of createReadStream(path, 'utf8') as AsyncIterable<string>) {
    const [rest = '', ...nextLines] = text.split('\n');
    line += rest;
    for (const next of nextLines) {
      yield clusterOf(line);
      line = next;
    }
  }
  if (line !== '') yield clusterOf(line); // It does not end with a newline.
}

function clusterOf(line: string): Cluster {
  const members = line.split('\t');
  return { representative: members[0] ?? '', members };
}
