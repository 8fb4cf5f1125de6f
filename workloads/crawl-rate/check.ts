/**
 * The check of a point: is the partition that of the reference clustering, document by document?
 */
import {
  clusterOneByOne,
  samePartition,
  type KeyedDocument,
  type Partition,
} from './documents/index.ts';

/** A check keeps maps with an entry for each document, and a map has at most 2^24. */
export const CHECKED_DOCUMENTS_MAX: number = 2 ** 24;

export interface Check {
  readonly passed: boolean;
  readonly detail: string;
}

/**
 * @param documents all documents, in the order in which the system under test took them
 * @param inWords the name of that order
 */
export function checkPartition(
  partition: Partition,
  documents: Iterable<KeyedDocument>,
  inWords: string,
): Check {
  const difference = samePartition(partition, clusterOneByOne(documents));
  if (difference !== undefined) return { passed: false, detail: difference };
  return {
    passed: true,
    detail: `all ${partition.size} documents are in the clusters that the reference clustering finds in ${inWords}`,
  };
}
