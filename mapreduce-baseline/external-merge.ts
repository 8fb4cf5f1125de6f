/**
 * Grouping more records than fit in memory: external merge sort.
 *
 * 1. Fill the memory with records, sort them, write them out: a sorted run. Repeat.
 * 2. While there are more runs than can be merged at once, merge the first few into a longer one.
 * 3. Merge the runs that are left; equal keys come out side by side, which is a group.
 *
 * Memory goes to one buffer of records in step 1 and to one block per run in steps 2 and 3. Runs
 * are merged in the order they were written, so that the values of a key keep their order.
 *
 * A run is a file of records in byte order of their keys, written once and read once, in blocks. It
 * has the layout of record-buffer.ts and is not synced: it does not outlive the task.
 */
import { closeSync, openSync, readSync, unlinkSync } from 'node:fs';
import { ByteBuilder, compareBytes, Slice, writeFully } from './bytes.ts';
import { SORT_RECORDS_MAX, sortedPlaces } from './grouping.ts';
import type { ValueCursor } from './job.ts';
import { GROUPED_BYTES_MAX, RecordBuffer } from './record-buffer.ts';

/** Blocks smaller than this make the disk seek rather than read. */
const BLOCK_BYTES_MIN = 16 * 1024;
const BLOCK_BYTES_MAX = 1024 * 1024;
const FAN_IN_MIN = 2;

export interface ExternalMergeReport {
  /** Sorted runs written in step 1. */
  runs: number;
  /** Merges of step 2, and the one of step 3. */
  merges: number;
  /** Bytes written to runs, those of step 2 included. */
  spilledBytes: number;
}

export class ExternalMerge implements Disposable {
  readonly report: ExternalMergeReport = { runs: 0, merges: 0, spilledBytes: 0 };
  readonly #pathPrefix: string;
  readonly #memoryBytes: number;
  readonly #buffer: RecordBuffer;
  #paths: string[] = [];
  #files = 0;

  /** Runs are files whose paths begin with `pathPrefix`. */
  constructor(pathPrefix: string, memoryBytes: number) {
    this.#pathPrefix = pathPrefix;
    this.#memoryBytes = memoryBytes;
    // Half for the records, the rest for sorting them and for writing the run.
    this.#buffer = new RecordBuffer(Math.min(GROUPED_BYTES_MAX, memoryBytes / 2));
  }

  /** Takes a copy of the records. */
  add(records: RecordBuffer): void {
    let at = 0;
    for (let number = 0; number < records.recordCount; number++) {
      this.#addRecord(records, at);
      at = records.after(at);
    }
  }

