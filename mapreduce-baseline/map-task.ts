/** A map task: reads its splits, maps each record, leaves a spill file. */
import type { MapReduceJob } from './job.ts';
import { forEachRecord, readRecordBlocks } from './record-reader.ts';
import { SpillFile } from './spill-file.ts';
import type { MapReport, MapTask } from './tasks.ts';

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
