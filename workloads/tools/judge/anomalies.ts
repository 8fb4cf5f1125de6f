/**
 * The names of the anomalies in the field and in the literature: Berenson et al. 1995 (P1 to P4,
 * A5), Adya 1999 (G0 to G2, G-SI), Cerone and Gotsman 2018, and Jepsen's Elle.
 */
/** `also`: the names in the literature and in Elle. `means`: the event, in one clause. */
export const ANOMALIES = {
  'write cycle': {
    also: 'dirty write; P0, Adya G0',
    means: 'transactions overwrote each other in opposite orders',
  },
  'aborted read': {
    also: 'dirty read; P1, Adya G1a',
    means: 'a transaction read a write of a failed one',
  },
  'intermediate read': {
    also: 'Adya G1b',
    means: 'a transaction read a value that its writer replaced before it committed',
  },
  'circular information flow': {
    also: 'Adya G1c',
    means: 'transactions read from and overwrote each other in a circle',
  },
  'read of a value that was never written': {
    also: 'garbage read',
    means: 'no transaction wrote the value that was read',
  },
  'lost update': {
    also: 'P4; Adya G-SIa, interference',
    means: 'two transactions updated one key from the same version, and both committed',
  },
  'overlapping writers': {
    also: 'first committer wins; Adya G-SIa, interference',
    means: 'two transactions that overlapped wrote one key, and both committed',
  },
  'future read': {
    also: 'Adya G-SIa, interference',
    means: 'a transaction read a commit made after its snapshot was taken',
  },
  'stale read': {
    also: 'Adya G-SIb, missed effects',
    means: 'a transaction missed a commit made before its snapshot was taken',
  },
  'fractured read': {
    also: 'A5A; Adya G-single, G-SIb',
    means: 'a transaction saw one part of another and missed the rest',
  },
  'read skew': {
    also: 'A5A; Adya G-single, G-SIb',
    means: 'the values that a transaction read never existed at the same moment',
  },
  'non-repeatable read': {
    also: 'fuzzy read; P2',
    means: 'a transaction read a key twice and found two versions',
  },
  phantom: {
    also: 'P3; Adya G-SIb',
    means: 'a scan missed a row of its snapshot, or returned one that was not in it',
  },
  'long fork': {
    also: 'Elle G-nonadjacent',
    means: 'transactions saw the same commits in different orders',
  },
  'write skew': {
    also: 'A5B; Adya G2-item',
    means: 'in a circle of transactions, two in a row each missed a write of the next one',
  },
  'own write not read': {
    also: 'Elle internal; axiom INT',
    means: 'a transaction contradicts its own reads and writes',
  },
  'row returned twice': {
    also: 'a scan that paged wrongly',
    means: 'a scan returned one key more than once',
  },
  'commit before its start': {
    also: 'no order of timestamps',
    means: 'a commit timestamp is not above the start timestamp',
  },
  'stale snapshot': {
    also: 'strong snapshot isolation; Elle -realtime',
    means: 'a transaction missed another that had ended before it began',
  },
  'incompatible orders': {
    also: 'Elle incompatible-order',
    means: 'two reads of one list fit no order of its appends',
  },
  'element read twice': {
    also: 'Elle duplicate-elements',
    means: 'one append is in a list twice',
  },
  'element appended twice': {
    also: 'Elle duplicate-appends',
    means: 'two appends have the same element, so the history cannot tell them apart',
  },
} as const;

export type AnomalyName = keyof typeof ANOMALIES;

/** The story of one violation. */
export interface Story {
  readonly anomaly: AnomalyName;
  /** The keys involved: `key "x"`. */
  readonly about: string;
  /** In order of time. */
  readonly transactions: readonly StoryTransaction[];
  /** The events, and why no allowed execution has them. */
  readonly why: readonly string[];
}

/** A transaction of a story. */
export interface StoryTransaction {
  readonly name: string;
  /** Line numbers in the file. */
  readonly lines: readonly number[];
  /** Process, times and outcome. */
  readonly heading: string;
  /** Its relevant operations. */
  readonly did: string;
}