  /** Calls `visit` once per key, in byte order of the keys. */
  forEachGroup(visit: (key: Slice, values: ValueCursor) => void): void {
    this.#writeSortedRun();
    const fanIn = Math.max(FAN_IN_MIN, Math.floor(this.#memoryBytes / 2 / BLOCK_BYTES_MIN));
    while (this.#paths.length > fanIn) this.#mergeIntoRun(this.#paths.splice(0, fanIn));
    this.report.merges++;
    using merge = new RunMerge(this.#paths, this.#blockBytes(this.#paths.length));
    const groups = new MergedGroups(merge);
    while (groups.nextKey()) visit(groups.key, groups);
  }

  [Symbol.dispose](): void {
    for (const path of this.#paths) unlinkSync(path);
    this.#paths = [];
  }

  #addRecord(records: RecordBuffer, at: number): void {
    const full = this.#buffer.recordCount === SORT_RECORDS_MAX;
    if (!full && this.#buffer.appendFrom(records, at)) return;
    this.#writeSortedRun();
    this.#buffer.grow(Math.max(this.#buffer.words.byteLength, records.byteLengthAt(at)));
    this.#buffer.appendFrom(records, at);
  }

  #writeSortedRun(): void {
    if (this.#buffer.recordCount === 0) return;
    this.report.runs++;
    using run = new RunWriter(this.#newPath(), this.#blockBytes(1));
    for (const place of sortedPlaces(this.#buffer)) run.append(this.#buffer, place);
    this.#finishRun(run);
    this.#buffer.clear();
  }

  /** The merged run takes the place of the first ones, which keeps the order of the values. */
  #mergeIntoRun(paths: string[]): void {
    this.report.merges++;
    const rest = this.#paths;
    this.#paths = [];
    using run = new RunWriter(this.#newPath(), this.#blockBytes(paths.length + 1));
    using merge = new RunMerge(paths, this.#blockBytes(paths.length + 1));
    for (let top = merge.top(); top !== undefined; top = merge.top()) {
      run.append(top.block, top.at);
      merge.advance();
    }
    this.#finishRun(run);
    this.#paths.push(...rest);
    for (const path of paths) unlinkSync(path);
  }

  #finishRun(run: RunWriter): void {
    run.finish();
    this.report.spilledBytes += run.bytesWritten;
    this.#paths.push(run.path);
  }

  #newPath(): string {
    return `${this.#pathPrefix}.run-${this.#files++}`;
  }

  #blockBytes(blocks: number): number {
    const share = this.#memoryBytes / 2 / blocks;
    return Math.min(BLOCK_BYTES_MAX, Math.max(BLOCK_BYTES_MIN, share));
  }
}

/** A heap of runs, the one with the smallest key on top; among equal keys the earlier run. */
class RunMerge implements Disposable {
  readonly #readers: RunReader[];
  readonly #heap: RunReader[] = [];

  constructor(paths: readonly string[], blockBytes: number) {
    this.#readers = paths.map((path, order) => new RunReader(path, order, blockBytes));
    this.#heap.push(...this.#readers.filter((reader) => reader.next(true)));
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i--) this.#sink(i);
  }

  top(): RunReader | undefined {
    return this.#heap[0];
  }

  /** Moves on by one record. */
  advance(): void {
    const top = this.#heap[0];
    if (top === undefined) return;
    if (!top.next(false)) {
      const last = this.#heap.pop();
      if (last === undefined || last === top) return;
      this.#heap[0] = last;
    }
    this.#sink(0);
  }

  [Symbol.dispose](): void {
    for (const reader of this.#readers) reader[Symbol.dispose]();
  }

  #sink(from: number): void {
    const heap = this.#heap;
    for (let parent = from; ;) {
      let smallest = parent;
      const left = parent * 2 + 1;
      if (left < heap.length && this.#before(left, smallest)) smallest = left;
      if (left + 1 < heap.length && this.#before(left + 1, smallest)) smallest = left + 1;
      if (smallest === parent) return;
      const moved = heap[parent] as RunReader;
      heap[parent] = heap[smallest] as RunReader;
      heap[smallest] = moved;
      parent = smallest;
    }
  }

  #before(i: number, j: number): boolean {
    const a = this.#heap[i] as RunReader;
    const b = this.#heap[j] as RunReader;
    const order = compareBytes(a.key, b.key);
    return order === 0 ? a.order < b.order : order < 0;
  }
}

/**
 * The merged records as groups. The key is copied: the block it lay in may be refilled meanwhile.
 */
class MergedGroups implements ValueCursor {
  readonly key: Slice = new Slice();
  readonly value: Slice = new Slice();
  readonly #merge: RunMerge;
  readonly #keyBytes = new ByteBuilder();
  /** Whether the record on top was handed out and must be passed before the next one is read. */
  #handedOut = false;
  #started = false;

  constructor(merge: RunMerge) {
    this.#merge = merge;
  }

  /** Moves to the next key, past unread values of the last one; false at the end. */
  nextKey(): boolean {
    while (this.next());
    const top = this.#merge.top();
    if (top === undefined) return false;
    this.#keyBytes.clear();
    this.#keyBytes.appendSlice(top.key);
    this.key.point(this.#keyBytes.bytes, 0, this.#keyBytes.length);
    this.#started = true;
    return true;
  }

  next(): boolean {
    if (!this.#started) return false;
    if (this.#handedOut) this.#merge.advance();
    this.#handedOut = false;
    const top = this.#merge.top();
    if (top === undefined || compareBytes(top.key, this.key) !== 0) return false;
    top.block.valueAt(top.at, this.value);
    this.#handedOut = true;
    return true;
  }
}

/** Writes records in the order given; the caller must sort them. */
class RunWriter implements Disposable {
  readonly path: string;
  bytesWritten = 0;
  readonly #file: number;
  readonly #block: RecordBuffer;

  constructor(path: string, blockBytes: number) {
    this.path = path;
    this.#file = openSync(path, 'wx');
    this.#block = new RecordBuffer(blockBytes);
  }

  append(records: RecordBuffer, at: number): void {
    if (this.#block.appendFrom(records, at)) return;
    this.finish();
    this.#block.grow(Math.max(this.#block.words.byteLength, records.byteLengthAt(at)));
    this.#block.appendFrom(records, at);
  }

  finish(): void {
    writeFully(this.#file, this.#block.bytes, this.#block.byteLength);
    this.bytesWritten += this.#block.byteLength;
    this.#block.clear();
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }
}

/** Reads a run record by record, a block at a time. */
class RunReader implements Disposable {
  readonly key: Slice = new Slice();
  readonly order: number;
  readonly block: RecordBuffer;
  /** Where in the block the current record lies. */
  at = 0;
  readonly #file: number;
  #position = 0;

  constructor(path: string, order: number, blockBytes: number) {
    this.order = order;
    this.#file = openSync(path, 'r');
    this.block = new RecordBuffer(blockBytes);
  }

  /** Moves to the next record, or to the first one if `first`; false at the end of the run. */
  next(first: boolean): boolean {
    if (!first) this.at = this.block.after(this.at);
    if (!this.block.isWhole(this.at) && !this.#refill()) return false;
    this.block.keyAt(this.at, this.key);
    return true;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  /** Moves what is left of the block to its front and fills it up; grows it for a longer record. */
  #refill(): boolean {
    const { block } = this;
    block.dropBefore(this.at);
    this.at = 0;
    for (;;) {
      const start = block.byteLength;
      const read = readSync(
        this.#file,
        block.bytes,
        start,
        block.bytes.length - start,
        this.#position,
      );
      this.#position += read;
      block.reserve(read, 0); // No caller asks a block for its record count.
      if (block.isWhole(0)) return true;
      if (read === 0 && start < block.bytes.length) return false;
      if (block.byteLength === block.bytes.length) block.grow(block.bytes.length * 2);
    }
  }
}
