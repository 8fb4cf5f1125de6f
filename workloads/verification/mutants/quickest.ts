/**
 * A seed that catches each mutant, found by `npm run mutants -- --update`: the first that does. Tests run only
 * these. When the engine or the simulator changes, a seed may stop catching its mutant; find another.
 */
import { readFileSync } from 'node:fs';

export const QUICKEST: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL('quickest.json', import.meta.url), 'utf8'),
) as Record<string, number>;
