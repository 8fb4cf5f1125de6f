/**
 * The reference clustering: two definitions of the right clusters, so simple that neither can hide
 * a mistake.
 *
 * Clustering by three keys finds groups of duplicates, not connected components (those would put 97
 * % of the paper's documents into one). A cluster is named by its representative, its first
 * document.
 *
 *   One at a time, as the observers do. Look up the document's keys in three indexes, in order, and
 *   stop at the first hit: the document joins that cluster. Without a hit it founds one. Every key
 *   that missed now leads to the cluster.
 *
 *   In three phases, as the MapReduces do. Group all documents by key 1; the first of each group
 *   survives and the others follow it. Group the survivors by key 2, and the survivors of that by
 *   key 3.
 *
 * On documents in the same order both give the same partition, representatives included: the first
 * document with a key is also the survivor of its group. So each definition can check both systems.
 * Pass Percolator's documents in the order of their commits, the baseline's by id.
 */
import type { KeyedDocument } from './document.ts';

/** The representative of each document's cluster, by id. A founder represents itself. */
export type Partition = ReadonlyMap<string, string>;

/** The partition by looking up one document after the other, in the order given. */
export function clusterOneByOne(documents: Iterable<KeyedDocument>): Partition {
  const indexes = [new Map<string, string>(), new Map<string, string>(), new Map<string, string>()];
  const partition = new Map<string, string>();
  for (const { id, keys } of documents) {
    let representative: string | undefined;
    let looked = 0;
    while (representative === undefined && looked < keys.length) {
      representative = indexes[looked]?.get(keys[looked] as string);
      looked++;
    }
    representative ??= id;
    // The key that hit already leads there; setting it again changes nothing.
    for (let k = 0; k < looked; k++) indexes[k]?.set(keys[k] as string, representative);
    partition.set(id, representative);
  }
  return partition;
}

/** The partition by grouping all documents three times, in the order given. */
export function clusterInPhases(documents: Iterable<KeyedDocument>): Partition {
  const all = [...documents];
  const follows = new Map<string, string>();
  let survivors = all;
  for (const phase of [0, 1, 2]) {
    const groups = Map.groupBy(survivors, ({ keys }) => keys[phase] as string);
    survivors = [];
    for (const [first, ...others] of groups.values()) {
      if (first === undefined) continue;
      survivors.push(first);
      for (const other of others) follows.set(other.id, first.id);
    }
  }
  const lead = (id: string): string => {
    const next = follows.get(id);
    return next === undefined ? id : lead(next);
  };
  return new Map(all.map(({ id }) => [id, lead(id)]));
}

/* Partitions: their sizes in a few numbers, their difference in one sentence. */

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
