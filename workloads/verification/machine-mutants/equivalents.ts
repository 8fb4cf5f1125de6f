/**
 * Mutants that act like the engine, or differ only where no promise applies, each with the reason
 * in a sentence.
 *
 * They are listed by file and key, never by line. An entry that is no longer generated is stale.
 * The findings report stale entries, and listed mutants that a judge has killed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { MachineMutant } from './generate.ts';

export interface Equivalent {
  readonly reason: string;
  readonly file: string;
  /** The keys from generate.ts. */
  readonly mutants: readonly string[];
}

const FOLDER = new URL('equivalents/', import.meta.url);

export function readEquivalents(): readonly Equivalent[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .flatMap((name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Equivalent[]);
}

export function reasonFor(
  { file, key }: Pick<MachineMutant, 'file' | 'key'>,
  equivalents: readonly Equivalent[],
): string | undefined {
  return equivalents.find((one) => one.file === file && one.mutants.includes(key))?.reason;
}

/** Listed, but no longer generated. */
export function staleOf(
  equivalents: readonly Equivalent[],
  mutants: readonly MachineMutant[],
): readonly string[] {
  const known = new Set(mutants.map(({ file, key }) => `${file}: ${key}`));
  return equivalents
    .flatMap(({ file, mutants: keys }) => keys.map((key) => `${file}: ${key}`))
    .filter((one) => !known.has(one));
}
