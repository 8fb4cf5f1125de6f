/**
 * Grouping more records than fit in memory: external merge sort.
 *
 * 1. Fill the memory with records, sort them, write them out: a sorted run. Repeat.
 * 2. While there are more runs than can be merged at once, merge the first few into a longer one.
 * 3. Merge the runs that are left; equal keys come out side by side, which is a group.
 *
 * Memory goes to one buffer of records in step 1 and to one block per run in steps 2 and 3. Runs
 * are merged in the order they were written, so that the values of a key keep their order.
 */
import { unlinkSync } from 'node:fs';
import type { Slice } from './bytes.ts';
import { SORT_RECORDS_MAX, sortedPlaces } from './group-by-sort.ts';
import type { Values } from './job.ts';
import { MergedGroups, RunMerge } from './run-merge.ts';
import { GROUPED_BYTES_MAX, RecordBuffer } from './record-buffer.ts';
import { RunWriter } from './sorted-run.ts';

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
  forEachGroup(visit: (key: Slice, values: Values) => void): void {
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
