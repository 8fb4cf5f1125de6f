/**
 * Where the documents lie: arrivals are spread over the whole range of rows, and so over all
 * tablets, so that every tablet server takes part at every moment.
 *
 *     arrival 0, 1, 2, ...  ──times an odd number, modulo 2^32──▶  number of the document, its row
 *
 * Few documents look for their second key, and fewer for their third. Tablets are cut so that each
 * has its share of the load, as Bigtable splits them after a while.
 */
import type { TableSplits } from '../../crawl-rate/percolator/tables.ts';
import { documentId } from '../../crawl-rate/documents/index.ts';

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
const KEY_VALUES = 16 ** 12;

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
