/**
 * Describes and compares partitions: their sizes in a few numbers, their difference in one
 * sentence.
 */
import type { Partition } from './clustering.ts';

export interface PartitionDescription {
  readonly documents: number;
  readonly clusters: number;
  /** Documents per cluster. The paper: 3.3. */
  readonly meanClusterSize: number;
  /** Share of the documents, from 0 to 1, that have a duplicate. The paper: 0.93. */
  readonly nonSingletonShare: number;
  readonly largestCluster: number;
  /** 99 % of the clusters are no larger. */
  readonly clusterSizePercentile99: number;
}

export function describePartition(partition: Partition): PartitionDescription {
  const sizes = [...sizesOf(partition).values()].toSorted((a, b) => a - b);
  const singletons = sizes.filter((size) => size === 1).length;
  const documents = partition.size;
  const clusters = sizes.length;
  return {
    documents,
    clusters,
    meanClusterSize: clusters === 0 ? 0 : documents / clusters,
    nonSingletonShare: documents === 0 ? 0 : (documents - singletons) / documents,
    largestCluster: sizes.at(-1) ?? 0,
    clusterSizePercentile99: sizes[Math.ceil(0.99 * clusters) - 1] ?? 0,
  };
}

/**
 * The partition that theory expects of many documents whose three keys are drawn uniformly, with
 * `load` documents per key (the paper: 4/3). A phase that finds x documents per key leaves 1 - e^-x
 * documents per key.
 */
export function expectedPartition(
  load: number,
): Pick<PartitionDescription, 'meanClusterSize' | 'nonSingletonShare'> {
  const survive = (perKey: number): number => 1 - Math.exp(-perKey);
  const first = survive(load);
  const second = survive(first);
  const third = survive(second);
  const alone = Math.exp(-(load + first + second)); // In all three phases.
  return { meanClusterSize: load / third, nonSingletonShare: 1 - alone };
}

/**
 * Undefined if both agree on every document, otherwise one sentence with the first difference.
 * Representatives count: a cluster is named by its first document, and a wrong name is a
 * difference.
 */
export function samePartition(actual: Partition, expected: Partition): string | undefined {
  for (const [id, representative] of expected) {
    const found = actual.get(id);
    if (found === undefined) {
      return `document ${id} is in no cluster; it belongs to ${representative}`;
    }
    if (found !== representative) {
      return `document ${id} is in the cluster of ${found}; it belongs to that of ${representative}`;
    }
  }
  for (const [id, representative] of actual) {
    if (!expected.has(id)) {
      return `document ${id}, in the cluster of ${representative}, should not exist`;
    }
  }
  return undefined;
}

function sizesOf(partition: Partition): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const representative of partition.values()) {
    sizes.set(representative, (sizes.get(representative) ?? 0) + 1);
  }
  return sizes;
}
