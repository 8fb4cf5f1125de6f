/** One digest for all clusters of a run, independent of the order of clusters and members. */
import { createHash } from 'node:crypto';
import type { Cluster } from './index.ts';

/** A digest in hexadecimal; equal exactly if the clusters are the same. */
export async function digestClusters(clusters: AsyncIterable<Cluster>): Promise<string> {
  const lines: string[] = [];
  for await (const { representative, members } of clusters) {
    lines.push([representative, ...members.slice(1).toSorted()].join('\t'));
  }
  const hash = createHash('sha256');
  for (const line of lines.toSorted()) hash.update(line).update('\n');
  return hash.digest('hex');
}
