/**
 * For each mutant, the first seed that catches it, found by
 * `./run.sh mutants --profile standard --update`. Tests run only these seeds. A change of the
 * engine or the simulator may stop a seed from catching its mutant; find another one then.
 */
import { readFileSync } from 'node:fs';

export const QUICKEST: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL('quickest.json', import.meta.url), 'utf8'),
) as Record<string, number>;
