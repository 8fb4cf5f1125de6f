/**
 * The repository that exists before the crawl, clustered, in a few bytes for each document: which
 * arrival represents the cluster of each key. The table of keys in virtual time makes a row from it
 * when the row is read (`background`); `loadRepository` would have left the same cells there.
 *
 * The clustering is the reference's: one document after the other, by the first key that is found
 * (documents/clustering.ts). `follow` goes on from there with the new documents.
 */
import { assert } from '#engine/base';
import type { Cell } from '../../../engine/bigtable/index.ts';
import { committedCell, type CommitTimes } from '../../../engine/transaction/index.ts';
import { documentId, type SyntheticDocuments } from '../../crawl-rate/documents/index.ts';
import { REPRESENTATIVE } from '../../crawl-rate/percolator/tables.ts';
import type { Background } from '../cluster.ts';
import { numberOf } from './rows.ts';

/** The clusters of a repository, in memory that threads share. */
export interface ClusteredKeys {
  /** By key space and key: 1 + the arrival that represents the cluster; 0: the key is not there. */
  readonly representatives: readonly Uint32Array[];
  /** Keys that lead to a cluster. */
  readonly entries: number;
}

const KEY_DIGITS = 12;
const KEY_VALUES = 16 ** KEY_DIGITS;
const SPACES = [0, 1, 2];

export class Repository {
  readonly documents: SyntheticDocuments;
  /** Keys that lead to a cluster. */
  entries = 0;
  readonly #representatives: readonly Uint32Array[];

  /** @param clustered of another repository of the same documents, if there is one */
  constructor(documents: SyntheticDocuments, clustered?: ClusteredKeys) {
    this.documents = documents;
    this.entries = clustered?.entries ?? 0;
    this.#representatives = clustered?.representatives ?? SPACES.map(() => shared(documents));
    if (clustered !== undefined) return;
    for (let arrival = 0; arrival < documents.repository; arrival++) {
      this.#cluster(arrival, (space, key) => this.#representatives[space]?.[key] ?? 0);
    }
  }

  get clustered(): ClusteredKeys {
    return { representatives: this.#representatives, entries: this.entries };
  }

  /** Rows of the table of keys, as if they had been committed at these times. */
  background(times: CommitTimes): Background {
    return (row) => {
      const space = row.charCodeAt(0) - '1'.charCodeAt(0);
      const founder = this.#representatives[space]?.[this.#keyOf(row.slice(2))] ?? 0;
      if (founder === 0) return undefined;
      const value = Buffer.from(documentId(numberOf(founder - 1)));
      return cellsOf(value, times);
    };
  }

  /**
   * The representatives of the new documents, if they are clustered in this order, after the
   * repository.
   */
  *follow(arrivals: Iterable<number>): Generator<readonly [arrival: number, founder: number]> {
    const added = SPACES.map(() => new Map<number, number>());
    const find = (space: number, key: number): number =>
      added[space]?.get(key) ?? this.#representatives[space]?.[key] ?? 0;
    const add = (space: number, key: number, founder: number): void => {
      added[space]?.set(key, founder);
    };
    for (const arrival of arrivals) yield [arrival, this.#cluster(arrival, find, add)];
  }

  /** Returns the arrival that represents the document's cluster. */
  #cluster(
    arrival: number,
    find: (space: number, key: number) => number,
    add: (space: number, key: number, founder: number) => void = this.#add,
  ): number {
    const number = numberOf(arrival);
    const missed: number[] = [];
    let founder = 0;
    for (let space = 0; space < SPACES.length; space++) {
      const key = this.documents.keyNumberOf(number, space); // Few need the second, fewer the third.
      founder = find(space, key);
      if (founder !== 0) break;
      missed.push(key);
    }
    if (founder === 0) founder = arrival + 1;
    for (const [space, key] of missed.entries()) add(space, key, founder);
    return founder - 1;
  }

  readonly #add = (space: number, key: number, founder: number): void => {
    const representatives = this.#representatives[space];
    assert(representatives !== undefined, 'there are three key spaces');
    representatives[key] = founder;
    this.entries++;
  };

  /** The number of a key, which is spelt as its share of the key space. */
  #keyOf(spelt: string): number {
    return Math.round((Number.parseInt(spelt, 16) / KEY_VALUES) * this.documents.keySpace);
  }
}

function shared({ keySpace }: SyntheticDocuments): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(keySpace * Uint32Array.BYTES_PER_ELEMENT));
}

function cellsOf(value: Uint8Array, times: CommitTimes): Cell[] {
  const cells = committedCell(REPRESENTATIVE, value, times).flatMap((mutation) =>
    mutation.kind === 'set' ? [mutation] : [],
  );
  return cells
    .map(({ family, qualifier, timestamp, value: bytes }) => ({
      family,
      qualifier,
      timestamp,
      value: bytes,
    }))
    .toSorted((a, b) => (a.qualifier < b.qualifier ? -1 : 1));
}
