/** Reads the clusters of a batch run: one line each, the representative and the members. */
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface Cluster {
  /** The smallest id of the cluster. */
  readonly representative: string;
  /** All ids of the cluster, the representative first; the order of the others means nothing. */
  readonly members: readonly string[];
}

/** Yields the clusters in an output folder, in no particular order. */
export async function* readClusters(outputFolder: string): AsyncGenerator<Cluster> {
  for (const name of await readdir(outputFolder)) yield* readClusterFile(join(outputFolder, name));
}

/** The partition as a map from every id to its representative. */
export async function readRepresentatives(outputFolder: string): Promise<Map<string, string>> {
  const representatives = new Map<string, string>();
  for await (const { representative, members } of readClusters(outputFolder)) {
    for (const member of members) representatives.set(member, representative);
  }
  return representatives;
}

/** Does not use `node:readline`, which also ends lines at other characters that an id may hold. */
async function* readClusterFile(path: string): AsyncGenerator<Cluster> {
  let line = '';
  for await (const text of createReadStream(path, 'utf8') as AsyncIterable<string>) {
    const [rest = '', ...nextLines] = text.split('\n');
    line += rest;
    for (const next of nextLines) {
      yield clusterOf(line);
      line = next;
    }
  }
  if (line !== '') yield clusterOf(line); // It does not end with a newline.
}

function clusterOf(line: string): Cluster {
  const members = line.split('\t');
  return { representative: members[0] ?? '', members };
}
