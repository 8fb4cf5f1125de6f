/**
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
import { open, rename, type FileHandle } from 'node:fs/promises';
import type { Slice } from './bytes.ts';
import { ExternalMerge, type ExternalMergeReport } from './external-merge.ts';
import { forEachGroupByHash, HASH_BYTES_PER_RECORD } from './group-by-hash.ts';
import { forEachGroupBySort, SORT_BYTES_PER_RECORD, SORT_RECORDS_MAX } from './group-by-sort.ts';
import type { MapReduceJob, Values } from './job.ts';
import { LineOutput } from './line-output.ts';
import { GROUPED_BYTES_MAX, RecordBuffer } from './record-buffer.ts';
import type { Segment } from './spill-file.ts';
import type { Grouping, ReduceReport, ReduceTask, SegmentList } from './tasks.ts';

interface PartitionSize {
  readonly bytes: number;
  readonly records: number;
}

type Visit = (key: Slice, values: Values) => void;

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
