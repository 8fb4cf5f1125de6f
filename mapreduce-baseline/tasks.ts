/**
 * Tasks: the coordinator's messages to a worker, what the worker does, and its reports. Messages
 * and reports travel between processes as structured clones.
 *
 * A task may be attempted several times, perhaps by two processes at once if a worker is thought
 * dead too early. Each attempt therefore writes to files of its own, and only the report of one of
 * them is believed.
 */
import { type FileHandle, open, rename } from 'node:fs/promises';
import { closeSync, openSync } from 'node:fs';
import { assert } from '#engine/base';
import { hashBytes, type Slice, writeFully } from './bytes.ts';
import { ExternalMerge, type ExternalMergeReport } from './external-merge.ts';
import {
  forEachGroupByHash,
  forEachGroupBySort,
  HASH_BYTES_PER_RECORD,
  SORT_BYTES_PER_RECORD,
  SORT_RECORDS_MAX,
} from './grouping.ts';
import { forEachRecord, readRecordBlocks, type TaskInput } from './input.ts';
import type { MapReduceJob, Output, ValueCursor } from './job.ts';
import { LineOutput } from './output.ts';
import { GROUPED_BYTES_MAX, RecordBuffer, recordBytes } from './record-buffer.ts';

/**
 * How reducers bring equal keys together; a partition larger than the memory is sorted either way.
 */
export type Grouping = 'hash' | 'sort';

/** The job's code and its parameters. */
export interface JobModule {
  /** Module that exports `createJob`, as a `file:` URL. */
  readonly url: string;
  /** Passed to `createJob`; must be cloneable. */
  readonly parameters?: unknown;
}

export interface MapTask {
  readonly kind: 'map';
  readonly name: string;
  readonly job: JobModule;
  readonly input: TaskInput;
  readonly partitions: number;
  readonly spillPath: string;
  readonly memoryBytes: number;
}

export interface MapReport {
  readonly kind: 'map';
  readonly spillPath: string;
  readonly segments: readonly Segment[];
  readonly recordsRead: number;
  readonly recordsEmitted: number;
  readonly cpuMs: number;
}

/** Segments of one spill file. */
export interface SegmentList {
  readonly path: string;
  readonly segments: readonly Segment[];
}

export interface ReduceTask {
  readonly kind: 'reduce';
  readonly name: string;
  readonly job: JobModule;
  readonly grouping: Grouping;
  readonly spills: readonly SegmentList[];
  /** Written by this attempt alone ... */
  readonly attemptPath: string;
  /** ... and renamed to this when it is complete. */
  readonly partPath: string;
  readonly memoryBytes: number;
  /** Whether the part is synced to the disk before it is renamed. */
  readonly durable: boolean;
}

export interface ReduceReport extends ExternalMergeReport {
  readonly kind: 'reduce';
  readonly partPath: string;
  readonly groups: number;
  readonly recordsWritten: number;
  readonly bytesWritten: number;
  readonly cpuMs: number;
}

export type Task = MapTask | ReduceTask;
export type TaskReport = MapReport | ReduceReport;

/* A map task: reads its splits, maps each record, leaves a spill file. */

/** Larger buffers leave the processor's cache; smaller ones need more writes. */
const PARTITION_BUFFER_BYTES_MAX = 256 * 1024;
const PARTITION_BUFFER_BYTES_MIN = 1024;
const READ_BLOCK_BYTES_MAX = 1024 * 1024;
const READ_BLOCK_BYTES_MIN = 64 * 1024;

export async function runMapTask(
  task: MapTask,
  job: MapReduceJob,
): Promise<Omit<MapReport, 'cpuMs'>> {
  const { spillPath, partitions, memoryBytes } = task;
  const bufferBytes = bufferBytesFor(memoryBytes, partitions);
  const combine = job.combine?.bind(job);
  using spill = new SpillFile({ path: spillPath, partitions, bufferBytes, combine });
  let recordsRead = 0;
  for (const split of task.input) {
    for await (const block of readRecordBlocks(split, readBlockBytesFor(memoryBytes))) {
      forEachRecord(block, (record) => {
        recordsRead++;
        job.map(record, spill);
      });
    }
  }
  spill.finish();
  const { segments, recordsEmitted } = spill;
  return { kind: 'map', spillPath, segments, recordsRead, recordsEmitted };
}

/**
 * Half of the memory to the partitions' buffers; an eighth to each of the two blocks being read.
 */
function bufferBytesFor(memoryBytes: number, partitions: number): number {
  const share = Math.floor(memoryBytes / 2 / partitions);
  return Math.min(PARTITION_BUFFER_BYTES_MAX, Math.max(PARTITION_BUFFER_BYTES_MIN, share));
}

