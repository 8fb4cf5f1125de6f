/**
 * For each mutant, the first seed that catches it, found by
 * `./run.sh mutants --profile standard --update`. Tests run only these seeds. A change of the
 * engine or the simulator may stop a seed from catching its mutant; find another one then.
 */
import { readFileSync } from 'node:fs';
import type { Mutant } from './mutant.ts';

export const QUICKEST: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL('quickest.json', import.meta.url), 'utf8'),
) as Record<string, number>;

/**
 * The seeds that are tried where no hunt is asked for: the known one. On sockets the machine has
 * its part in each run, so that no seed alone decides.
 */
export function knownSeedsOf({ name, sockets }: Mutant): readonly number[] {
  const known = QUICKEST[name] ?? 1;
  return sockets === undefined ? [known] : [known, 1, 2, 3, 4];
}
