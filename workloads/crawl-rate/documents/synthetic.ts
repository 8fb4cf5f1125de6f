/**
 * Synthetic documents: any number of them, made on demand, that cluster as the paper's did.
 *
 * The paper's repository has 1,000 million documents, "clustered by three clustering keys" that are
 * drawn from 750 million: clusters hold 3.3 documents on average and 93 % of the documents have a
 * duplicate. These two numbers depend only on how many documents share a key, so they stay the same
 * at every size if the key space keeps its proportion:
 *
 *   1. the key space has 0.75 times as many keys as the repository has documents *before* a run;
 *   2. each of the three keys has a key space of its own;
 *   3. a key is drawn uniformly from its key space.
 *
 * Document i depends only on the options and on i: a loader and a checker in different processes
 * make the same document, in any order, without making those before it.
 *
 * Documents with the same first key have the same contents, because the first key represents a
 * checksum of the contents. Addresses are only plausible: they are not derived from the third key.
 */
import { documentId, type Document, type Keys } from './document.ts';
import { fractionAt, integerAt } from '../../harness/chance.ts';

export interface SyntheticOptions {
  /**
   * Documents in the repository before the run, which set the size of the key spaces. More may be
   * made.
   */
  readonly repository: number;
  /** Bytes of the whole record of a document (see document.ts). Below about 120: no contents. */
  readonly documentBytes: number;
  /** Any whole number; the same seed gives the same documents. */
  readonly seed: number;
}

export interface SyntheticDocuments extends SyntheticOptions {
  /** The number of different keys in each of the three key spaces. */
  readonly keySpace: number;
  /** The key of document i in key space `lane` (from 0), as a number below `keySpace`. */
  keyNumberOf(i: number, lane: number): number;
  /** The keys of document i, without making the document. */
  keysOf(i: number): Keys;
  /** Document i, for any i from 0 to 2^32 - 1. */
  documentOf(i: number): Document;
  /** Documents first to end - 1, in order. */
  range(first: number, end: number): Generator<Document>;
}

/** Keys per document of the repository. Larger: fewer duplicates. The paper's 750 M for 1,000 M. */
const KEYS_PER_DOCUMENT = 0.75;

export function createSyntheticDocuments(options: SyntheticOptions): SyntheticDocuments {
  const { repository, documentBytes, seed } = validate(options);
  const keySpace = Math.max(1, Math.round(KEYS_PER_DOCUMENT * repository));
  const contentBytes = Math.max(0, documentBytes - HEAD_BYTES);
  const text = createText(seed, TEXT_BYTES + contentBytes);

  const keyNumberOf = (i: number, lane: number): number => integerAt(seed, lane, i, keySpace);
  const drawKey = (i: number, lane: number): string => spellKey(keyNumberOf(i, lane) / keySpace);
  const keysOf = (i: number): Keys => [drawKey(i, 0), drawKey(i, 1), drawKey(i, 2)];
  const documentOf = (i: number): Document => {
    const keys = keysOf(i);
    const start = integerAt(seed, 3, Number.parseInt(keys[0].slice(0, 8), 16), TEXT_BYTES);
    const contents = text.subarray(start, start + contentBytes);
    return { id: documentId(i), url: urlOf(seed, i), keys, contents };
  };
  function* range(first: number, end: number): Generator<Document> {
    for (let i = first; i < end; i++) yield documentOf(i);
  }
  return { repository, documentBytes, seed, keySpace, keyNumberOf, keysOf, documentOf, range };
}

function validate(options: SyntheticOptions): SyntheticOptions {
  const { repository, documentBytes } = options;
  if (!Number.isSafeInteger(repository) || repository < 1 || repository > 2 ** 32) {
    throw new RangeError(`repository must be a whole number from 1 to 2^32, not ${repository}`);
  }
  if (!Number.isSafeInteger(documentBytes) || documentBytes < 0 || documentBytes > MAX_BYTES) {
    throw new RangeError(
      `documentBytes must be a whole number from 0 to ${MAX_BYTES}, not ${documentBytes}`,
    );
  }
  return options;
}

const MAX_BYTES = 2 ** 26;
const KEY_DIGITS = 12;
const HALF_KEYS = 16 ** (KEY_DIGITS / 2);

/**
 * A key as 12 hexadecimal digits, spread evenly over their whole range as a checksum would be, so
 * that tablets split at even prefixes have even shares. The order of the keys is kept.
 */
function spellKey(fraction: number): string {
  const scaled = fraction * HALF_KEYS;
  const high = Math.floor(scaled);
  const low = Math.floor((scaled - high) * HALF_KEYS);
  return spellHalf(high) + spellHalf(low); // Halves, because small integers are spelt much faster.
}

function spellHalf(half: number): string {
  return half.toString(16).padStart(KEY_DIGITS / 2, '0');
}

const SECTIONS = ['archive', 'article', 'gallery', 'library', 'product', 'project', 'storage'];
const HOSTS = 10_000;

/** All URLs have the same length, so that all records do; `.example` is a reserved domain. */
function urlOf(seed: number, i: number): string {
  const host = integerAt(seed, 4, i, HOSTS).toString().padStart(4, '0');
  const section = SECTIONS[integerAt(seed, 5, i, SECTIONS.length)];
  return `https://www.site-${host}.example/${section}/${documentId(i)}.html`;
}

/** Bytes of a record besides its contents. */
const HEAD_BYTES = `${documentId(0)}\t${urlOf(0, 0)}\t`.length + 3 * (KEY_DIGITS + 1) + 1;

/** Contents are slices of one block of this size: two given slices seldom overlap. */
const TEXT_BYTES = 2 ** 20;

/**
 * Words of random letters. Their entropy keeps compression from getting far below 60 % of the size,
 * so a store that compresses has no advantage from repetitive text.
 */
function createText(seed: number, length: number): Buffer {
  const text = Buffer.alloc(length);
  for (let i = 0; i < length; i++) {
    const draw = fractionAt(seed, 6, i) * 31;
    text[i] = draw < 26 ? 0x61 + Math.floor(draw) : 0x20; // A letter, or one time in six a space.
  }
  return text;
}