function readBlockBytesFor(memoryBytes: number): number {
  const share = Math.floor(memoryBytes / 8);
  return Math.min(READ_BLOCK_BYTES_MAX, Math.max(READ_BLOCK_BYTES_MIN, share));
}

/*
 * A reduce task: brings together the segments of one partition from all spill files, groups their
 * records, reduces each group, leaves one part of the output.
 *
 * The sizes of the segments are known, so whether the partition fits the memory is known before
 * anything is read. If it does, it is loaded whole and grouped by the job's choice of hash or sort;
 * if not, it goes through an external merge.
 *
 * The part is written under a name of this attempt, synced if the job is durable, and then renamed.
 * An attempt that dies at any moment leaves either nothing under the part's name or all of it.
 */

interface PartitionSize {
  readonly bytes: number;
  readonly records: number;
}

type Visit = (key: Slice, values: ValueCursor) => void;

const NOTHING_SPILLED: ExternalMergeReport = { runs: 0, merges: 0, spilledBytes: 0 };

export async function runReduceTask(
  task: ReduceTask,
  job: MapReduceJob,
): Promise<Omit<ReduceReport, 'cpuMs'>> {
  const file = await open(task.attemptPath, 'wx');
  try {
    const output = new LineOutput(file.fd);
    let groups = 0;
    const spilled = await forEachGroup(task, (key, values) => {
      groups++;
      job.reduce(key, values, output);
    });
    output.flush();
    if (task.durable) await file.datasync();
    await rename(task.attemptPath, task.partPath);
    const { records: recordsWritten, bytes: bytesWritten } = output;
    const { partPath } = task;
    return { kind: 'reduce', partPath, groups, recordsWritten, bytesWritten, ...spilled };
  } finally {
    await file.close();
  }
}

async function forEachGroup(task: ReduceTask, visit: Visit): Promise<ExternalMergeReport> {
  const { bytes, records } = sizeOf(task.spills);
  if (fitsMemory(task, { bytes, records })) {
    const loaded = new RecordBuffer(bytes);
    await loadAll(task.spills, loaded);
    if (task.grouping === 'hash') forEachGroupByHash(loaded, visit);
    else forEachGroupBySort(loaded, visit);
    return NOTHING_SPILLED;
  }
  using merge = new ExternalMerge(task.attemptPath, task.memoryBytes);
  await forEachSegment(task.spills, (segment) => merge.add(segment));
  merge.forEachGroup(visit);
  return merge.report;
}

const bytesPerRecord: Record<Grouping, number> = {
  hash: HASH_BYTES_PER_RECORD,
  sort: SORT_BYTES_PER_RECORD,
};

/** Whether a partition can be loaded whole; otherwise it goes through an external merge. */
export function fitsMemory(
  { grouping, memoryBytes }: Pick<ReduceTask, 'grouping' | 'memoryBytes'>,
  { bytes, records }: PartitionSize,
): boolean {
  if (bytes > GROUPED_BYTES_MAX) return false;
  if (grouping === 'sort' && records > SORT_RECORDS_MAX) return false;
  return bytes + records * bytesPerRecord[grouping] <= memoryBytes;
}

function sizeOf(spills: readonly SegmentList[]): PartitionSize {
  let bytes = 0;
  let records = 0;
  for (const segment of spills.flatMap((spill) => spill.segments)) {
    bytes += segment.bytes;
    records += segment.records;
  }
  return { bytes, records };
}

/** Loads the segments one after the other; the reads of one file are in flight together. */
async function loadAll(spills: readonly SegmentList[], into: RecordBuffer): Promise<void> {
  for (const { path, segments } of spills) {
    await withFile(path, async (file) => {
      const reads = segments.map((segment) => {
        const at = into.reserve(segment.bytes, segment.records);
        return readSegment(file, segment, into.bytes.subarray(at, at + segment.bytes));
      });
      await Promise.all(reads);
    });
  }
}

async function forEachSegment(
  spills: readonly SegmentList[],
  visit: (records: RecordBuffer) => void,
): Promise<void> {
  for (const { path, segments } of spills) {
    await withFile(path, async (file) => {
      for (const segment of segments) {
        const records = new RecordBuffer(segment.bytes);
        records.reserve(segment.bytes, segment.records);
        await readSegment(file, segment, records.bytes);
        visit(records);
      }
    });
  }
}

async function withFile(path: string, use: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path);
  try {
    await use(file);
  } finally {
    await file.close();
  }
}

async function readSegment(file: FileHandle, segment: Segment, into: Buffer): Promise<void> {
  for (let done = 0; done < segment.bytes;) {
    const { bytesRead } = await file.read(into, done, segment.bytes - done, segment.start + done);
    if (bytesRead === 0) throw new Error(`spill file ends before segment at ${segment.start}`);
    done += bytesRead;
  }
}

