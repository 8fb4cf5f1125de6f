/** Limitations of the numbers of figure 7, for the reader of a report. */
import type { BatchEngineName } from '../harness/batch-engines.ts';

const BATCH_LIMITATIONS: Readonly<Record<BatchEngineName, string>> = {
  local:
    'The batch keeps its worker processes between runs and does not pay for crawling; both make it faster than the MapReduce of the paper.',
  sort: 'The batch is GNU sort between streaming programs, which are started for each run.',
  hadoop: 'The batch is Hadoop Streaming, which starts processes for each of its three jobs.',
  spark: 'The batch is Spark with streaming programs, one application for each run.',
};

export function limitationsOf({
  batch,
  store,
}: {
  readonly batch: BatchEngineName;
  readonly store: string;
}): readonly string[] {
  return [...LIMITATIONS, ...(store === 'embedded' ? EMBEDDED : []), BATCH_LIMITATIONS[batch]];
}

const EMBEDDED: readonly string[] = [
  'The storage is a log in the process of the engine, not a Bigtable on other machines: no measured latency includes a network.',
];

const LIMITATIONS: readonly string[] = [
  'Generator, engine, storage and batch share the cores, the memory and the disk of one machine, as far as this run starts them. The paper used 240 machines.',
  'The repository fits in memory, so the batch reads its input from the page cache; if it read the input from the disk, it would be slower.',
  'The position of the wall depends on how much cheaper the batch handles a document than the engine does (q); on one machine q is much larger than the 7.5 of the paper, so compare shapes, not positions.',
];
