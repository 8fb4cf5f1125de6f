/**
 * The judgement on a point: is the partition the one that the dumb function finds, document by
 * document?
 */
import {
  clusterDumbly,
  samePartition,
  type KeyedDocument,
  type Partition,
} from './documents/index.ts';

export interface Check {
  readonly passed: boolean;
  readonly detail: string;
}

/**
 * @param documents all documents, in the order `inWords` in which the system under test took them
 */
export function checkPartition(
  partition: Partition,
  documents: Iterable<KeyedDocument>,
  inWords: string,
): Check {
  const difference = samePartition(partition, clusterDumbly(documents));
  if (difference !== undefined) return { passed: false, detail: difference };
  return {
    passed: true,
    detail: `all ${partition.size} documents are in the clusters that the dumb function finds in ${inWords}`,
  };
}