/*
 * The output of one map task: partitioned records in one file.
 *
 *     emit ─▶ hash ─▶ buffer of the partition ─ full ─▶ (combine) ─ still full ─▶ segment in the file
 *
 * 1. The hash of a key decides its partition.
 * 2. Each partition has one buffer. Full buffers are appended to the file, whole, as a segment; the
 *    list of segments goes to the coordinator. So memory is bounded however much is emitted, and
 *    the writes are large.
 * 3. If the job has a combiner, a full buffer is combined first. If that removes little, the task
 *    stops trying: a combiner pays off for skewed keys, and costs a grouping for uniform ones.
 *
 * The file is not synced: what is lost in a crash of the machine is computed again.
 */

/** Combining goes on in a task as long as it shrinks a buffer to this part of its size or less. */
const COMBINED_PART_MAX = 0.8;
/** A buffer that combining has left at most this full goes on being filled. */
const KEPT_PART_MAX = 0.5;

/** A run of whole records of one partition in a spill file. */
export interface Segment {
  readonly partition: number;
  readonly start: number;
  readonly bytes: number;
  readonly records: number;
}

export interface SpillFileOptions {
  readonly path: string;
  readonly partitions: number;
  /** Size of the buffer of each partition. Too small: many small segments; too large: memory. */
  readonly bufferBytes: number;
  readonly combine?: MapReduceJob['combine'];
}

export class SpillFile implements Output, Disposable {
  readonly segments: Segment[] = [];
  /** Records emitted, before any combining. */
  recordsEmitted = 0;
  readonly #options: SpillFileOptions;
  readonly #file: number;
  readonly #buffers: RecordBuffer[];
  #combine: MapReduceJob['combine'];
  #spare: RecordBuffer | undefined;
  #length = 0;

  constructor(options: SpillFileOptions) {
    const { partitions, bufferBytes } = options;
    this.#options = options;
    this.#combine = options.combine;
    this.#file = openSync(options.path, 'wx');
    this.#buffers = Array.from({ length: partitions }, () => new RecordBuffer(bufferBytes));
  }

  emit(key: Slice, value: Slice): void {
    const hash = hashBytes(key);
    const partition = partitionOf(hash, this.#options.partitions);
    let buffer = this.#buffers[partition] as RecordBuffer;
    if (!buffer.fits(key, value)) {
      this.#makeRoom(partition, recordBytes(key, value));
      buffer = this.#buffers[partition] as RecordBuffer;
    }
    buffer.append(hash, key, value);
    this.recordsEmitted++;
  }

  /** Writes out what is still in the buffers. */
  finish(): void {
    for (let partition = 0; partition < this.#buffers.length; partition++) {
      this.#combineBuffer(partition);
      this.#writeOut(partition);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
  }

  #makeRoom(partition: number, neededBytes: number): void {
    const { bufferBytes } = this.#options;
    this.#combineBuffer(partition);
    const buffer = this.#buffers[partition] as RecordBuffer;
    const kept = buffer.byteLength <= bufferBytes * KEPT_PART_MAX;
    if (!kept || buffer.byteLength + neededBytes > bufferBytes) this.#writeOut(partition);
    if (neededBytes > bufferBytes) this.#buffers[partition]?.grow(neededBytes);
  }

  #combineBuffer(partition: number): void {
    const combine = this.#combine;
    const buffer = this.#buffers[partition] as RecordBuffer;
    if (combine === undefined || buffer.recordCount < 2) return;
    const combined = this.#spare ?? new RecordBuffer(buffer.words.byteLength);
    combined.clear();
    const output = this.#combinerOutput(partition, combined);
    forEachGroupByHash(buffer, (key, values) => combine(key, values, output));
    if (combined.byteLength > buffer.byteLength * COMBINED_PART_MAX) this.#combine = undefined;
    this.#buffers[partition] = combined;
    this.#spare = buffer;
  }

  #combinerOutput(partition: number, combined: RecordBuffer): Output {
    return {
      emit: (key, value) => {
        const hash = hashBytes(key);
        const sameKey = partitionOf(hash, this.#options.partitions) === partition;
        assert(sameKey, 'a combiner emits under the key it was given');
        const needed = recordBytes(key, value);
        if (!combined.fits(key, value)) combined.grow(combined.byteLength * 2 + needed);
        combined.append(hash, key, value);
      },
    };
  }

  #writeOut(partition: number): void {
    const buffer = this.#buffers[partition] as RecordBuffer;
    if (buffer.recordCount === 0) return;
    const bytes = buffer.byteLength;
    writeFully(this.#file, buffer.bytes, bytes);
    this.segments.push({ partition, start: this.#length, bytes, records: buffer.recordCount });
    this.#length += bytes;
    buffer.clear();
  }
}

/** From the high bits, because the hash table of the reducer takes the low ones. */
function partitionOf(hash: number, partitions: number): number {
  return ((hash >>> 16) * partitions) >>> 16;
}
