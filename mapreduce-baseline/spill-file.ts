/**
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
import { closeSync, openSync } from 'node:fs';
import { assert } from '#engine/base';
import { hashBytes, type Slice } from './bytes.ts';
import { forEachGroupByHash } from './group-by-hash.ts';
import type { MapReduceJob, Output } from './job.ts';
import { recordBytes, RecordBuffer } from './record-buffer.ts';
import { writeFully } from './write-fully.ts';

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
