/**
 * Where the documents of this experiment lie, so that every region server takes part at every
 * moment: new documents are spread over the whole range of rows, in which the tables are split.
 *
 *     arrival 0, 1, 2, ...  ──times an odd number, modulo 2^20──▶  number of the document, its row
 */
import { documentId } from '../crawl-rate/documents/index.ts';
import type { TableSplits } from '../crawl-rate/percolator/tables.ts';

/** Documents of a run, at most. */
export const DOCUMENTS_MAX: number = 2 ** 20;
/** Odd, so that no two arrivals get one number; near the golden ratio, so that they spread. */
const STRIDE = 648_055;
/** The keys of documents begin with the number of their key space. */
const KEY_SPACES = 3;
const KEY_VALUES = 16 ** 12;

export function numberOf(arrival: number): number {
  return (arrival * STRIDE) % DOCUMENTS_MAX;
}

/** At least one region of each table for each server. */
export function splitsFor(servers: number): TableSplits {
  const documents = fractions(servers).map((part) => documentId(Math.floor(part * DOCUMENTS_MAX)));
  const parts = ['', ...fractions(Math.ceil(servers / KEY_SPACES)).map(spell)];
  const spaces = Array.from({ length: KEY_SPACES }, (_, i) => `${i + 1}/`);
  const keys = spaces.flatMap((space) => parts.map((part) => `${space}${part}`));
  return { documents, keys: keys.slice(1) };
}

function fractions(parts: number): readonly number[] {
  return Array.from({ length: parts - 1 }, (_, i) => (i + 1) / parts);
}

function spell(part: number): string {
  return Math.floor(part * KEY_VALUES)
    .toString(16)
    .padStart(12, '0');
}
