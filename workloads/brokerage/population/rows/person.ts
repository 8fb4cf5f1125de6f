/**
 * Persons: customers, and the persons that they let trade for them. Each person has a number, and
 * from it a name and a tax id.
 */
import { fractionAt, LANE } from '../lanes.ts';
import { FIRST_NAMES, LAST_NAMES } from '../words.ts';

interface Person {
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly taxId: string;
}

/** Customers have their index as number; the numbers after these are for others. */
export function person(number: number, seed: number): Person {
  const [first, last, middle] = [0, 1, 2].map((n) =>
    fractionAt(seed + n, LANE.customerName, number),
  ) as [number, number, number];
  return {
    firstName: pick(FIRST_NAMES, first),
    middleName: String.fromCharCode(65 + Math.floor(middle * 26)),
    lastName: pick(LAST_NAMES, last),
    // A permutation of the numbers of nine digits: tax ids are unique, and neighbours far apart.
    taxId: String((number * 7_654_321 + 123_456_789) % 1_000_000_000).padStart(9, '0'),
  };
}

export function pick(words: readonly string[], fraction: number): string {
  return words[Math.floor(fraction * words.length)] ?? '';
}
