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
import {
  CELLS,
  committedCell,
  type CommitTimes,
  DATA,
  decodeWriteRecord,
  placeOf,
  WRITE,
} from '../../../engine/transaction/index.ts';
import { documentId, type SyntheticDocuments } from '../../crawl-rate/documents/index.ts';
import {
  CLUSTER,
  DOCUMENTS,
  REPRESENTATIVE,
  type TableSplits,
} from '../../crawl-rate/percolator/tables.ts';
import type { TableData } from '../../verification/world/table.ts';
import type { Background, VirtualCluster } from '../cluster.ts';

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

/*
 * Where the documents lie: arrivals are spread over the whole range of rows, and so over all
 * tablets, so that every tablet server takes part at every moment.
 *
 *     arrival 0, 1, 2, ...  ──times an odd number, modulo 2^32──▶  number of the document, its row
 *
 * Few documents look for their second key, and fewer for their third. Tablets are cut so that each
 * has its share of the load, as Bigtable splits them after a while.
 */

/** Odd, so that no two arrivals get one number; 2^32 over the golden ratio, so that they spread. */
const STRIDE = 2_654_435_769;
/** Its inverse modulo 2^32. */
const INVERSE = inverseOf(STRIDE);
const NUMBERS = 2 ** 32;
/**
 * Each key space's share of all reads and writes of keys, as simulated with even tablets. Keys
 * begin with the number of their key space.
 */
const LOAD_OF_SPACES: readonly number[] = [0.67, 0.215, 0.115];

export function numberOf(arrival: number): number {
  return Math.imul(arrival, STRIDE) >>> 0;
}

export function arrivalOf(number: number): number {
  return Math.imul(number, INVERSE) >>> 0;
}

/** Where `tablets` tablets of each table begin, except the first, which begins before all rows. */
export function splitsFor(tablets: number): TableSplits {
  const documents = fractions(tablets).map((part) => documentId(Math.floor(part * NUMBERS)));
  return { documents, keys: fractions(tablets).map(keyAt) };
}

/** The key before which this part of the load lies; the part is from 0 to 1. */
function keyAt(part: number): string {
  let rest = part;
  let space = 0;
  for (; rest >= loadOf(space) && space < LOAD_OF_SPACES.length - 1; space++) {
    rest -= loadOf(space);
  }
  return `${space + 1}/${spell(rest / loadOf(space))}`;
}

function loadOf(space: number): number {
  return LOAD_OF_SPACES[space] ?? 1;
}

function fractions(parts: number): readonly number[] {
  return Array.from({ length: parts - 1 }, (_, i) => (i + 1) / parts);
}

function spell(part: number): string {
  return Math.floor(part * KEY_VALUES)
    .toString(16)
    .padStart(12, '0');
}

/** By Newton's iteration: each round doubles the number of right bits. */
function inverseOf(odd: number): number {
  let inverse = odd;
  for (let i = 0; i < 5; i++) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse));
  return inverse >>> 0;
}

/*
 * The check of a crawl: was each document clustered once at most, and is it in the cluster that the
 * reference finds in commit order? It reads what the tablet servers hold, so it costs no virtual
 * time. Documents may still load, but each observer run that has committed must be among the
 * commits: other runs may have read what it wrote.
 */

interface Committed {
  readonly arrival: number;
  readonly commitTimestamp: number;
}

const TOLD_MAX = 3;

/** Says whether a document was clustered twice, and names the first ones in a wrong cluster. */
export function checkClusters(
  cluster: VirtualCluster,
  repository: Repository,
  commits: readonly Committed[],
): readonly string[] {
  const table = cluster.storage.table(DOCUMENTS);
  const inOrder = commits.toSorted((a, b) => a.commitTimestamp - b.commitTimestamp);
  const arrivals = inOrder.map(({ arrival }) => arrival);
  // A second run on a document finds the cluster of the first run, so only the count shows it.
  const isOnce = new Set(arrivals).size === arrivals.length;
  const wrong = isOnce ? [] : ['a document was clustered twice'];
  for (const [arrival, founder] of repository.follow(arrivals)) {
    const row = documentId(numberOf(arrival));
    const expected = documentId(numberOf(founder));
    const found = committedText(table, row, CLUSTER);
    if (found === expected) continue;
    wrong.push(`document ${row} is in the cluster of ${found}, not of ${expected}`);
    if (wrong.length === TOLD_MAX) break;
  }
  return wrong;
}

/** The newest committed value of a cell. */
function committedText(table: TableData, row: string, column: string): string | undefined {
  const newest = { ...placeOf(WRITE, column), versions: 1 };
  const write = table.readRow(row, [newest])?.cells[0];
  if (write === undefined) return undefined;
  const { dataTimestamp: from } = decodeWriteRecord(write);
  const data = table.readRow(row, [{ ...placeOf(DATA, column), family: CELLS, from, to: from }]);
  const value = data?.cells[0]?.value;
  return value && Buffer.from(value).toString();
}
