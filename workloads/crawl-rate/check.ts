/**
 * The check of a point: is the partition that of the reference clustering, document by document?
 *
 * A check holds some 400 bytes for each document, in the heap of a thread, which may be larger than
 * that of this process: Node gives the latter 4 GiB or less, and if a check needed more, the run
 * would end and lose all its points.
 */
import type { StoreAddress } from '#engine';
import { runThread } from '../harness/processes/thread.ts';
import {
  clusterOneByOne,
  samePartition,
  type KeyedDocument,
  type Partition,
  type SyntheticOptions,
} from './documents/index.ts';

/** A check keeps maps with an entry for each document, and a map has at most 2^24. */
export const CHECKED_DOCUMENTS_MAX: number = 2 ** 24;

export interface Check {
  readonly passed: boolean;
  readonly detail: string;
}

/** What a thread needs to check a point of Percolator. */
export interface FinishedStore {
  readonly store: StoreAddress;
  readonly documents: SyntheticOptions;
  /** The numbers of the new documents, in commit order. */
  readonly order: readonly number[];
}

/** What a thread needs to check a point of the batch. */
export interface FinishedRuns {
  readonly outputFolder: string;
  readonly documents: SyntheticOptions;
  /** Arrivals that the last run included. */
  readonly arrived: number;
}

/** Checks in a thread what a point has left in its store, or in the output of its last run. */
export function checkInThread(
  finished: FinishedRuns | FinishedStore,
  signal: AbortSignal,
): Promise<Check> {
  return runThread(new URL('check-thread.ts', import.meta.url), { data: finished, signal });
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
